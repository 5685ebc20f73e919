"""The keeper: what a live session learns for later ones, written to the state folder.

Knows which loads were seen from their first phase to ready; a load that was joined midway or
failed teaches nothing. Emits what earlier sessions left, so that no rule ever reads a file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

from console.model.clock import US_PER_S, Clock
from console.model.fleet import Fleet
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.store.history import MOST_LOADS, PastLoad, append_load, read_loads
from console.stream.events import Event
from console.stream.loads import kinds, load_known
from console.stream.server_events import LoadAdvanced, LoadEnded
from console.stream.session_events import HistoryKnown, Noticed
from console.stream.state import Item, State

_FIRST = ("arguments", "weights")
_SEEN = 0.8
"""The least share of a load's own time that the phases seen must cover."""


class Keeper:
    """A subscriber that keeps load times.

    Args:
        path: the file; `scale` makes real seconds of the console's.
        emit: takes what was learned just now.
    """

    def __init__(
        self,
        path: Path,
        fleet: Fleet,
        emit: Callable[[Event], object],
        clock: Clock,
        masks: Masks,
        scale: float = 1.0,
    ) -> None:
        self._path = path
        self._hosts = {server.name: fleet.host_of(server).name for server in fleet.servers}
        self._emit = emit
        self._clock = clock
        self._masks = masks
        self._scale = scale
        self._phases: dict[str, list[tuple[str, int]]] = {}
        self._number = 0

    def known(self) -> Iterator[HistoryKnown | Noticed]:
        """What earlier sessions left about the fleet's servers."""
        try:
            past = read_loads(self._path)
        except OSError as error:
            yield self._trouble(f"earlier load times cannot be read: {error.strerror or error}")
            return
        if past.lost:
            yield self._trouble(f"{past.lost} entries of {self._path.name} cannot be read")
        for server, host in self._hosts.items():
            loads = past.of(host, server)
            for load, kind in zip(loads, kinds(one.stages for one in loads), strict=True):
                yield self._known(load, kind)

    def take(self, item: Item, _state: State) -> None:
        """Follow the phases of loads; returns at once, writing comes after."""
        match item:
            case LoadAdvanced():
                phases = self._phases.setdefault(item.server, [])
                if not phases or phases[-1][0] != item.phase:
                    if any(name == item.phase for name, _ in phases):
                        phases.clear()  # the phases begin anew: another start
                    phases.append((item.phase, item.t_us))
            case LoadEnded():
                phases = self._phases.pop(item.server, [])
                if item.ready and phases and item.server in self._hosts:
                    load = self._load(item, phases)
                    if load is not None:
                        asyncio.get_running_loop().call_soon(self._keep, load)
            case _:
                pass

    def _load(self, end: LoadEnded, phases: list[tuple[str, int]]) -> PastLoad | None:
        """The load, if it was seen whole."""
        ends = [t_us for _, t_us in phases[1:]] + [end.t_us]
        spent = [b - a for (_, a), b in zip(phases, ends, strict=True)]
        if phases[0][0] not in _FIRST or sum(spent) < _SEEN * end.took_us:
            return None
        stages = tuple(
            (name, us / US_PER_S * self._scale) for (name, _), us in zip(phases, spent, strict=True)
        )
        return PastLoad(self._hosts[end.server], end.server, self._clock.utc(), stages)

    def _keep(self, load: PastLoad) -> None:
        try:
            append_load(self._path, load)
            past = read_loads(self._path).of(load.host, load.server)
        except OSError as error:
            self._emit(self._trouble(f"load times cannot be kept: {error.strerror or error}"))
            return
        kind = kinds(one.stages for one in past)[-1] if past else "warm"
        self._emit(self._known(load, kind))

    def _known(self, load: PastLoad, kind: str) -> HistoryKnown:
        self._number = self._number % (4 * MOST_LOADS) + 1
        stages = [(clean(name, self._masks), seconds) for name, seconds in load.stages]
        return load_known(clean(load.server, self._masks), f"load {self._number}", kind, stages)

    def _trouble(self, text: str) -> Noticed:
        return Noticed(Clean("history"), Clean("warning"), clean(text, self._masks))
