"""How long the steps of a sweep take, from what earlier sessions and this one measured.

Pure. Says what it could not estimate; a guess is never shown as knowledge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from console.bench.protocol import minutes
from console.control.arguments import Round, Step
from console.control.bench_forecast import USUAL_TOK_S, counted, load_s, seen_tok_s
from console.control.bench_request import BadRequest, read_plan
from console.control.resuming import Resumed
from console.model.clock import US_PER_S
from console.model.fleet import Arm
from console.model.text import Clean
from console.stream.state import State

LOADS = ("launch", "restart", "swap")


@dataclass(slots=True)
class Estimate:
    """Seconds in all, and what is in them.

    Attributes:
        state: what is known now; `resumed`: what the interrupted night had measured.
        unknown: what no time is known of.
        guessed: a rate that nobody measured is in it.
    """

    state: State
    resumed: Resumed
    total_s: float = 0.0
    loads: int = 0
    benches: int = 0
    guessed: bool = False
    unknown: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [counted(self.loads, "load"), counted(self.benches, "benchmark")]
        told = f"{minutes(self.total_s)} for {' and '.join(parts)}"
        told += f", at {USUAL_TOK_S:g} tok/s, which nobody measured" if self.guessed else ""
        return told + (f"; not known: {', '.join(self.unknown)}" if self.unknown else "")

    def add_load(self, server: str) -> None:
        """One more load of it."""
        self.loads += 1
        known_s = load_s(self.state, server)
        if known_s is None:
            ready_us = self.resumed.figure(server, "ready_us")
            known_s = None if ready_us is None else ready_us / US_PER_S
        if known_s is not None:
            self.total_s += known_s
        elif f"how long {server} loads" not in self.unknown:
            self.unknown.append(f"how long {server} loads")

    def add_bench(self, server: str, step: Step) -> None:
        """One more benchmark of it."""
        self.benches += 1
        try:
            plan = read_plan(step.arguments, Arm.BASELINE)
        except BadRequest:
            return
        rate = self._rate(server)
        self.guessed = self.guessed or rate is None
        self.total_s += plan.seconds(rate or USUAL_TOK_S)

    def _rate(self, server: str) -> float | None:
        """The newest decode rate of a server: measured in this session, seen, measured before."""
        for bench in reversed(tuple(self.state.benches.values())):
            if bench.started is not None and bench.started.server == server and bench.finished:
                rate = dict(bench.finished.figures).get(Clean("decode_tok_s"), 0.0)
                if rate > 0:
                    return rate
        return seen_tok_s(self.state, server) or self.resumed.figure(server, "decode_tok_s")


def estimate(
    rounds: Sequence[Round], state: State, again: Iterable[str], resumed: Resumed
) -> Estimate:
    """How long these rounds take, and after them a load of each server in `again`."""
    found = Estimate(state, resumed)
    for step in (step for one in rounds for step in one.steps):
        for server in step.servers:
            if step.verb in LOADS:
                found.add_load(server)
            elif step.verb == "bench":
                found.add_bench(server, step)
    for server in again:
        found.add_load(server)
    return found
