"""Watch rules: what follows from several facts plus time passing.

Each rule is pure: it looks at one server's cell and the time and says which events follow. Rules
run on live feeds only; what they found is recorded like any other fact, so a replay never runs
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from console.model.failure import Failure
from console.model.text import Clean
from console.stream.events import Event
from console.stream.fact import Standing
from console.stream.server_events import HealthSeen, StandingChanged
from console.stream.state import Server, State

Rule = Callable[[str, Server, State, int], Iterable[Event]]
"""(server's name, its cell, the whole State, now in microseconds) -> the events that follow."""


def standing_rule(name: str, server: Server, state: State, now_us: int) -> Iterable[Event]:
    """How the server stands, by its latest health answer."""
    del state, now_us
    if server.health is None:
        return
    standing, why = _by_health(server.health)
    old = server.standing
    if old is None or old.standing is not standing or old.why != why:
        yield StandingChanged(Clean(name), standing, Clean(why))


def _by_health(seen: HealthSeen) -> tuple[Standing, str]:
    match seen.failure:
        case None:
            pass
        case Failure.REFUSED:
            return Standing.DOWN, "connection refused"
        case Failure.TIMEOUT:
            return Standing.DEGRADED, seen.why or "no answer in time"
        case Failure.NOT_HTTP | Failure.CLOSED | Failure.TOO_LARGE:
            return Standing.REACHABLE, seen.why or seen.failure.value
        case _:
            return Standing.UNKNOWN, seen.why or seen.failure.value
    match seen.code:
        case 200:
            return Standing.ALIVE, f"{seen.path} answers 200"
        case 503:
            return Standing.STARTING, f"{seen.path} answers 503"
        case _:
            return Standing.REACHABLE, f"{seen.path} answers {seen.code}"


RULES: tuple[Rule, ...] = (standing_rule,)
