"""Which arm a name means: a benchmark, the newest one of a server, an assumption.

Owns the words people use for arms and the history said before any comparison. Reads State only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from console.bench.arm import Arm as BenchArm
from console.bench.arm import Assumed
from console.bench.protocol import Level
from console.model.fleet import Arm
from console.store.toml import nearest, one_of
from console.stream.measured import began_us, measured_arm
from console.stream.run_events import BenchStarted
from console.stream.state import Bench, State


class NoArm(Exception):
    """A name that means no arm; the text says why and what is known."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An arm to compare.

    `name`: as the session names it; `said`: what must be said before any comparison, of it alone.
    """

    name: str
    arm: BenchArm
    said: tuple[str, ...] = ()


def choose(state: State, name: str, side: Arm) -> Chosen:
    """The arm a name means; with none, the newest benchmark of that side.

    Raises:
        NoArm: nothing of that name, or no benchmark.
    """
    if not name:
        newest = _newest(state, lambda bench: bench.arm is side)
        if newest is None:
            raise NoArm(f"no benchmark of a {side.value} arm in this session")
        return _measured(state, newest)
    if name in state.benches:
        return _measured(state, name)
    if name in state.assumptions:
        stated = state.assumptions[name]
        return Chosen(name, Assumed(name, stated.decode_tok_s, stated.source))
    measured = {b.started.server: None for b in state.benches.values() if b.started is not None}
    if name in measured or name in state.servers:
        newest = _newest(state, lambda bench: bench.server == name)
        if newest is None:
            raise NoArm(f"no benchmark of {name} in this session")
        return _measured(state, newest)
    known = [*state.benches, *state.assumptions, *state.servers, *measured]
    raise NoArm(f'no benchmark, server or assumption "{name}"{_hint(name, known)}')


def _hint(name: str, known: Iterable[str]) -> str:
    words = list(known)
    return nearest(name, words) or f" (known: {one_of(words) or 'none'})"


def _newest(state: State, fits: Callable[[BenchStarted], bool]) -> str | None:
    """The benchmark that began last; one that is not valid only where no other is there."""
    found = [
        (bench.finished is not None and bench.finished.valid, bench.started.seq, name)
        for name, bench in state.benches.items()
        if bench.started is not None and fits(bench.started)
    ]
    return max(found)[2] if found else None


def _measured(state: State, name: str) -> Chosen:
    bench = state.benches[name]
    began = began_us(state)
    launches = [(other, began) for other in _launches(state, bench)]
    label = bench.started.server if bench.started is not None else name
    finished = bench.finished
    said = (finished.why,) if finished is not None and finished.valid and finished.why else ()
    return Chosen(name, measured_arm(label, launches), said)


def _launches(state: State, bench: Bench) -> list[Bench]:
    """The benchmark itself; of a confirmed one every launch's that was asked for the same."""
    started = bench.started
    if started is None or started.protocol != Level.CONFIRMED.value:
        return [bench]
    request = bench.circumstances.get("request")
    digest = request.digest if request is not None else None
    found = []
    for other in state.benches.values():
        if other.started is None or other.finished is None or not other.finished.valid:
            continue
        asked = other.circumstances.get("request")
        same = (other.started.server, other.started.protocol, asked and asked.digest)
        if same == (started.server, started.protocol, digest):
            found.append(other)
    return found or [bench]
