"""What runs on a host to adopt, to launch and to lock: fixed POSIX sh lines, given arguments.

Owns those texts, the console's private folder on the host (`~/.spec-console`, 0700) and the form
of what lies there: a recipe is one word or variable a line behind a letter (`c` working folder,
`a` word of the command line, `e` variable, `u` variable to leave out, `.` its end), a newline as
\\001. A recipe holds the exact environment and never leaves the host; only masked words do.
"""

from __future__ import annotations

from console.nccl.catalogue import ALLOWED_NAMES, ALLOWED_PREFIXES
from console.services.process_script import BORN, HIDE, command

_SHOWABLE = "|".join(
    [
        *(f"{prefix}*" for prefix in ALLOWED_PREFIXES),
        *(f"{name}=*" for name in sorted(ALLOWED_NAMES)),
    ]
)

_FOLDER = (
    "no() { echo \"@refused $*\"; echo '@end'; exit 0; };"
    ' why() { m=$( { echo . | cat >"$d/room.$$"; } 2>&1 ); rm -f "$d/room.$$";'
    ' echo "${m:+: ${m##*: }}"; };'
    " umask 077; d=${HOME:?}/.spec-console;"
    ' mkdir -p "$d" 2>/dev/null && chmod 700 "$d" || no "cannot make $d";'
)

# What a process is told to be started again with. A name that sh cannot hold is counted, not kept.
_CAPTURE = (
    r"""
export LC_ALL=C;
p=$1 start=$2 f=$3;
b=$(born "$p"); if [ "${b% *}" != "$start" ]; then no "process $p is gone"; fi;
if ! { : <"/proc/$p/environ"; } 2>/dev/null; then no "the environment of process $p cannot be
read"; fi;
mkdir -p "$d/${f%/*}"; r="$d/$f"; c=$(readlink "/proc/$p/cwd"); x=$(readlink "/proc/$p/exe");
full() { m=$(why); rm -f "$r.words" "$r.x" "$r.new" "$r.of.new"; no "cannot write $r$m"; };
{ tr "\n\000" "\001\n" <"/proc/$p/cmdline" >"$r.words"; } 2>/dev/null &&
[ "$(wc -c <"$r.words")" -eq "$(cat "/proc/$p/cmdline" | wc -c)" ] || full; read -r a <"$r.words";
w=$( tr "\000" "\n" <"/proc/$p/environ" | sed -n "s/^PATH=//p" | head -n 1);
if ! ( cd "$c" && PATH=$w && command -v "$a" ) >/dev/null 2>&1; then
if [ "$(grep -c . "$r.words")" -le 1 ]; then rm -f "$r.words"; no "process $p has overwritten its
command line"; fi;
echo "@program $x"; { echo "$x" && sed 1d "$r.words"; } 2>/dev/null >"$r.x" &&
mv "$r.x" "$r.words" || full; fi;
{ echo "c $c" && sed "s/^/a /" "$r.words" &&
tr "\n\000" "\001\n" <"/proc/$p/environ" | sed "s/^/e /" && echo .; } 2>/dev/null >"$r.new" &&
echo "$p $start $(cat /proc/sys/kernel/random/boot_id)" 2>/dev/null >"$r.of.new" &&
mv "$r.new" "$r" && mv "$r.of.new" "$r.of" || full;
echo "@recipe $r"; echo "@cwd $c"; echo "@words"; hide <"$r.words";
w=; while IFS= read -r y; do if [ ${#y} -gt ${#w} ]; then w=$y; fi; done <"$r.words";
rm -f "$r.words"; for y in .bash_history .zsh_history .local/share/fish/fish_history; do
n=$(grep -anF -e "$w" "$HOME/$y" 2>/dev/null | tail -n 1 | cut -d : -f 1);
if [ -n "$n" ]; then echo "@hint shell history: ~/$y line $n"; fi; done;
y=$(sed -nE "s/^e TMUX_PANE=(%[0-9]+)$/\1/p" "$r");
if [ -n "$y" ]; then echo "@hint what it printed: tmux capture-pane -p -S - -t $y"; fi;
k=$(sed -n "s/^e //p" "$r" | grep -cvE "^[A-Za-z_][A-Za-z0-9_]*=");
echo "@variables $(grep -c "^e " "$r") $k";
o=$(readlink "/proc/$p/fd/1"); echo "@stdout $o";
case $o in pipe:*) for q in /proc/[0-9]*; do
if [ "$(readlink "$q/fd/0" 2>/dev/null)" = "$o" ]; then
for y in "$q"/fd/[3-9]* "$q"/fd/1; do t=$(readlink "$y"); case $t in /dev/*|/proc/*|*deleted*) ;;
/*) echo "@through $t";
break;; esac; done; fi; done;; esac;
echo "@end"
""",
    _FOLDER,
    BORN,
    HIDE,
)

# The shell that becomes the server: it starts with nothing, reads the recipe as data and is
# replaced by the program. Variables are set one by one, so that no command line ever holds them.
_BECOME = (
    "f=$1; set --; n=$(printf '\\001');"
    " while IFS= read -r x; do v=${x#??};"
    " case $v in *\"$n\"*) v=$(printf '%s.' \"$v\" | tr '\\001' '\\n'); v=${v%.};; esac;"
    ' case $x in \'c \'*) cd "$v" || exit 126;; \'a \'*) set -- "$@" "$v";;'
    " 'u '*) unset \"$v\";;"
    " 'e '*) case ${v%%=*} in ''|[0-9]*|*[!A-Za-z0-9_]*) ;; *) command export \"$v\";; esac;;"
    ' esac; done <"$f"; unset f x v n OLDPWD; exec "$@"'
)

# What becomes the server in a window of tmux: the window shows what goes to the log, and ctrl+c in
# it ends both. The pane's own process is the server, so it leads a session of its own as well.
_PANE = (
    'umask 022; ( env -i tail -n 0 -f "$3" & ); '
    'exec env -i /bin/sh -c "$1" sh "$2" </dev/null >>"$3" 2>&1'
)

_LAUNCH = (
    r"""
export LC_ALL=C;
act=$1 name=$2 port=$3 log=$4 base=$5 envfile=$6 become=$7 pane=$8;
g="$d/port-$port" r="$d/port-$port/$act.recipe" l="$d/port-$port/launch";
mkdir -p "$g" || no "cannot make $g";
log=${log:-$g/$name.log};
told() { echo "@launched $(cat "$l")"; echo "@log $log"; echo "@recipe $r";
if [ -f "$r.window" ]; then echo "@window $(cat "$r.window")"; fi; echo "@end"; exit 0; };
if [ -f "$l" ]; then read -r y p b i n <"$l";
if [ "$y" = "$act" ]; then told; fi;
if [ "$i" = "$(cat /proc/sys/kernel/random/boot_id)" ]; then case $(born "$p") in
"$b Z"|"0 X") x=$(cat /proc/[0-9]*/stat 2>/dev/null
| sed -nE "s/^([0-9]+) \(.*\) [^ZX] [0-9]+ [0-9]+ $p .*/\1/p" | tr "\n" " ");
if [ -n "$x" ]; then no "of $n, launched earlier as process $p, these are left: $x"; fi;;
"$b "*) no "$n, launched earlier as process $p, still runs in this slot";; esac; fi; fi;
if grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$port") [0-9A-F:]+ 0A " /proc/net/tcp
/proc/net/tcp6 2>/dev/null; then no "port $port is taken"; fi;
data() { k=0; while IFS= read -r x || [ -n "$x" ]; do k=$((k + 1));
x=${x#"${x%%[! 	]*}"}; x=${x#export };
case $x in ""|"#"*) continue;; *=*) ;; *) echo "$k: no NAME=VALUE" >&2; return 1;; esac;
v=${x#*=}; x=${x%%=*};
case $x in ""|[0-9]*|*[!A-Za-z0-9_]*) echo "$k: no NAME=VALUE" >&2; return 1;; esac;
case $v in \'*\') v=${v#?} v=${v%?};;
*\$*|*\`*) echo "$k: $x wants a shell, and none is asked" >&2; return 1;;
\"*\") v=${v#?} v=${v%?};; esac;
printf "e %s=%s\n" "$x" "$v"; done <"$1"; };
w=$( { { if [ -n "$base" ]; then sed "/^\.$/d" "$base" || exit 1;
else printf "e %s\n" "HOME=$HOME" "USER=$(id -un)" "LOGNAME=$(id -un)" SHELL=/bin/sh
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; fi;
if [ -n "$envfile" ]; then data "$envfile" || exit 1; fi; cat; } | cat >"$r.new"; } 2>&1 );
if [ $? -ne 0 ] || [ "$(tail -n 1 "$r.new")" != . ]; then rm -f "$r.new"; if [ -n "$w" ]; then
no "the recipe cannot be made: $(echo "$w" | tail -n 1)"; fi; no "the recipe arrived cut short"; fi;
mv "$r.new" "$r" || no "cannot write $r";
if ! { mkdir -p "$(dirname "$log")" && : >>"$log"; } 2>/dev/null; then no "cannot write the log
$log"; fi;
t=setsid; if [ -n "$pane" ]; then t=tmux; fi;
if ! command -v $t >/dev/null; then no "this host has no $t"; fi;
if ! ( set -C; : >"$g/$act.claim" ) 2>/dev/null; then
if ! [ -e "$g/$act.claim" ]; then no "cannot write $g/$act.claim$(why)"; fi;
k=0; while [ $k -lt 50 ]; do if [ "$(sed "s/ .*//" "$l" 2>/dev/null)" = "$act" ]; then told; fi;
sleep 0.1; k=$((k + 1)); done; no "an attempt to launch did not come to an end"; fi;
if [ -n "$pane" ]; then w=new-session; at=-s;
if tmux has-session -t =spec-console 2>/dev/null; then w=new-window at=-t;
tmux list-windows -t =spec-console: -F "#{pane_dead} #{window_id} #{window_name}" | while
read -r x y z; do if [ "$x $z" = "1 $name" ]; then tmux kill-window -t "$y"; fi; done;
if ! tmux has-session -t =spec-console 2>/dev/null; then w=new-session at=-s; fi; fi;
x=spec-console; if [ $w = new-window ]; then x=spec-console:; fi;
x=$(tmux $w -d -P -F "#{pane_pid} #{session_name}:#{window_index}" $at $x -n "$name" /bin/sh -c
"$pane" sh "$become" "$r" "$log" 2>"$r.err") || no "tmux: $(head -n 1 "$r.err")";
rm -f "$r.err"; p=${x%% *}; echo "${x#* }" >"$r.window";
tmux set-option -w -t "${x#* }" remain-on-exit on >/dev/null 2>&1;
else
( umask 022; exec setsid env -i /bin/sh -c "$become" sh "$r" </dev/null >>"$log" 2>&1 ) & p=$!;
fi;
ls -t "$g" | sed 1,90d | while read -r x; do rm -f "$g/$x"; done;
rm -f "$g/wedged"; b=$(born "$p");
echo "$act $p ${b% *} $(cat /proc/sys/kernel/random/boot_id) $name" >"$l.new" && mv "$l.new" "$l"
|| { m=$(why); kill "$p"; no "cannot write $l$m"; };
told
""",
    _FOLDER,
    BORN,
)

_RECORD = (
    r"""
export LC_ALL=C; umask 077; d=${HOME:?}/.spec-console; l="$d/port-$1/launch";
if read -r y x 2>/dev/null <"$l"; then echo "@launched $y $x"; echo "@recipe $d/port-$1/$y.recipe";
fi;
f="$d/adopted/$2.recipe"; if [ -f "$f" ]; then echo "@adopted $f"; fi;
f="$d/adopted/$2.recipe.of"; if [ -f "$f" ]; then echo "@of $(cat "$f")"; fi;
f="$d/port-$1/wedged"; if [ "$(cat "$f" 2>/dev/null)" = "$(cat /proc/sys/kernel/random/boot_id)" ];
then echo "@wedged"; fi;
echo "@end"
""",
)

_WEDGED = (
    r"""
mkdir -p "$d/port-$1" && cat /proc/sys/kernel/random/boot_id 2>/dev/null >"$d/port-$1/wedged" ||
no "cannot write to $d/port-$1$(why)"; echo "@end"
""",
    _FOLDER,
)

_SHOW = (
    r"""
export LC_ALL=C;
if ! [ -r "$1" ]; then echo "@refused $1 cannot be read"; echo "@end"; exit 0; fi;
echo "@cwd $(sed -n "s/^c //p" "$1" | tail -n 1)"; echo "@words"; sed -n "s/^a //p" "$1" | hide;
echo "@environment";
sed -n "s/^e //p" "$1" | while IFS= read -r x; do case $x in """
    + _SHOWABLE
    + r""") printf "%s\n" "$x";; esac; done | hide; echo "@end"
""",
    HIDE,
)

# Its age is told by the time since boot: no clock that is set anew makes a fresh lock stale. It is
# renewed in place, which needs no room: a disk that is full makes none stale either.
# Only of one that names nobody yet, or whose console went in that moment, does the folder tell.
_LOCK = (
    r"""
export LC_ALL=C;
k="$d/lock" act=$1 stale=$3 over=$4; i=$(cat /proc/sys/kernel/random/boot_id);
read -r now x </proc/uptime; now=${now%%.*};
y= b= t=; read -r y b t 2>/dev/null <"$k/at"; y=${y:--};
if [ "$y" = "$act" ]; then echo "$act $i $now" 1<>"$k/at"; echo "@locked"; echo "@end"; exit 0; fi;
if [ -d "$k" ]; then if [ "$over" = "$y" ] || { [ "$y" != - ] && [ "$b" != "$i" ]; }; then
mv "$k" "$k.$act" 2>/dev/null && rm -r "$k.$act"; fi; fi;
if ! mkdir "$k" 2>/dev/null; then
if ! [ -d "$k" ]; then no "cannot make $k"; fi;
y= b= t=; read -r y b t 2>/dev/null <"$k/at"; a=$((now - ${t:-$now}));
if [ -z "$y" ]; then a=$(($(date +%s) - $(date -r "$k" +%s 2>/dev/null || date +%s))); fi;
if [ "$a" -ge "$stale" ]; then w=stale; else w=held; fi;
echo "@$w ${y:--} $a"; echo " $(cat "$k/owner" 2>/dev/null)"; echo " $k"; echo "@end";
exit 0; fi;
{ echo "$2" >"$k/owner" && echo "$act $i $now" >"$k/at"; } 2>/dev/null ||
{ m=$(why); rm -f "$k/owner" "$k/at"; rmdir "$k"; no "cannot write $k$m"; };
echo "@locked"; echo "@end"
""",
    _FOLDER,
)

_UNLOCK = (
    r"""
export LC_ALL=C; k=${HOME:?}/.spec-console/lock;
if read -r y b t <"$k/at" 2>/dev/null && [ "$y" = "$1" ]; then
rm -f "$k/at" "$k/owner"; rmdir "$k"; echo "@unlocked"; fi;
echo "@end"
""",
)


def capture_argv(pid: int, start_ticks: int, file: str) -> list[str]:
    """Write the exact recipe of a running process to `file` below the private folder.

    Prints `@recipe PATH`, `@cwd`, `@words` with the masked command line, `@hint` (where more
    may be read), `@variables COUNT UNKEPT`, `@stdout`, `@through` (the file that the reader of a
    pipe writes); or `@refused WHY`.
    """
    return command(_CAPTURE, [str(pid), str(start_ticks), file])


def launch_argv(
    act: str,
    name: str,
    port: int,
    log: str,
    *,
    base: str = "",
    env_file: str = "",
    window: bool = False,
) -> list[str]:
    """Launch what `base` (a recipe on the host) and the standard input make together, once.

    Without a `log` its output goes to one in the private folder; of what that keeps for a slot
    the newest 90 files stay. With `window` it runs in one of the tmux session `spec-console`.

    Given again with the same act it launches nothing more and prints the same:
    `@launched ACT PID START BOOT NAME`, `@log`, `@recipe`, `@window`; or `@refused WHY`.
    """
    pane = _PANE if window else ""
    return command(_LAUNCH, [act, name, str(port), log, base, env_file, _BECOME, pane])


def record_argv(port: int, name: str) -> list[str]:
    """What was launched last in a slot with its recipe, and the adopted one of a server, if any."""
    return command(_RECORD, [str(port), name])


def wedged_argv(port: int) -> list[str]:
    """Keep that the GPUs of a slot are wedged, for as long as this boot lasts or until a launch."""
    return command(_WEDGED, [str(port)])


def show_argv(path: str) -> list[str]:
    """The masked words and the showable variables of a recipe on the host."""
    return command(_SHOW, [path])


def lock_argv(act: str, owner: str, stale_s: int, over: str = "") -> list[str]:
    """Take or renew the host's one lock for an act, or take over that of act `over`.

    Prints `@locked`, or `@held` / `@stale` with ACT and seconds since it was renewed, then its
    owner and its place; or `@refused WHY`.
    """
    return command(_LOCK, [act, owner, str(stale_s), over or "-none-"])


def unlock_argv(act: str) -> list[str]:
    """Let go of the lock, if this act holds it."""
    return command(_UNLOCK, [act])
