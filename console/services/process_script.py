"""What runs on a host to look at processes and to signal them: fixed POSIX sh lines.

Owns those texts and what they print. A process is known by boot id, pid, start time and command
line; a signal goes out only where all four still hold, looked at in the command that sends it.
Nothing is ever found by a name. Words that follow a secret's name are masked before they leave.
"""

from __future__ import annotations

from collections.abc import Iterable

_SECRET = ("key", "token", "secret", "password", "passwd", "credential", "credentials", "auth")
_PATTERN = "|".join(
    "*" + "".join(f"[{letter}{letter.upper()}]" for letter in word) for word in _SECRET
)

# `hide` reads one word a line, a newline within a word as \001.
HIDE = (
    "hide() { h=; while IFS= read -r x; do case $h in 1) x='<masked>'; h=;; *) case $x in "
    f"*=*) case ${{x%%=*}} in {_PATTERN}) x=${{x%%=*}}='<masked>';; esac;; "
    f"-*) case $x in {_PATTERN}) h=1;; esac;; esac;; esac; "
    "printf ' %s\\n' \"$x\"; done; };"
)
"""A shell function that prints words with a blank before each, values of secret options masked."""

BORN = (
    'born() { s=$(cat "/proc/$1/stat" 2>/dev/null); set -- ${s##*) }; echo "${20:-0} ${1:-X}"; };'
)
"""A shell function: start time in ticks and state of a process, `0 X` for none."""

SUM = 'sum() { set -- $(cksum <"/proc/$1/cmdline" 2>/dev/null); echo "$1-$2"; };'
"""A shell function: a checksum of a process's command line."""

_LOOK = (
    r"""
export LC_ALL=C;
echo "@boot $(cat /proc/sys/kernel/random/boot_id)";
for p in "$@"; do
s=$(cat "/proc/$p/stat" 2>/dev/null) || { echo "@gone $p"; continue; };
set -- ${s##*) };
echo "@process $p ${20} $1 $2 $3 $4 $(sum "$p")";
tr "\n\000" "\001\n" <"/proc/$p/cmdline" 2>/dev/null | hide;
done;
echo "@end"
""",
    HIDE,
    SUM,
)

# `kill -s SIG -- -GROUP` is none to BusyBox, `kill -s SIG -GROUP` none to dash; this is one to all.
_SIGNAL = (
    r"""
export LC_ALL=C;
sig=$1 group=$2;
if [ "$3" != "$(cat /proc/sys/kernel/random/boot_id)" ]; then echo "@rebooted"; echo "@end"; exit
0; fi;
shift 3;
for x in "$@"; do
p=${x%%:*}; y=${x#*:}; b=$(born "$p");
case $b in "0 X"|*" Z") echo "@gone $p"; continue;; esac;
if [ "${b% *}" != "${y%%:*}" ]; then echo "@reused $p"; continue; fi;
if [ "$(sum "$p")" != "${y#*:}" ]; then echo "@renamed $p"; continue; fi;
t=$p; if [ "$group" = 1 ]; then t=-$p; fi;
if m=$(kill "-$sig" "$t" 2>&1); then echo "@sent $p"; else echo "@refused $p $m"; fi;
done;
echo "@end"
""",
    BORN,
    SUM,
)

_MEMBERS = (
    r"""
export LC_ALL=C;
cat /proc/[0-9]*/stat 2>/dev/null
| sed -nE "s/^([0-9]+) \(.*\) [^ZX] [0-9]+ $1 .*/@member \1/p";
echo "@end"
""",
)


def look_argv(pids: Iterable[int]) -> list[str]:
    """What is known of each process.

    Prints `@boot ID`, then `@process PID START STATE PARENT GROUP SESSION SUM` with one masked
    word of its command line a line, or `@gone PID`; at last `@end`.
    """
    return command(_LOOK, [str(pid) for pid in pids])


def signal_argv(name: str, group: bool, boot_id: str, targets: Iterable[str]) -> list[str]:
    """Send a signal to each `PID:START:SUM`, or to the group each of them leads.

    Prints `@sent`, `@gone`, `@reused`, `@renamed` or `@refused` with the pid; `@rebooted` when
    this is another boot.
    """
    return command(_SIGNAL, [name, "1" if group else "0", boot_id, *targets])


def members_argv(group: int) -> list[str]:
    """Who is in a process group: `@member PID` each."""
    return command(_MEMBERS, [str(group)])


def last_lines_argv(path: str, count: int) -> list[str]:
    """The last lines of a file."""
    return ["tail", "-n", str(count), "--", path]


def size_argv(path: str) -> list[str]:
    """The bytes of a file, then its path."""
    return ["wc", "-c", "--", path]


def command(parts: tuple[str, ...], words: Iterable[str]) -> list[str]:
    """The command of a text and the functions it uses, on one line: csh quotes no newline."""
    text, *functions = parts
    line = " ".join((" ".join(functions) + text).split("\n")).strip()
    return ["/bin/sh", "-c", line, "sh", *words]
