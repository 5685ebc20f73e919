"""What runs on a host to read a server's environment: one fixed POSIX sh line, given arguments.

Owns that text and what it prints. From the port it goes to the listening process, then down the
process tree; of arguments it prints the options' names only. It needs only sh, cat, sed, grep,
tr, ls, cut, head, uniq and date as GNU or BusyBox have them, changes nothing, and lets no variable
out whose name is not allowed: another one is printed as `_=`, so that what is left still shows
whether a block is whole.

Output: records that begin with `@`; lines that begin with a blank belong to the record above.
"""

from __future__ import annotations

from console.nccl.catalogue import ALLOWED_NAMES, ALLOWED_PREFIXES, SECRET_WORDS

MOST_PROCESSES = 48
"""Processes of one server that are looked at."""

# A newline in a value travels as \001, so that each line is one entry of the block.
_READ = r"""
export LC_ALL=C;
port=$1 names=$2 secret=$3 recipe=$4 most=$5 end=$(printf "\002");
only() { tr "\n\000" "\001\n" | sed -E -e "s/^/ /" -e "/^ [^=]*($secret)[^=]*=/s/.*/ _=/"
-e "/^ ($names)=/b" -e "s/^ [A-Za-z_][^=]*=.*/ _=/" -e "/^ (_=)?$/b" -e "s/.*/ ?/" | uniq; };
args() { c=$(tr "\n\000" "\001\002" <"/proc/$1/cmdline" 2>/dev/null); };
value() { tr "\000" "\n" <"/proc/$1/environ" 2>/dev/null | sed -n "s/^$2=//p" | head -n 1; };
stat() { s=; { read -r s <"/proc/$1/stat"; } 2>/dev/null; set -- ${s##*) }; s=${20:-0}; };
owner() { o=; { while read -r k o z; do if [ $k = Uid: ]; then return; fi; done
<"/proc/$1/status"; } 2>/dev/null; o=; };
hex() { sed -nE "s/.*$2([0-9a-f]{64}).*/\1/p" "$1" 2>/dev/null | head -n 1; };
inside() { i=$(hex "/proc/$1/cgroup"); echo "${i:--}"; };
process() {
args $1; c=${c%%$end*};
y=$(grep -m 1 -o "/.*/libnccl\.so.*" "/proc/$1/maps" 2>/dev/null);
case $2$y$c in child*::*) ;; child/*/libnccl*) ;; child*) return;; esac;
stat $1; owner $1; echo "@process $2 $1 $s $o";
printf "@title %.200s\n" "$c";
if [ -n "$y" ]; then printf "@library %s\n" "$y"; fi;
if m=$( { : <"/proc/$1/environ"; } 2>&1 ); then echo "@environ"; only <"/proc/$1/environ";
else echo "@shut ${m##*: }"; fi; };
file() {
if [ -e "$3" ] && [ ! -f "$3" ]; then echo "@file $1 shut not a regular file"; echo " $2";
elif m=$( { : <"$3"; } 2>&1 ); then echo "@file $1 open"; echo " $2";
grep -naE "^[[:space:]]*(export[[:space:]]+)?($names)[[:space:]]*=" "$3" 2>/dev/null
| grep -avE "^[0-9]*:[^=]*($secret)" | head -n 500 | cut -c 1-4200 | sed "s/^/ /";
else case $m in *"o such"*|*onexistent*) echo "@file $1 none"; echo " $2";;
*) echo "@file $1 shut ${m##*: }"; echo " $2";; esac; fi; };
echo "@host $(cat /proc/sys/kernel/random/boot_id) $(date +%s.%N)
$(sed -n "s/^btime //p" /proc/stat) $(getconf CLK_TCK 2>/dev/null || echo 100)
$(cat /proc/sys/kernel/osrelease)";
if [ -n "$recipe" ]; then file recipe "$recipe" "$recipe"; fi;
h="[0-9A-F:]+" n=$(printf %04X "$port");
n=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | sed -nE
"s/^ *[0-9]+: [0-9A-F]+:$n $h 0A $h $h [0-9A-F]+ +([0-9]+) +[0-9]+ ([0-9]+) .*/\2:\1/p");
if [ -z "$n" ]; then echo "@nobody"; echo "@end"; exit 0; fi;
q=; for x in $n; do q="$q${q:+|}${x%:*}" u=${x#*:}; done;
w=" $(ls -ln /proc/self/fd /proc/[0-9]*/fd 2>/dev/null
| sed -nE "/^\/proc\//{s/[^0-9]//g;h;};/socket:\[($q)\]/{g;p;}" | uniq | tr "\n" " ")";
t=$(cat /proc/[0-9]*/stat 2>/dev/null | sed -nE "s/^([0-9]+) \(.*\) [A-Zt] ([0-9]+) .*/\1:\2/p");
l=; for x in $t; do case "$w" in *" ${x%:*} "*)
case "$w" in *" ${x#*:} "*) ;; *) l=${l:-${x%:*}};; esac;; esac; done;
if [ -z "$l" ]; then echo "@unseen $u"; echo "@end"; exit 0; fi;
echo "@holders$w";
args $l; j=$c;
process $l launcher;
echo "@options $(tr "\n\000" "\001\n" <"/proc/$l/cmdline" 2>/dev/null
| sed -nE "s/^(--?[A-Za-z][A-Za-z0-9_-]*)(=.*)?$/\1/p" | head -n 200 | tr "\n" " ")";
f=" $l " g=1 k=0;
while [ $g = 1 ]; do g=0; for x in $t; do
case "$f" in *" ${x%:*} "*) continue;; esac;
case "$f" in *" ${x#*:} "*)
if [ $k -ge "$most" ]; then continue; fi;
f="$f${x%:*} " g=1 k=$((k + 1));; esac; done; done;
track=;
for p in $f; do
if [ $p = $l ]; then continue; fi;
args $p;
case $c in
*multiprocessing.resource_tracker*) process $p tracker; track=$p;;
*multiprocessing.spawn*|*multiprocessing.forkserver*) process $p spawned;;
"$j") ;;
*) process $p child;; esac; done;
i=$(inside $l) b=$l;
if [ $i = - ]; then
i=$(hex /proc/$l/mountinfo "\/containers\/");
case $(ls -l /proc/self/ns/pid 2>/dev/null) in
*4026531836*) ;; "") if [ -n "$i" ]; then b=1; fi;; *) b=1;; esac;
else
while :; do u=0; for x in $t; do if [ ${x%:*} = $b ]; then u=${x#*:}; fi; done;
if [ $u -gt 0 ] && [ $(inside $u) = $i ]; then b=$u; else break; fi; done; fi;
if [ -n "$i" ] && [ $i != - ]; then stat $b; echo "@container $i $s"; fi;
if [ $b != $l ]; then process $b init; fi;
r=/proc/$l/root;
v=$(value ${track:-$l} NCCL_CONF_FILE); v=${v:-$(value $l NCCL_CONF_FILE)};
owner $l;
w=$(sed -nE "s/^[^:]*:[^:]*:$o:[^:]*:[^:]*:([^:]*):.*/\1/p" $r/etc/passwd 2>/dev/null | head -n 1);
e=$(value ${track:-$l} HOME);
case $v in
/*) file conf "$v" "$r$v";;
?*) file conf "$v" "/proc/$l/cwd/$v";;
*) if [ "$w" = "$e" ]; then file conf "~/.nccl.conf" "$r$e/.nccl.conf";
else
if [ -n "$w" ]; then file conf "~/.nccl.conf by passwd" "$r$w/.nccl.conf"; fi;
if [ -n "$e" ]; then file conf "~/.nccl.conf by HOME" "$r$e/.nccl.conf"; fi; fi;; esac;
file conf /etc/nccl.conf $r/etc/nccl.conf;
echo "@end"
"""


def environ_argv(port: int, recipe_file: str = "") -> list[str]:
    """The command that reads the environment of whoever listens on `port`.

    `recipe_file` is the environment file of the server's recipe, as a path on the host.
    """
    names = "|".join([*(f"{prefix}[A-Z0-9_]*" for prefix in ALLOWED_PREFIXES), *_NAMES])
    words = [str(port), names, "|".join(SECRET_WORDS), recipe_file, str(MOST_PROCESSES)]
    return ["/bin/sh", "-c", " ".join(_READ.split("\n")).strip(), "sh", *words]


_NAMES = sorted(ALLOWED_NAMES)
