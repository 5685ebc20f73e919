"""Loads of a recorded night that no act waited for: what a script has to wait for itself.

Pure. An act waits for what it starts, and both arms of its slot answer at one address, so nothing
counts that happens in a slot while an act changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from console.stream.events import Event
from console.stream.fact import Standing
from console.stream.run_events import ActFinished, ActRequested
from console.stream.server_events import StandingChanged
from console.stream.state import Server

_COMING = (Standing.DOWN, Standing.STARTING)
_UP = (Standing.ALIVE, Standing.GENERATING, Standing.IDLE)


@dataclass(slots=True)
class LoadSeen:
    """What is known of one night's servers so far, fed event by event."""

    servers: Mapping[str, Server]
    _since_us: dict[str, int] = field(default_factory=dict)
    _acts: dict[str, str] = field(default_factory=dict)

    def take(self, event: Event) -> int | None:
        """Microseconds from down or starting to up, where this event is that a server is up."""
        match event:
            case ActRequested():
                self._acts[event.act] = self._slot(event.server)
            case ActFinished():
                slot = self._acts.pop(event.act, "")
                if event.outcome == "done":
                    own = [name for name in self._since_us if self._slot(name) == slot]
                    for name in own:
                        del self._since_us[name]
            case StandingChanged() if self._slot(event.server) not in self._acts.values():
                if event.standing in _COMING:
                    self._since_us.setdefault(event.server, event.t_us)
                elif event.standing in _UP and event.server in self._since_us:
                    return event.t_us - self._since_us.pop(event.server)
            case _:
                pass
        return None

    def _slot(self, server: str) -> str:
        """Its slot; a server that nobody listed has one of its own."""
        cell = self.servers.get(server)
        return str(cell.listed.slot) if cell is not None and cell.listed is not None else server
