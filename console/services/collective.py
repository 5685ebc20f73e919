"""What a server's log tells of its communication: NCCL's version, what it read, which way an
all-reduce goes.

Owns what is remembered from line to line, for each process that wrote; a launch of yesterday in the
same file is told apart by its process ids. Reads no file.
"""

from __future__ import annotations

import re

from console.model.fleet import Server
from console.model.mask import Masks
from console.model.text import Clean, clean, plain
from console.nccl.allreduce import Path, allreduce_path
from console.nccl.importing.found import State
from console.nccl.importing.read import import_source
from console.services.disagreeing import Disagreeing
from console.services.tail import LogSeen
from console.stream.events import Event
from console.stream.fact import Completeness, GapKind
from console.stream.server_events import CollectiveSeen, EnvRead, LogAdvanced, LogGap

SOURCE = Clean("nccl log")
_TELLING = re.compile(r"NCCL|nccl==|reduce|Reduce|graph addresses|ymm")
_MOST_PROCESSES = 64


class Collective:
    """One server's log, line by line; feed it what the tail says, in order."""

    def __init__(self, server: Server, masks: Masks) -> None:
        self._name = clean(server.name, masks)
        self._masks = masks
        self._by_process: dict[str, dict[str, str]] = {}
        self._seen = CollectiveSeen(self._name)
        self._disagreeing = Disagreeing(self._name, masks)

    def take(self, event: LogSeen) -> list[Event]:
        """What follows from one event of the tail."""
        if isinstance(event, LogGap) and event.gap is GapKind.TRUNCATED:
            self._by_process.clear()
            self._disagreeing.forget()
            self._seen = CollectiveSeen(self._name)
            return []
        if not isinstance(event, LogAdvanced):
            return []
        rows = [
            (event.first + at, plain(line))
            for at, line in enumerate(event.lines)
            if _TELLING.search(line)
        ]
        if not rows:
            return []
        split = self._disagreeing.take(row for _, row in rows)
        return [*self._settings(rows), *self._told(rows), *split]

    def _settings(self, rows: list[tuple[int, str]]) -> list[Event]:
        """NCCL's own words about what the environment set, of the process that spoke last."""
        found = import_source("\n".join(row for _, row in rows), "nccl.log", "log").found
        changed = ""
        for one in found:
            if one.state is not State.SET or not one.scope:
                continue
            held = self._by_process.setdefault(one.scope, {})
            if held.get(one.name) != one.value:
                held[one.name] = one.value
                changed = one.scope
        while len(self._by_process) > _MOST_PROCESSES:
            del self._by_process[next(iter(self._by_process))]
        if changed not in self._by_process:
            return []
        values = tuple(
            (clean(name, self._masks), clean(value, self._masks))
            for name, value in sorted(self._by_process[changed].items())
        )
        pid = int(changed.rpartition(":")[2])
        return [EnvRead(self._name, SOURCE, Completeness.PARTLY, values, pid)]

    def _told(self, rows: list[tuple[int, str]]) -> list[Event]:
        version = import_source("\n".join(row for _, row in rows), "nccl.log", "log").version
        way = allreduce_path(row for _, row in rows)
        old = self._seen
        number = str(version) if version is not None else old.version
        path, proof, line = old.path, old.proof, old.line
        if way.path is not Path.UNKNOWN:
            path, proof = Clean(way.path.value), clean(way.proof[:300], self._masks)
            line = rows[way.line - 1][0]
        if (number, path) == (old.version, old.path):
            return []
        self._seen = CollectiveSeen(self._name, clean(number, self._masks), path, proof, line)
        return [self._seen]
