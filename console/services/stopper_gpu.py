"""Whether a stopped server's GPU memory is free again: one look, as often as somebody asks.

Owns the two questions to nvidia-smi and when memory or work counts as stuck. Never resets a GPU.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from console.engines.nvidia import parse_apps
from console.model.number import whole
from console.services.gpu_script import apps_argv, memory_argv
from console.services.process import HostCommands
from console.transport.wire import Use

_STUCK_MIB = 1_024
"""Less than this is what a driver holds for itself."""

_BUSY_PERCENT = 10
"""Less than this a GPU without any process may show for a moment."""


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """One look at a host's GPUs; `readable` is False where there is no tool or no answer.

    Attributes:
        used_mib: by index.
        holders: by index the process ids that hold memory on it.
        busy_percent: by index, where it is told.
    """

    readable: bool = False
    used_mib: dict[int, int] | None = None
    holders: dict[int, frozenset[int]] | None = None
    busy_percent: dict[int, int] = field(default_factory=dict)

    def stuck(self, gpu: int) -> str:
        """What belongs to no process on a GPU; empty where nothing does."""
        if (self.holders or {}).get(gpu):
            return ""
        used_mib, busy = (self.used_mib or {}).get(gpu, 0), self.busy_percent.get(gpu, 0)
        if used_mib > _STUCK_MIB:
            return f"GPU {gpu} still holds {used_mib:,} MiB and no process is shown"
        if busy >= _BUSY_PERCENT:
            return f"GPU {gpu} is still {busy} % busy and no process is shown"
        return ""

    def all_stuck(self, gpus: Collection[int]) -> tuple[str, ...]:
        """Of these GPUs, of all where none is named."""
        shown = (self.stuck(gpu) for gpu in self.used_mib or {} if not gpus or gpu in gpus)
        return tuple(text for text in shown if text)


async def look_at_gpus(host: HostCommands) -> GpuMemory:
    """Memory and holders now.

    Raises:
        WireError: the host was not reached.
    """
    gpus = await _ask(host, memory_argv())
    apps = await _ask(host, apps_argv()) if gpus is not None else None
    if gpus is None or apps is None:
        return GpuMemory()
    used: dict[int, int] = {}
    busy: dict[int, int] = {}
    index_of: dict[str, int] = {}
    for row in gpus:
        cells = [cell.strip() for cell in row.split(",")]
        numbers = [whole(cell) for cell in cells]
        match numbers:
            case [int(gpu), _, int(mib), *more]:
                used[gpu] = mib
                index_of[cells[1]] = gpu
                if more and more[0] is not None:
                    busy[gpu] = more[0]
    held: dict[int, set[int]] = {}
    for app in parse_apps(apps):
        if app.uuid in index_of:
            held.setdefault(index_of[app.uuid], set()).add(app.pid)
    return GpuMemory(True, used, {gpu: frozenset(pids) for gpu, pids in held.items()}, busy)


def still_held(
    before: GpuMemory, now: GpuMemory, gpus: Collection[int], stopped: Collection[int]
) -> tuple[tuple[str, ...], bool]:
    """What of a stopped server's GPUs is not free, one text for each GPU, and whether any of it
    belongs to no process: then nothing that this console can do frees it.

    Args:
        gpus: those of the slot; empty for all.
        stopped: the process ids that were the server.
    """
    if not now.readable or now.used_mib is None or before.used_mib is None:
        return (), False
    texts: list[str] = []
    stuck = False
    for gpu, used_mib in now.used_mib.items():
        if gpus and gpu not in gpus:
            continue
        holders = (now.holders or {}).get(gpu, frozenset())
        own = sorted(holders & set(stopped))
        if own:
            texts.append(f"process {own[0]} holds memory on GPU {gpu}")
            continue
        text = now.stuck(gpu)
        was_mib = before.used_mib.get(gpu, 0)
        if text and (used_mib <= _STUCK_MIB or 2 * used_mib > was_mib):
            texts.append(text)
            stuck = True
    return tuple(texts), stuck


async def _ask(host: HostCommands, argv: list[str]) -> list[str] | None:
    deadline_s = host.pace.read_deadline_s * host.pace.scale
    done = await host.again(lambda: host.wire.run(argv, deadline_s=deadline_s, use=Use.ACT))
    return done.out.decode("utf-8", "replace").splitlines() if done.code == 0 else None
