"""Which arm a name means: a benchmark, the newest one of a server, an assumption.

Owns the words people use for arms, which launches are of one arm, and what is said before any
comparison. Reads State only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from console.bench.arm import Arm as BenchArm
from console.bench.arm import Assumed
from console.bench.protocol import Level
from console.bench.provenance import Severity, differences, show
from console.model.fleet import Arm
from console.store.toml import nearest, one_of
from console.stream.measured import began_us, circumstances_of, measured_arm
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
    kept, left_out = _launches(state, bench)
    label = bench.started.server if bench.started is not None else name
    finished = bench.finished
    said = (finished.why,) if finished is not None and finished.valid and finished.why else ()
    return Chosen(name, measured_arm(label, [(one, began) for one in kept]), (*said, *left_out))


def _launches(state: State, bench: Bench) -> tuple[list[Bench], tuple[str, ...]]:
    """The benchmark itself; where several launches make the arm, those of the server that were
    asked for the same under the same circumstances, and what is to be said of the others."""
    started = bench.started
    if started is None or not _of_launches(started):
        return [bench], ()
    found, left_out = list[Bench](), list[str]()
    for other in state.benches.values():
        if other is bench or (_same_asked(bench, other) and _valid(other)):
            apart = _apart(other, bench)
            if apart is None:
                found.append(other)
            elif other.started is not None:
                left_out.append(f"launch {other.started.bench} is left out: {apart}")
    return found, tuple(left_out)


def _of_launches(started: BenchStarted) -> bool:
    told: dict[str, str] = dict(started.workload)
    return started.protocol == Level.CONFIRMED.value or told.get("launches", "1") != "1"


def _valid(bench: Bench) -> bool:
    return bench.finished is not None and bench.finished.valid


def _same_asked(one: Bench, other: Bench) -> bool:
    return _asked(one) == _asked(other)


def _asked(bench: Bench) -> tuple[str, str, str] | None:
    started, request = bench.started, bench.circumstances.get("request")
    if started is None:
        return None
    return (started.server, started.protocol, request.digest if request is not None else "")


def _apart(other: Bench, bench: Bench) -> str | None:
    """Why another launch is not of this arm; None where nothing invalidating differs."""
    if other is bench:
        return None
    found = differences(circumstances_of(other), circumstances_of(bench))
    return next(
        (
            f"{one.key} was {show(one.baseline)}, is {show(one.speculative)}"
            for one in found
            if one.severity is Severity.INVALIDATES
        ),
        None,
    )
