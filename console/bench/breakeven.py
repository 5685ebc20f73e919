"""When speculation pays, and what would happen if something changed.

A calculator on measured rates: every answer but `Cycle` is a `Projection` and says so. It must
never invent a verify time: without one from the server the ceiling is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

LABEL = "projection, not a measurement"
MOST_TOK_S = 1e6


@dataclass(frozen=True, slots=True)
class Cycle:
    """One verify cycle of a measured speculative arm.

    `length`: tokens per cycle (L); `cycle_ms`: C; `base_tok_s`: the measured baseline's decode
    rate. `verify_ms`: only where the server told it.
    """

    length: float
    cycle_ms: float
    base_tok_s: float
    verify_ms: float | None = None

    @classmethod
    def from_rates(
        cls, spec_tok_s: float, length: float, base_tok_s: float, verify_ms: float | None = None
    ) -> Cycle:
        """C = L / r_s, in ms."""
        return cls(length, 1e3 * length / spec_tok_s, base_tok_s, verify_ms)

    @property
    def tok_s(self) -> float:
        """r_s = L / C."""
        return self.length / (self.cycle_ms / 1e3)

    @property
    def speedup(self) -> float:
        """S = r_s / r_b = L / L*."""
        return self.tok_s / self.base_tok_s

    @property
    def break_even(self) -> float:
        """L* = C · r_b: tokens per cycle at which speculation neither wins nor loses."""
        return self.cycle_ms / 1e3 * self.base_tok_s

    @property
    def rest_ms(self) -> float | None:
        """Draft and overhead: C - verify, unknown without the verify time."""
        return None if self.verify_ms is None else self.cycle_ms - self.verify_ms

    @property
    def verify_steps(self) -> float | None:
        """Verify in baseline steps. Memory-bound decode should need little over 1; much more points
        to communication, a missing CUDA graph or a wide tree."""
        return None if self.verify_ms is None else self.verify_ms / 1e3 * self.base_tok_s

    @property
    def ceiling(self) -> Projection | None:
        """Speed-up with a draft that costs nothing: L · T_b / verify."""
        if self.verify_ms is None:
            return None
        rate = self.length / (self.verify_ms / 1e3)
        return Projection("a draft that costs nothing", rate, rate / self.base_tok_s)


@dataclass(frozen=True, slots=True)
class Projection:
    """A rate that nobody measured, its ratio to the baseline it assumes, and what it assumes."""

    what: str
    tok_s: float
    speedup: float

    def text(self) -> str:
        """What, rate, speed-up and the label that must stand with them."""
        change = 100 * (self.speedup - 1)
        return f"{self.what}: {self.tok_s:.1f} tok/s, {change:+.1f} % ({LABEL})"


def with_baseline(cycle: Cycle, base_tok_s: float) -> Projection:
    """The same speculation against another baseline: S = r_s / x."""
    return Projection(
        f"if the baseline were {base_tok_s:g} tok/s", cycle.tok_s, cycle.tok_s / base_tok_s
    )


def with_verify_saving(cycle: Cycle, saving_ms: float) -> Projection:
    """Verify shorter by `saving_ms`, baseline as it is: r = L / (C - x)."""
    rate = cycle.length / ((cycle.cycle_ms - saving_ms) / 1e3)
    return Projection(f"verify {saving_ms:g} ms shorter", rate, rate / cycle.base_tok_s)


def with_length(cycle: Cycle, length: float) -> Projection:
    """Another acceptance length at the same cycle: r = L / C."""
    rate = length / (cycle.cycle_ms / 1e3)
    return Projection(f"{length:g} tokens per cycle", rate, rate / cycle.base_tok_s)


def with_restored(cycle: Cycle, restored_tok_s: float, verify_factor: float = 1.0) -> Projection:
    """An environment in which the baseline runs at `restored_tok_s` again: both arms change.

    Each target forward then saves T_b - 1/restored; a verify, whose messages are bigger, saves
    `verify_factor` times that. The sign is open until both arms are measured anew.
    """
    saving_ms = 1e3 / cycle.base_tok_s - 1e3 / restored_tok_s
    rate = cycle.length / ((cycle.cycle_ms - verify_factor * saving_ms) / 1e3)
    what = f"if both arms ran where the baseline makes {restored_tok_s:g} tok/s"
    return Projection(what, rate, rate / restored_tok_s)


def with_believed(cycle: Cycle, believed: Sequence[float]) -> tuple[Projection, ...]:
    """Of each rate (tok/s) that somebody believes: were it the baseline, and were it the baseline
    again in an environment that changes both arms. What is no rate here is left out."""
    found: list[Projection] = []
    for tok_s in believed:
        if 0 < tok_s < MOST_TOK_S:
            found.append(with_baseline(cycle, tok_s))
            if 1e3 / cycle.base_tok_s - 1e3 / tok_s < cycle.cycle_ms:
                found.append(with_restored(cycle, tok_s))
    return tuple(found)


def best_drafts(
    cycle: Cycle, per_position: Sequence[float], now: int, step_ms: float
) -> tuple[int, tuple[Projection, ...]]:
    """Number of drafts with the highest projected rate, and the projection for each 1..known.

    `now`: drafts of the measured cycle; `step_ms`: what one more draft adds to draft and verify
    together. One more pays exactly while P_(k+1) · C / L > step_ms.
    """
    lengths = list(accumulate(per_position, initial=1.0))[1:]
    found = []
    for drafts, length in enumerate(lengths, 1):
        rate = length / ((cycle.cycle_ms + (drafts - now) * step_ms) / 1e3)
        found.append(Projection(f"{drafts} drafts", rate, rate / cycle.base_tok_s))
    best = max(range(len(found)), key=lambda i: found[i].tok_s) + 1
    return best, tuple(found)
