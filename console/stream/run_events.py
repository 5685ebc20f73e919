"""What was measured and what was done: benchmarks, verdicts, acts. Records only.

A benchmark measures one server; each of its runs is one request.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.model.fleet import Arm
from console.model.text import Clean
from console.stream.fact import NOTHING, Fact, Figures, Pairs


@dataclass(frozen=True, slots=True)
class BenchStarted(Fact):
    """A benchmark of one server began."""

    bench: Clean
    server: Clean
    arm: Arm
    launch: int
    protocol: Clean
    workload: Pairs
    worker: Clean


@dataclass(frozen=True, slots=True)
class RunMeasured(Fact):
    """One request was measured, or refused with the reason.

    Attributes:
        decode_tok_s: (tokens - tokens of the first chunk) / (last chunk - first chunk).
        figures: further figures under their names (`accept_len`, `gap_p50_us`, …), as
            `stream.measured` writes and reads them.
        void: why the run must not count, or why there is no figure.
        prompt: name of the prompt.
        turn: which request of this prompt it is, from 1; each begins with words of its own, the
            same in both arms. 0 for warm-ups, and where all began alike.
        fingerprint: of the answer's text, which itself is kept nowhere.
        notes: what a person should know beside the figures.
    """

    bench: Clean
    run: int
    tokens: int | None = None
    ttft_us: int | None = None
    decode_tok_s: float | None = None
    figures: Figures = ()
    warm_up: bool = False
    void: Clean = NOTHING
    prompt: Clean = NOTHING
    fingerprint: Clean = NOTHING
    notes: tuple[Clean, ...] = ()
    turn: int = 0


@dataclass(frozen=True, slots=True)
class CircumstancesTaken(Fact):
    """The circumstances of a benchmark, one group of them."""

    bench: Clean
    group: Clean
    digest: Clean
    values: Pairs


@dataclass(frozen=True, slots=True)
class BenchFinished(Fact):
    """A benchmark ended; `valid` only when all its rules held."""

    bench: Clean
    valid: bool
    why: Clean
    figures: Figures


@dataclass(frozen=True, slots=True)
class VerdictReached(Fact):
    """Two benchmarks were compared."""

    baseline: Clean
    speculative: Clean
    verdict: Clean
    text: Clean
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    reasons: tuple[Clean, ...] = ()


@dataclass(frozen=True, slots=True)
class AssumptionStated(Fact):
    """A figure somebody believes; drawn dotted, never a baseline."""

    name: Clean
    decode_tok_s: float
    source: Clean


@dataclass(frozen=True, slots=True)
class ActRequested(Fact):
    """A person or a script asked for a change on a host, and how it was confirmed.

    Attributes:
        arguments: what was given beside verb and server, by field.
        expected_us: how long the load is expected to take; None where nothing tells.
        undo: how what is changed can be brought back; empty where nothing changes.
    """

    act: Clean
    verb: Clean
    server: Clean
    who: Clean
    confirmed: Clean
    arguments: Pairs = ()
    host: Clean = NOTHING
    slot: Clean = NOTHING
    expected_us: int | None = None
    undo: Clean = NOTHING


@dataclass(frozen=True, slots=True)
class ActRefused(Fact):
    """A guard refused a change."""

    act: Clean
    verb: Clean
    server: Clean
    why: Clean


@dataclass(frozen=True, slots=True)
class ActAdvanced(Fact):
    """A change moved to its next phase."""

    act: Clean
    phase: Clean
    text: Clean


@dataclass(frozen=True, slots=True)
class ActFinished(Fact):
    """A change ended: `done`, `failed`, `rolled back`, `up, but not as asked`, `wedged GPU`,
    `interrupted`."""

    act: Clean
    outcome: Clean
    text: Clean
