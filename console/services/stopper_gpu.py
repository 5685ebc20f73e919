"""Whether a stopped server's GPU memory is free again: one look, as often as somebody asks.

Owns the two questions to nvidia-smi and when memory counts as stuck. Never resets a GPU.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from console.engines.nvidia import parse_apps
from console.services.gpu_script import apps_argv, memory_argv
from console.services.process import HostCommands
from console.transport.wire import Use

_STUCK_MIB = 1_024
"""Less than this is what a driver holds for itself."""


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """One look at a host's GPUs; `readable` is False where there is no tool or no answer.

    Attributes:
        used_mib: by index.
        holders: by index the process ids that hold memory on it.
    """

    readable: bool = False
    used_mib: dict[int, int] | None = None
    holders: dict[int, frozenset[int]] | None = None


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
    index_of: dict[str, int] = {}
    for row in gpus:
        cells = [cell.strip() for cell in row.split(",")]
        if len(cells) == 3 and cells[0].isdigit() and cells[2].isdigit():
            used[int(cells[0])] = int(cells[2])
            index_of[cells[1]] = int(cells[0])
    held: dict[int, set[int]] = {}
    for app in parse_apps(apps):
        if app.uuid in index_of:
            held.setdefault(index_of[app.uuid], set()).add(app.pid)
    return GpuMemory(True, used, {gpu: frozenset(pids) for gpu, pids in held.items()})


def still_held(
    before: GpuMemory, now: GpuMemory, gpus: Collection[int], stopped: Collection[int]
) -> tuple[tuple[str, ...], bool]:
    """What of a stopped server's memory is not free, one text for each GPU, and whether any of it
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
        was_mib = before.used_mib.get(gpu, 0)
        if not holders and used_mib > _STUCK_MIB and 2 * used_mib > was_mib:
            texts.append(f"GPU {gpu} still holds {used_mib:,} MiB and no process is shown")
            stuck = True
    return tuple(texts), stuck


async def _ask(host: HostCommands, argv: list[str]) -> list[str] | None:
    deadline_s = host.pace.read_deadline_s * host.pace.scale
    done = await host.again(lambda: host.wire.run(argv, deadline_s=deadline_s, use=Use.ACT))
    return done.out.decode("utf-8", "replace").splitlines() if done.code == 0 else None
