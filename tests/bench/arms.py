"""Arms made of rates, for verdicts. Every figure here is made up or the story's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.bench.acceptance import Acceptance
from console.bench.answer import Refused
from console.bench.arm import Measured, Trial, Workload
from console.bench.metrics import Figures, Gaps
from console.bench.provenance import Circumstances, Group

BASELINE = (62.7, 63.1, 62.9, 62.6, 63.2)
SPECULATIVE = (74.1, 75.6, 75.2, 74.3, 75.8)
TAKEN: Mapping[str, Group] = {
    "args": Group({"tp_size": "8"}),
    "env": Group({}),
    "gpu": Group({"uuids": "GPU-0 GPU-1"}),
}
NOW = Circumstances(TAKEN)
ONE_STREAM = Workload()


def figures(
    rate: float,
    ttft_ms: float = 310.0,
    void: tuple[str, ...] = (),
    prompt_tokens: int | None = 512,
    acceptance: Acceptance | None = None,
    limited: bool = False,
) -> Figures:
    gap_ms = 1e3 / rate
    return Figures(
        tokens=500,
        proofs=("running count",),
        prompt_tokens=prompt_tokens,
        cached_tokens=0,
        first_tokens=1,
        first_assumed=False,
        ttft_ms=ttft_ms,
        decode_tok_s=rate,
        tpot_ms=gap_ms,
        e2e_tok_s=500 / (ttft_ms / 1e3 + 499 / rate),
        gaps=Gaps(gap_ms, gap_ms, gap_ms, gap_ms),
        itl_median_ms=gap_ms,
        cycle_ms=None,
        acceptance=acceptance,
        fifths=(),
        client_limited=limited,
        void=void,
        notes=(),
    )


def trials(
    rates: Sequence[float], prompt: str = "p", launch: int = 1, start_us: int = 0, text: str = "t"
) -> tuple[Trial, ...]:
    return tuple(
        Trial(figures(rate), prompt, launch, start_us + 10 * i, text)
        for i, rate in enumerate(rates)
    )


def refused(why: str) -> Trial:
    return Trial(Refused(why), "p")


def arm(
    name: str,
    runs: Sequence[float] | tuple[Trial, ...],
    circumstances: Circumstances = NOW,
    workload: Workload = ONE_STREAM,
) -> Measured:
    """An arm of rates, or of trials made elsewhere."""
    made = tuple(run for run in runs if isinstance(run, Trial)) or trials(
        [run for run in runs if isinstance(run, float)]
    )
    return Measured(name, made, circumstances, workload)
