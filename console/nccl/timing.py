"""All-reduces as they were timed under several sets of variables, and which set is fastest.

Pure. Speaks of microseconds of one all-reduce and never of a server's speed; what was measured
without a GPU says so in every line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

NO_GPU = "gloo on CPUs, no GPU, not NCCL: "
"""What stands before every line of a timing that no GPU made."""


@dataclass(frozen=True, slots=True)
class Size:
    """One size: `tokens` of a decode step, `bytes` of the message, microseconds of one
    all-reduce (median, 10th and 90th percentile of batches), and how many calls were made."""

    tokens: int
    bytes: int
    median_us: float
    p10_us: float
    p90_us: float
    calls: int


@dataclass(frozen=True, slots=True)
class Timing:
    """One set of variables; `why` says why it was not timed to its end, sizes are what there is."""

    profile: str
    gpu: bool
    ranks: int
    torch: str = ""
    nccl: str = ""
    sizes: tuple[Size, ...] = ()
    why: str = ""

    @property
    def mean_us(self) -> float:
        """Geometric mean of the medians over all sizes."""
        return math.exp(sum(math.log(one.median_us) for one in self.sizes) / len(self.sizes))

    @property
    def spread(self) -> float:
        """Half the width between the percentiles over the median, the widest of all sizes."""
        return max((one.p90_us - one.p10_us) / 2 / one.median_us for one in self.sizes)


def ranked(timings: Sequence[Timing]) -> list[Timing]:
    """Those timed to their end, the fastest first."""
    return sorted((one for one in timings if not one.why), key=lambda one: one.mean_us)


def lines(timings: Sequence[Timing]) -> list[str]:
    """What a person reads: each size of each set, then the order; with the formula beside it."""
    told = []
    for one in timings:
        mark = "" if one.gpu else NO_GPU
        of = f"torch {one.torch}" + (f", NCCL {one.nccl}" if one.nccl else "")
        how = f"{one.ranks} ranks, {of}" if one.torch else f"{one.ranks} ranks"
        told.append(f"{mark}{one.profile}: {how}" + (f": {one.why}" if one.why else ""))
        for size in one.sizes:
            named = f"{size.tokens} token{'s' if size.tokens > 1 else ''} ({size.bytes:,} B)"
            between = f"10–90 %: {size.p10_us:.1f}–{size.p90_us:.1f}"
            told.append(f"{mark}  {named:<22} {size.median_us:>9.1f} us  {between}")
    return [*told, *_order(timings)]


def _order(timings: Sequence[Timing]) -> list[str]:
    order = ranked(timings)
    if not order:
        return []
    mark = "" if order[0].gpu else NO_GPU
    told = [f"{mark}fastest first, by the geometric mean of the medians:"]
    first = order[0]
    for number, one in enumerate(order, 1):
        beside = ""
        if number > 1:
            slower = one.mean_us / first.mean_us - 1
            within = slower <= max(one.spread, first.spread)
            beside = f"  +{slower:.1%}" + (", within its spread" if within else "")
        told.append(f"{mark}  {number}. {one.profile:<20} {one.mean_us:>9.1f} us{beside}")
    return told
