"""What writes an environment file on a host, and what tells whether peer access is safe there:
fixed POSIX sh lines.

Owns those texts. A file is replaced as a whole by a rename, readable by its owner alone; lines that
set no NCCL_ variable never leave the host and stay as they were; the old file keeps another name.
"""

from __future__ import annotations

from console.services.process_script import command

_WRITE = (
    r"""
export LC_ALL=C; umask 077; set -C;
f=$1 k=$2 n=$3 t=$1.new.$$;
trap 'rm -f "$t"' HUP TERM;
end() { rm -f "$t"; echo "@refused $1"; echo "@end"; exit 0; };
s="^[[:space:]]*(export[[:space:]]+)?NCCL_[A-Za-z0-9_]*[[:space:]]*=";
if [ ! -d "${f%/*}/" ]; then echo "@refused there is no folder ${f%/*}"; echo "@end"; exit 0; fi;
if [ -h "$f" ] || { [ -e "$f" ] && [ ! -f "$f" ]; }; then
echo "@refused $f is no regular file"; echo "@end"; exit 0; fi;
if ! m=$( { : >"$t"; } 2>&1 ); then echo "@refused ${m##*: }"; echo "@end"; exit 0; fi;
if [ -f "$f" ]; then
if [ ! -r "$f" ]; then end "$f cannot be read"; fi;
m=$( { grep -avE "$s" "$f" >>"$t"; } 2>&1 ); if [ $? -gt 1 ]; then
end "$f could not be copied: ${m##*: }"; fi;
if [ -s "$t" ] && [ -n "$(tail -c 1 "$t")" ]; then
echo >>"$t" || end "$f could not be copied"; fi; fi;
b=$(wc -c <"$t"); m=$( { cat >>"$t"; } 2>&1 ) || end "$f could not be written: ${m##*: }";
if [ $(( $(wc -c <"$t") - b )) -ne "$n" ]; then end "what was sent did not arrive whole"; fi;
if [ -f "$f" ]; then
if [ ! -e "$k" ] && ! m=$(ln "$f" "$k" 2>&1) && ! m=$(cp -p "$f" "$k" 2>&1); then
end "the old one cannot be kept: ${m##*: }"; fi;
echo "@kept $k"; fi;
if m=$(mv -f "$t" "$f" 2>&1); then echo "@written $f"; else end "${m##*: }"; fi;
echo "@end"
""",
)
_FABRIC = (
    r"""
export LC_ALL=C;
echo "@boot $(tr " " "\n" </proc/cmdline 2>/dev/null | grep -E "iommu|^pci=" | tr "\n" " ")";
echo "@groups $(ls /sys/kernel/iommu_groups 2>/dev/null | grep -c .)
$(cat /sys/kernel/iommu_groups/*/type 2>/dev/null | sort -u | tr "\n" " ")";
if p=$(command -v lspci 2>/dev/null); then
a=$("$p" -vv 2>/dev/null | grep -E "^[0-9a-f:.]+ |ACSCtl:" | grep -B 1 "ACSCtl:");
if [ -n "$a" ]; then
echo "@acs $(echo "$a" | grep -c "ACSCtl:.*SrcValid+") $(echo "$a" | grep -c "ACSCtl:")";
else echo "@noacs lspci shows no ACS control (it needs root)"; fi;
else echo "@noacs this host has no lspci"; fi;
for w in r w; do
echo "@peers $w"; nvidia-smi topo -p2p $w 2>/dev/null | head -n 40 | sed "s/^/ /"; done;
echo "@end"
""",
)


def write_argv(path: str, kept: str, size: int) -> list[str]:
    """Write standard input, which is `size` bytes, in place of the NCCL_ lines of `path`.

    Prints `@kept PATH` where there was an old file, `@written PATH` or `@refused WHY`; `@end`.
    """
    return command(_WRITE, [path, kept, str(size)])


def fabric_argv() -> list[str]:
    """Look at what decides whether peer access works.

    Prints `@boot` with words of the kernel's command line, `@groups COUNT TYPES` of the IOMMU,
    `@acs ON ALL` bridges or `@noacs WHY`, and `@peers r` and `@peers w` with the matrix; `@end`.
    """
    return command(_FABRIC, [])
