"""Watch rules: what follows from several facts plus time passing.

Each rule is pure: it looks at one server's cell and the time and says which events follow. Rules
run on live feeds only; what they found is recorded like any other fact, so a replay never runs
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from console.model.clock import Pace
from console.model.text import Clean
from console.stream.drifting import drift_rule
from console.stream.events import Event
from console.stream.server_events import StandingChanged
from console.stream.standing import Limits, stands
from console.stream.state import Server, State

Rule = Callable[[str, Server, State, int], Iterable[Event]]
"""(server's name, its cell, the whole State, now in microseconds) -> the events that follow."""


def standing_rule(limits: Limits) -> Rule:
    """How a server stands, said again when the standing or its reason changes."""

    def rule(name: str, server: Server, state: State, now_us: int) -> Iterable[Event]:
        found = stands(name, server, state, now_us, limits)
        if found is None:
            return
        old = server.standing
        if old is None or (old.standing, old.why) != found:
            yield StandingChanged(Clean(name), found.standing, Clean(found.why))

    return rule


def rules(pace: Pace) -> tuple[Rule, ...]:
    """Every rule, with the times of a pace."""
    return (standing_rule(Limits.of(pace)), drift_rule())


RULES = rules(Pace())
