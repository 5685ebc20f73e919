"""What NCCL says in files of its own (NCCL_DEBUG_FILE): which those are, and what it read there.

Owns the one command that reads them on the host; it prints only lines in which NCCL says that the
environment set something. Judges no variable.
"""

from __future__ import annotations

from collections.abc import Iterable

from console.model.number import whole
from console.nccl.importing.environ import entries
from console.nccl.importing.found import State
from console.nccl.importing.read import import_source
from console.services.environ_said import Process, Said
from console.services.process_script import command
from console.transport.wire import Use, Wire

_NAME = "NCCL_DEBUG_FILE"
Spoken = tuple[int, dict[str, str]]
"""A process id, and what NCCL says there that it read."""

_MOST = 16
"""Ranks whose files are read."""

# %p is the process id as NCCL sees it, inside its container; the host's name there may be any.
_READ = (
    r"""
export LC_ALL=C; IFS=; f=$1; shift;
for p in "$@"; do
n=$(sed -nE "s/^NSpid:.*[[:space:]]([0-9]+)$/\1/p" "/proc/$p/status" 2>/dev/null);
t=$(printf "%s\n" "$f" | sed -e "s/%h/*/g" -e "s/%p/${n:-$p}/g");
case $t in /*) t="/proc/$p/root$t";; *) t="/proc/$p/cwd/$t";; esac;
for g in $t; do if [ -f "$g" ]; then echo "@file $p";
grep -aE "NCCL_[A-Z0-9_]+ set by environment to|Invalid" "$g" | head -n 200 | cut -c 1-400
| sed "s/^/ /"; fi; done; done;
echo "@end"
""",
)


def nccl_file_argv(pattern: str, pids: Iterable[int]) -> list[str]:
    """Read the files that processes with this NCCL_DEBUG_FILE write.

    Prints `@file PID`, then the lines that tell what NCCL read; at last `@end`.
    """
    return command(_READ, [pattern, *map(str, pids)])


def pattern_of(said: Said) -> str:
    """The NCCL_DEBUG_FILE that a server's processes have; empty for none."""
    for kind in ("tracker", "launcher"):
        for process in said.processes:
            if process.kind == kind and process.block is not None:
                for _, name, value in entries(process.block):
                    if name == _NAME:
                        return value
    return ""


def spoken(out: bytes) -> Spoken | None:
    """The process that says most, and what it read; None where no file says anything."""
    best: Spoken | None = None
    for part in out.decode("utf-8", "replace").split("@file ")[1:]:
        head, _, rows = part.partition("\n")
        found = import_source(rows, "nccl.log", "log").found
        values = {one.name: one.value for one in found if one.state is State.SET}
        pid = whole(head)
        if pid is not None and values and (best is None or len(values) > len(best[1])):
            best = pid, values
    return best


async def nccl_settings(wire: Wire, said: Said, deadline_s: float) -> Spoken | None:
    """What NCCL of a server's processes says it read; None where it writes no file, or nothing.

    Raises:
        WireError: the host was not reached.
    """
    pattern = pattern_of(said)
    pids = [one.pid for one in said.processes if _tells(one)][:_MOST]
    if not pattern or not pids:
        return None
    argv = nccl_file_argv(pattern, pids)
    done = await wire.run(argv, deadline_s=deadline_s, use=Use.READ)
    return spoken(done.out)


def _tells(process: Process) -> bool:
    """Whether NCCL may be at work in it."""
    return process.kind not in ("tracker", "init")
