"""How long the steps of a sweep take, from what earlier sessions and this one measured.

Pure. Says what it could not estimate; a guess is never shown as knowledge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from console.bench.protocol import minutes
from console.control.arguments import Round, Step
from console.control.bench_request import BadRequest, read_plan
from console.model.fleet import Arm
from console.model.text import Clean
from console.stream.loads import earlier_loads
from console.stream.state import Server, State

USUAL_TOK_S = 60.0
LOADS = ("launch", "restart", "swap")


@dataclass(slots=True)
class Estimate:
    """Seconds in all, and what is in them.

    Attributes:
        unknown: what no time is known of.
        guessed: a rate that nobody measured is in it.
    """

    total_s: float = 0.0
    loads: int = 0
    benches: int = 0
    guessed: bool = False
    unknown: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{self.loads} loads", f"{self.benches} benchmarks"]
        told = f"{minutes(self.total_s)} for {' and '.join(parts)}"
        told += f", at {USUAL_TOK_S:g} tok/s, which nobody measured" if self.guessed else ""
        return told + (f"; not known: {', '.join(self.unknown)}" if self.unknown else "")


def estimate(rounds: Sequence[Round], state: State, again: Iterable[str] = ()) -> Estimate:
    """How long these rounds take, and after them a load of each server in `again`."""
    found = Estimate()
    for step in (step for one in rounds for step in one.steps):
        for server in step.servers:
            if step.verb in LOADS:
                _load(found, state, server)
            elif step.verb == "bench":
                _bench(found, state, server, step)
    for server in again:
        _load(found, state, server)
    return found


def _load(found: Estimate, state: State, server: str) -> None:
    found.loads += 1
    known = earlier_loads(state.servers.get(server, Server()).history)
    if known:
        found.total_s += sum(took_s for _, took_s in known[0].stages)
    elif f"how long {server} loads" not in found.unknown:
        found.unknown.append(f"how long {server} loads")


def _bench(found: Estimate, state: State, server: str, step: Step) -> None:
    found.benches += 1
    try:
        plan = read_plan(step.arguments, Arm.BASELINE)
    except BadRequest:
        return
    rate = _rate(state, server)
    found.guessed = found.guessed or rate is None
    found.total_s += plan.seconds(rate or USUAL_TOK_S)


def _rate(state: State, server: str) -> float | None:
    """The newest decode rate measured of a server in this session."""
    for bench in reversed(tuple(state.benches.values())):
        if bench.started is not None and bench.started.server == server and bench.finished:
            rate = dict(bench.finished.figures).get(Clean("decode_tok_s"), 0.0)
            if rate > 0:
                return rate
    return None
