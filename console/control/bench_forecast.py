"""How long a benchmark takes, loads included, before anything of it has begun.

Owns what is taken for each figure: a rate as last seen, a load as it last took, and what is said
where neither was ever seen. A guess is always called one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.bench.plan import Plan
from console.bench.protocol import (
    BASELINE,
    SPECULATIVE,
    Expected,
    Load,
    Side,
    minutes,
    rounds,
    seconds,
    steps,
)
from console.model.fleet import Arm, Fleet
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.loads import last_load_s
from console.stream.session_events import Noticed
from console.stream.state import State
from console.stream.timeline import Timeline

USUAL_TOK_S = 60.0


@dataclass(frozen=True, slots=True)
class Order:
    """Who is measured against whom: the servers by side, whether each has a slot of its own, the
    side that begins, and those that are up, whose first launch is the one that runs."""

    servers: dict[Side, str]
    both_up: bool
    first: Side = BASELINE
    up: frozenset[Side] = frozenset({BASELINE, SPECULATIVE})

    def letters(self, launches: int) -> str:
        """`B S S B`: whose launch comes when."""
        turns = rounds(launches, self.both_up, self.first)
        return " ".join("+".join(side[0].upper() for side, _ in arms) for arms in turns)


def seen_tok_s(state: State, server: str) -> float | None:
    """The rate a server last decoded at; None where it was not seen to."""
    cell = state.servers.get(server)
    token = cell.token if cell is not None else None
    rate = token.decode_tok_s if token is not None else None
    return rate if rate is not None and rate > 0 else None


def load_s(state: State, server: str) -> float | None:
    """How long a server's last known load took; None where none is known."""
    cell = state.servers.get(server)
    return last_load_s(cell.history) if cell is not None else None


def alone(state: State, server: str, plan: Plan) -> str:
    """Of one server that is up: `about 4 minutes, at 62.9 tok/s as it decoded last`."""
    rate = seen_tok_s(state, server)
    return f"{plan.minutes(rate or USUAL_TOK_S)}, {basis(rate)}"


def basis(rate: float | None) -> str:
    """What a time rests on: `at 62.9 tok/s as it decoded last`, or the guess."""
    if rate is None:
        return f"at {USUAL_TOK_S:g} tok/s, a guess: it was not seen decoding"
    return f"at {rate:.1f} tok/s as it decoded last"


def forecast(state: State, order: Order, plan: Plan) -> tuple[str, ...]:
    """Of two arms, in lines: how long in all, the loads in it, what was guessed.

    The first: `B S S B B S: about 1 h 20 min, 5 loads`.
    """
    protocol = plan.protocol
    whole = steps(protocol, order.both_up, order.first)
    took = {side: load_s(state, name) for side, name in order.servers.items()}
    rates = {side: seen_tok_s(state, name) for side, name in order.servers.items()}
    expected = {
        side: Expected(took[side] or 0.0, rates[side] or USUAL_TOK_S) for side in order.servers
    }
    total_s = seconds(whole, expected, plan.sampling.max_tokens, order.up)
    loads = [
        step.side
        for step in whole
        if isinstance(step, Load) and not (step.launch == 1 and step.side in order.up)
    ]
    with_loads = f", {counted(len(loads), 'load')}" if loads else ""
    head = f"{order.letters(protocol.launches)}: {minutes(total_s)}{with_loads}"
    lines = [head]
    for side in dict.fromkeys(loads):
        known = took[side]
        told = "not known yet and not in it" if known is None else f"{minutes(known)} as the last"
        lines.append(f"a load of {order.servers[side]}: {told}")
    return (*lines, *(f"{order.servers[side]} {basis(rates[side])}" for side in order.servers))


def counted(number: int, what: str) -> str:
    """A number with its noun: `1 load`, `2 loads`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def sides(fleet: Fleet, names: Sequence[str]) -> dict[Side, str]:
    """Two servers by side: the first is the baseline, unless the fleet calls it speculative."""
    first, second = names
    if fleet.server(first).arm is Arm.SPECULATIVE:
        first, second = second, first
    return {BASELINE: first, SPECULATIVE: second}


def foretell(timeline: Timeline, server: str, lines: Sequence[str], masks: Masks) -> None:
    """Say it once, to whoever listens and in the recording."""
    text = clean(f"the benchmark takes {'; '.join(lines)}", masks)
    timeline.emit(Noticed(clean(server, masks), Clean("note"), text))
