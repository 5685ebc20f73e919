"""What runs on a host while a log is followed: one fixed POSIX sh line, given its arguments.

Owns that text and what it writes. It needs only sh, stat, tail, head, dd, cat, wc and sleep as GNU
or BusyBox have them; it changes nothing on the host and ends when its standard input does.

Standard output: a line `DEVICE:INODE SIZE OFFSET`, then the file's bytes from OFFSET on.
Standard error: `cannot MESSAGE` while the file cannot be opened; `truncated END` or `rotated END
SKIPPED NEXT` when nothing but the bytes up to offset END will follow. NEXT is the file that was
written after this one, as `DEVICE:INODE`; SKIPPED counts packed ones between the two.
"""

from __future__ import annotations

from dataclasses import dataclass

POLL_S = 0.05
"""How often GNU tail looks for new bytes; BusyBox's looks once a second."""

_REST_OF_LOOK = 5

# The bytes come from `cat` on one open file whose offset the shell shares, never from `tail -f`,
# which begins again at 0 by itself when a file shrinks: so every byte's offset is certain. tail
# and a ticker only wake the loop that compares offset, size and the name's identity. What comes at
# rest is read at once; after that it rests, for each turn costs the host five processes.
_FOLLOW = r"""
export LC_ALL=C; exec 4<&0;
f=$1 look=$2 id=$3 o=$4 n=$5 rest=$7 was= s= r=;
case $(tail --version 2>&1) in *coreutils*) s="-s $6";; esac;
st() { stat -L -c "%d:%i %s" "$@" 2>/dev/null; };
later() { case $2 in ????*|*[!0-9]*) [ "$1" \> "$2" ];; *) [ "$1" -lt "$2" ];; esac 2>/dev/null; };
between() { later "$1" "$w" && { [ -z "$y" ] || later "$y" "$1"; }; };
{ cat <&4; kill $$; } >/dev/null 2>&1 & c=$!;
trap "kill $c \$r 2>/dev/null; exit" TERM;
exec 4<&-;
while :; do
g=$f;
if [ "$id" != - ]; then
for x in "$f" "$f"?*; do case $(st "$x") in "$id "*) g=$x; break;; esac; done;
fi;
if [ -e "$g" ] && [ ! -f "$g" ]; then m="read it: not a regular file";
elif m=$( { : <"$g"; } 2>&1 ); then break; fi;
case $m in *"o such"*|*onexistent*) id=- o=0 n=-1;; esac;
if [ "$m" != "$was" ]; then printf "cannot %s\n" "$m" >&2; was=$m; fi;
sleep "$look";
done;
exec 3<"$g";
set -- $(st /dev/fd/3);
if [ "$1" != "$id" ]; then
if [ "$id" != - ]; then n=-1; fi; id=$1 o=0;
elif [ "$2" -lt "$o" ]; then o=0; fi;
if [ "$n" -ge 0 ]; then
for w in 65536 1048576 4194304; do
o=$(($2 - w)); if [ "$o" -le 0 ]; then o=0; break; fi;
l=$(tail -c "+$((o + 1))" /dev/fd/3 | head -c "$w" | wc -l);
if [ "$l" -gt "$n" ]; then break; fi;
done;
fi;
if [ "$o" -gt 0 ]; then dd bs=1 "skip=$o" count=0 <&3 2>/dev/null; fi;
echo "$1 $2 $o";
cat <&3;
read -r x p </proc/self/fdinfo/3;
{ trap "" PIPE;
tail -c "+$((p + 1))" -f $s /dev/fd/3 2>/dev/null & t=$!;
while kill -0 $$ && sleep "$look" && echo; do :; done;
kill $t; } 2>/dev/null | {
q= k=0;
while x=$(dd bs=65536 count=1 2>&1 >/dev/null); do
case $x in 0+0*) exit;; esac;
read -r x p </proc/self/fdinfo/3;
set -- $(st /dev/fd/3) $(st "$f");
if [ "$2" -lt "$p" ]; then echo "truncated $p" >&2; exit; fi;
if [ "$2" -gt "$p" ]; then cat <&3; sleep "$rest"; fi;
if [ -z "$3" ] || [ "$1" = "$3" ]; then q=; continue; fi;
if [ "$2" = "$q" ]; then k=$((k + 1)); else k=0 q=$2; fi;
if [ "$k" -ge 2 ]; then
e=$2 y= m=0 w=;
for x in "$f"[.-][0-9]*; do case $(st "$x") in "$1 "*) w=${x#"$f"?};; esac; done;
if [ -n "$w" ]; then
for x in "$f"[.-][0-9]*; do x=${x#"$f"?};
case $x in *.gz|*.xz|*.bz2|*.zst|*.lz4) ;; *) if between "$x"; then y=$x; fi;; esac; done;
for x in "$f"[.-][0-9]*.*; do x=${x#"$f"?};
case $x in *.gz|*.xz|*.bz2|*.zst|*.lz4) if between "${x%.*}"; then m=$((m + 1)); fi;; esac; done;
if [ -n "$y" ]; then set -- $(st "$f"[.-]"$y") - -; set -- - - "$1"; fi;
else
for x in "$f"[.-][0-9]*; do if [ "$x" -nt /dev/fd/3 ]; then m=$((m + 1)); fi; done;
fi;
echo "rotated $e $m $3" >&2; exit;
fi;
done; } & r=$!;
wait $r;
kill $c 2>/dev/null
"""

# A command's output is a log too; it is ended when the console lets go of it.
_PRINT = r"""
exec 4<&0;
"$@" </dev/null 2>&1 4<&- & p=$!;
{ cat <&4; kill $p; } >/dev/null 2>&1 & w=$!;
exec 4<&-; wait $p; kill $w 2>/dev/null
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to begin in a file.

    Attributes:
        file: the file wanted, as `DEVICE:INODE`; looked for under the path and, renamed, beside
            it. Empty for whatever has the path.
        offset: the first byte wanted of that file.
        lines: with no file wanted: about this many of the last lines; None for all.
    """

    file: str = ""
    offset: int = 0
    lines: int | None = None


def follow_argv(path: str, place: Place, look_s: float) -> list[str]:
    """The command that follows the file at `path` from `place` on."""
    lines = -1 if place.lines is None else place.lines
    numbers = [f"{look_s:g}", place.file or "-", str(place.offset), str(lines)]
    numbers += [f"{POLL_S:g}", f"{look_s / _REST_OF_LOOK:g}"]
    return ["/bin/sh", "-c", _line(_FOLLOW), "sh", path, *numbers]


def print_argv(argv: tuple[str, ...]) -> list[str]:
    """The command that runs `argv` and prints both its outputs as one."""
    return ["/bin/sh", "-c", _line(_PRINT), "sh", *argv]


def _line(script: str) -> str:
    return " ".join(script.split("\n")).strip()
