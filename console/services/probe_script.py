"""The one read-only script that looks at a host, the server on a port, its model and its GPUs.

POSIX sh and awk only, one round trip. It prints `name<TAB>value` lines and no environment: how that
is read, and which process may be believed, is environ's. Files are told by checksum; of a
model it reads the small files and the first MiB of a single one, never the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

_ALWAYS = r"""
say() { printf '%s\t%s\n' "$1" "$2"; }
known() { if [ -n "$2" ]; then say "$1" "$2"; fi; }
digest() { if command -v sha256sum >/dev/null 2>&1; then sha256sum | cut -c1-16
  else cksum | tr ' ' '-'; fi; }
sum() { if [ -f "$1" ] && [ -r "$1" ]; then digest <"$1"; fi; }
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
family=
if [ -n "$pid" ]; then
  root=/proc/$pid/root
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
  held() { tr '\0' '\n' </proc/$pid/environ 2>/dev/null | sed -n "s/^$1=//p" | head -n 1; }
  say launch.pid "$pid"
  say launch.argv "$(tr '\0' ' ' </proc/$pid/cmdline 2>/dev/null)"
  say launch.start_ticks "$(sed 's/.*) //' /proc/$pid/stat 2>/dev/null | cut -d' ' -f20)"
  container=$(grep -oE '[0-9a-f]{64}' /proc/$pid/cgroup 2>/dev/null | head -n 1)
  say launch.container_id "$container"
  if [ -r "/proc/$pid/environ" ]; then
    say conf.readable 1
    named=$(held NCCL_CONF_FILE)
    if [ -n "$named" ]; then say conf.named "$(sum "$root$named")"; fi
    known conf.home "$(sum "$root$(held HOME)/.nccl.conf")"
  fi
  if [ -r "$root/etc/nccl.conf" ]; then
    say conf.etc "$(sum "$root/etc/nccl.conf")"
  elif [ -d "$root/etc" ]; then
    say conf.etc_absent 1
  fi
fi
gpu=uuid,name,driver_version,power.limit,mig.mode.current,ecc.mode.current,persistence_mode
gpu=$gpu,vbios_version,clocks.applications.graphics
gpu=$gpu,ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total
if command -v nvidia-smi >/dev/null 2>&1; then
  if told=$(nvidia-smi --query-gpu="$gpu" --format=csv,noheader 2>&1); then
    say gpu.fields "$gpu"
    printf '%s\n' "$told" | while IFS= read -r row; do say gpu.row "$row"; done
  else
    # One field that this driver has not fails them all.
    for field in $(echo "$gpu" | tr ',' ' '); do
      if told=$(nvidia-smi --query-gpu="$field" --format=csv,noheader 2>&1); then
        printf '%s\n' "$told" | while IFS= read -r row; do say "gpu.one.$field" "$row"; done
      else
        say "gpu.refused.$field" "$(printf '%s\n' "$told" | head -n 1)"
      fi
    done
  fi
  rows=gpu_uuid,remapped_rows.correctable,remapped_rows.uncorrectable,remapped_rows.pending
  rows=$rows,remapped_rows.failure
  if told=$(nvidia-smi --query-remapped-rows="$rows" --format=csv,noheader 2>&1); then
    printf '%s\n' "$told" | while IFS= read -r row; do say gpu.remapped "$row"; done
  else
    say gpu.remapped_refused "$(printf '%s\n' "$told" | head -n 1)"
  fi
  # Who is at work besides the server; columns differ from driver to driver, so by their names.
  if told=$(nvidia-smi pmon -c 1 -s u 2>/dev/null); then
    say gpu.busy_tenants "$(printf '%s\n' "$told" | awk -v own=" $family " '
      /^# gpu/ { for (i = 2; i <= NF; i++) at[$i] = i - 1 }
      /^#/ || !("pid" in at) || !("sm" in at) { next }
      $(at["pid"]) !~ /^[0-9]+$/ { next }
      index(own, " " $(at["pid"]) " ") { mine = 1; next }
      { others = 1 }
      $(at["sm"]) + 0 >= 5 { if (!($(at["pid"]) in seen)) n++; seen[$(at["pid"])] = 1 }
      END {
        if (!("sm" in at)) exit
        if (others && !mine) print "which process is the server is not told"; else print n + 0
      }')"
  fi
else
  say gpu.none 1
fi
"""

_ONCE = r"""
known host.machine_id "$(sum /etc/machine-id)"
known host.bios "$(cat /sys/class/dmi/id/bios_version 2>/dev/null)"
known host.numa "$(cat /sys/devices/system/node/online 2>/dev/null)"
known host.transparent_hugepage "$(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null)"
known host.virtualisation "$(systemd-detect-virt 2>/dev/null)"
if [ -n "$pid" ]; then
  known host.affinity "$(awk '/^(Cpus|Mems)_allowed_list/ { printf "%s%s", s, $2; s = " mem " }' \
    /proc/$pid/status 2>/dev/null)"
  if [ -n "$container" ] && command -v docker >/dev/null 2>&1; then
    known launch.image_digest "$(docker inspect --format '{{.Image}}' "$container" 2>/dev/null)"
  fi
  mapped() { for one in $family; do grep -oE "$1" "/proc/$one/maps" 2>/dev/null; done | sort -u; }
  for one in $family; do
    if [ -r "/proc/$one/maps" ]; then say versions.readable 1; break; fi
  done
  known versions.libnccl "$(mapped '/[^ ]*libnccl[^ ]*' | head -n 1)"
  known versions.cudart "$(mapped 'libcudart[^ /]*' | head -n 1)"
  mapped '/[^ ]*/(site|dist)-packages/' | while IFS= read -r folder; do
    for name in torch sglang sgl_kernel sglang_kernel vllm flashinfer_python flashinfer triton \
        transformers nvidia_nccl_cu12 nvidia_nccl_cu13 xllamacpp; do
      for found in "$root$folder$name"-*.dist-info; do
        if [ -d "$found" ]; then say "package.$name" "$(basename "$found" .dist-info)"; fi
      done
    done
  done
  words() { tr '\0' '\n' </proc/$pid/cmdline 2>/dev/null; }
  option() { words | awk -v wanted="$1" '
    BEGIN { n = split(wanted, list, " "); for (i = 1; i <= n; i++) known[list[i]] = 1 }
    taken { print; exit }
    $0 in known { taken = 1; next }
    { at = index($0, "=") }
    at && substr($0, 1, at - 1) in known { print substr($0, at + 1); exit }'
  }
  model=$2; draft=$3; revision=$4
  [ -n "$model" ] || model=$(option "--model-path --model")
  [ -n "$model" ] || model=$(words | awk 'last == "-m" && /[.]gguf$/ { print; exit } { last = $0 }')
  [ -n "$model" ] || model=$(words | awk 'last == "serve" && !/^-/ { print; exit } { last = $0 }')
  [ -n "$draft" ] || draft=$(option "--speculative-draft-model-path --model-draft -md")
  hub=$(held HF_HUB_CACHE)
  [ -n "$hub" ] || hub=$(held HUGGINGFACE_HUB_CACHE)
  if [ -z "$hub" ]; then
    home=$(held HF_HOME)
    cache=$(held XDG_CACHE_HOME)
    hub=${home:-${cache:-$(held HOME)/.cache}/huggingface}/hub
  fi
  look() {
    [ -n "$2" ] || return 0
    say "$1.path" "$2"
    case $2 in /*) at=$root$2 ;; *) at=/proc/$pid/cwd/$2 ;; esac
    if [ -f "$at" ] && [ -r "$at" ]; then
      say "$1.file" "$(wc -c <"$at" | tr -d ' ')-$(head -c 1048576 "$at" | digest)"
      return 0
    fi
    if [ ! -d "$at" ]; then
      folder=$root$hub/models--$(printf '%s' "$2" | sed 's,/,--,g')
      at=$folder/snapshots/$3
      if [ -r "$folder/refs/$3" ]; then at=$folder/snapshots/$(cat "$folder/refs/$3"); fi
      [ -d "$at" ] || return 0
      say "$1.revision" "$(basename "$at")"
    fi
    say "$1.folder" 1
    for name in config.json tokenizer.json chat_template.jinja model.safetensors.index.json; do
      if [ -r "$at/$name" ]; then say "$1.$name" "$(sum "$at/$name")"; fi
    done
  }
  look model "$model" "${revision:-main}"
  look draft "$draft" main
fi
if command -v nvidia-smi >/dev/null 2>&1; then
  nvidia-smi topo -m 2>/dev/null | while IFS= read -r row; do say topology.matrix "$row"; done
  nvidia-smi topo -p2p r 2>/dev/null | while IFS= read -r row; do say topology.p2p "$row"; done
  if told=$(nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null); then
    others=0
    for one in $told; do
      case " $family " in *" $one "*) ;; *) others=$((others + 1)) ;; esac
    done
    say gpu.idle_tenants "$others"
  fi
fi
"""

_END = "say probe.end 1\n"


def probe_argv(port: int, model: str = "", draft: str = "", revision: str = "") -> Sequence[str]:
    """The command that looks at this port's server; it reads `probe_script` from its input.
    `model`, `draft`, `revision`: as the server says; "" to take them from its command line."""
    return ("sh", "-s", str(port), model, draft, revision)


def probe_script(*, again: bool = False) -> bytes:
    """The script; `again` looks only at what can change while a server runs."""
    return (_ALWAYS + ("" if again else _ONCE) + _END).encode()
