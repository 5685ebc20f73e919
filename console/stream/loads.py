"""What earlier loads took, between events and the estimate that uses them.

Owns the form of a load in `HistoryKnown`: seconds per phase in order, and which kind of load it
was. Never reads or writes a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from console.engines.eta import Basis, Earlier
from console.model.text import Clean
from console.stream.session_events import HistoryKnown

_BASES: dict[str, Basis] = {
    "warm": "warm history",
    "cold": "cold history",
    "startup times": "startup times",
}
COLD = 2.0
"""A load whose weights took this many times the quickest known one read them from cold storage."""

Stages = Sequence[tuple[str, float]]
"""Phase names and the seconds of the server's own time they took, in order."""


def load_known(server: Clean, topic: str, kind: str, stages: Stages) -> HistoryKnown:
    """An earlier load as an event; `kind` is `warm`, `cold` or `startup times`."""
    figures = tuple((Clean(name), seconds) for name, seconds in stages)
    return HistoryKnown(server, Clean(topic), figures, ((Clean("load"), Clean(kind)),))


def earlier_loads(history: Mapping[str, HistoryKnown], scale: float = 1.0) -> tuple[Earlier, ...]:
    """What is known of a server's loads, newest first, the engine's own times last.

    In the time of the clock: `scale` is how many times faster than a real server the lab loads,
    which what the history keeps leaves out.
    """
    found = []
    for known in reversed(tuple(history.values())):
        basis = _BASES.get(dict(known.values).get(Clean("load"), Clean("")))
        if basis is not None:
            faster = 1.0 if basis == "startup times" else scale
            stages = tuple((str(name), seconds / faster) for name, seconds in known.figures)
            found.append(Earlier(basis, stages))
    return tuple(sorted(found, key=lambda one: one.basis == "startup times"))


def last_load_s(history: Mapping[str, HistoryKnown], scale: float = 1.0) -> float | None:
    """Seconds of the clock that the newest known load took; None where none is known."""
    known = earlier_loads(history, scale)
    return sum(took_s for _, took_s in known[0].stages) or None if known else None


def kinds(loads: Iterable[Stages]) -> list[str]:
    """`warm` or `cold` of each load of one server, by how long its weights took."""
    weights = [dict(stages).get("weights", 0.0) for stages in loads]
    quickest = min((seconds for seconds in weights if seconds > 0), default=0.0)
    return ["cold" if 0 < COLD * quickest <= seconds else "warm" for seconds in weights]
