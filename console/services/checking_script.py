"""What runs on a host that is looked at once: fixed POSIX sh lines, given arguments.

Owns those texts; each only reads. What listens on a port is found as the probe finds it.
"""

from __future__ import annotations

from collections.abc import Iterable

_MISSING = 'for tool in "$@"; do command -v "$tool" >/dev/null 2>&1 || echo "$tool"; done'
_READABLE = (
    'if [ ! -e "$1" ]; then echo missing; elif [ ! -r "$1" ]; then echo unreadable; '
    "else echo ok; fi"
)
_LISTENING = r"""
hex=$(printf ':%04X' "$1")
inodes=$(awk -v p="$hex" '$4 == "0A" && substr($2, length($2) - 4) == p && $10 != "0" \
    { printf "%s ", $10 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
[ -n "$inodes" ] || exit 0
pid=$(ls -l /proc/[0-9]*/fd 2>/dev/null | awk -v wanted="$inodes" '
  BEGIN { n = split(wanted, list, " "); for (i = 1; i <= n; i++) held["socket:[" list[i] "]"] = 1 }
  /^\/proc\// { split($0, path, "/"); one = path[3] }
  $NF in held { print one }' | sort -n | head -n 1)
[ -n "$pid" ] || exit 0
echo "$pid"
readlink "/proc/$pid/cwd"
for out in 1 2; do
  log=$(readlink "/proc/$pid/fd/$out")
  case $log in *' (deleted)'|/dev/*) ;; /*) echo "$log"; break ;; esac
done
"""


def name_argv() -> list[str]:
    """The machine's name, from a shell."""
    return ["sh", "-c", "uname -n"]


def missing_argv(tools: Iterable[str]) -> list[str]:
    """Those of the programs that are not there, one a line."""
    return ["sh", "-c", _MISSING, "sh", *tools]


def readable_argv(path: str) -> list[str]:
    """`ok`, `missing` or `unreadable`."""
    return ["sh", "-c", _READABLE, "sh", path]


def listening_argv(port: int) -> list[str]:
    """Process id, folder and log file of what listens on a port; reads `listening_script`."""
    return ["sh", "-s", str(port)]


def listening_script() -> bytes:
    """The script."""
    return _LISTENING.encode()


def cmdline_argv(pid: int) -> list[str]:
    """The command line of a process, its words parted by NUL."""
    return ["cat", f"/proc/{pid}/cmdline"]
