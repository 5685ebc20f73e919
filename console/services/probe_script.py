"""The one read-only script that looks at a host, the server on a port and its GPUs.

POSIX sh and awk only, one round trip. It prints `name<TAB>value` lines and no environment: how that
is read, and which process may be believed, is environ's.
"""

from __future__ import annotations

from collections.abc import Sequence

_SCRIPT = r"""
say() { printf '%s\t%s\n' "$1" "$2"; }
say host.boot_id "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
say host.kernel "$(uname -r)"
say host.machine "$(uname -n)"
say host.cores "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
say host.load "$(cut -d' ' -f1 /proc/loadavg 2>/dev/null)"
say host.cpu_governor "$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor 2>/dev/null)"
hex=$(printf ':%04X' "$1")
inodes=$(awk -v p="$hex" '$4 == "0A" && substr($2, length($2) - 4) == p && $10 != "0" \
    { printf "%s ", $10 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
# Of several processes that hold the socket, the first is the server; the others inherited it.
pid=$(ls -l /proc/[0-9]*/fd 2>/dev/null | awk -v wanted="$inodes" '
  BEGIN { n = split(wanted, list, " "); for (i = 1; i <= n; i++) held["socket:[" list[i] "]"] = 1 }
  /^\/proc\// { split($0, path, "/"); one = path[3] }
  $NF in held { print one }' | sort -n | head -n 1)
if [ -n "$pid" ]; then
  family=$pid
  level=$pid
  while [ -n "$level" ]; do
    next=
    for parent in $level; do
      next="$next $(cat /proc/"$parent"/task/*/children 2>/dev/null | tr '\n' ' ')"
    done
    level=$(echo $next)
    family="$family $level"
  done
  say launch.pid "$pid"
  say launch.argv "$(tr '\0' ' ' </proc/$pid/cmdline 2>/dev/null)"
  say launch.start_ticks "$(sed 's/.*) //' /proc/$pid/stat 2>/dev/null | cut -d' ' -f20)"
  say launch.container_id "$(grep -oE '[0-9a-f]{64}' /proc/$pid/cgroup 2>/dev/null | head -n 1)"
  for one in $family; do
    lib=$(grep -m1 -o '/[^ ]*libnccl[^ ]*' "/proc/$one/maps" 2>/dev/null)
    [ -r "/proc/$one/maps" ] && say nccl.readable "$one"
    if [ -n "$lib" ]; then say nccl.lib "$lib"; break; fi
  done
  conf="/proc/$pid/root/etc/nccl.conf"
  if [ -r "$conf" ]; then
    say conf.etc "$(cksum <"$conf" | tr ' ' '-')"
  elif [ -d "/proc/$pid/root/etc" ]; then
    say conf.etc_absent 1
  fi
fi
if command -v nvidia-smi >/dev/null 2>&1; then
  ask() { nvidia-smi --query-gpu="$2" --format=csv,noheader 2>&1 | while IFS= read -r row; do
    say "gpu.$1" "$row"; done; }
  ask uuids uuid
  ask names name
  ask drivers driver_version
  ask power_limit_w power.limit
  ask mig_mode mig.mode.current
  ask ecc_mode ecc.mode.current
  ask persistence_mode persistence_mode
else
  say gpu.none 1
fi
say probe.end 1
"""


def probe_argv(port: int) -> Sequence[str]:
    """The command that looks at this port's server; it reads `probe_script` from its input."""
    return ("sh", "-s", str(port))


def probe_script() -> bytes:
    """The script."""
    return _SCRIPT.encode()
