"""Which process of a server counts as what: launcher, resource tracker, rank 3.

Pure: titles and kinds go in. A process that can tell nothing of its own is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.services.environ_said import Process

_PLACE = re.compile(r"(TP|PP|DP|EP|PCP|DCP)_?(\d+)")


def named(processes: list[Process]) -> Iterator[tuple[str, Process]]:
    """Each process that tells something, with the source it is: `launcher`, `tracker`, `rank 3`.

    A forked child shows the block its parent was started with and is left out, unless it has
    renamed itself; so is a child that has no libnccl mapped.
    """
    taken: set[str] = set()
    workers = any(_is_worker(one) for one in processes)
    for process in processes:
        source = _source(process, workers)
        if not source:
            continue
        if source in taken:
            source += f" ({process.pid})"
        taken.add(source)
        yield source, process


def _is_worker(process: Process) -> bool:
    return "::" in process.title and bool(re.search(r"scheduler|worker", process.title, re.I))


def _source(process: Process, workers: bool) -> str:
    match process.kind:
        case "launcher" | "tracker":
            return process.kind
        case "init":
            return "container's first process"
        case _ if _is_worker(process):
            places = _PLACE.findall(process.title)
            if [kind for kind, _ in places] in ([], ["TP"]):
                return f"rank {places[0][1] if places else 0}"
            return "rank " + " ".join(kind + number for kind, number in places)
        case _ if "::" in process.title:
            alone = not workers and "core" in process.title.lower()
            return "rank 0" if alone else ""
        case "spawned":
            return f"rank of process {process.pid}"
        case "child" if process.library:
            return f"rank of process {process.pid}"
        case _:
            return ""
