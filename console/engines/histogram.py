"""A Prometheus histogram: sum, count, and quantiles estimated from its buckets.

Owns the arithmetic. An estimate is as coarse as the buckets; it says so by its bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Histogram:
    """Seconds. `buckets` are (upper bound, cumulative count), ascending, the last +Inf."""

    total_s: float
    count: float
    buckets: tuple[tuple[float, float], ...] = ()

    @property
    def mean_s(self) -> float | None:
        """Sum over count; None while nothing was observed."""
        return self.total_s / self.count if self.count > 0 else None

    def quantile_s(self, q: float) -> float | None:
        """Linear inside the bucket that holds the q-th observation, as Prometheus does it;
        None without observations, or where it lies above the last finite bound.
        """
        if not self.buckets or not 0 < q <= 1:
            return None
        wanted = q * self.buckets[-1][1]
        if wanted <= 0:
            return None
        low, before = 0.0, 0.0
        for bound, upto in self.buckets:
            if upto >= wanted:
                if math.isinf(bound):
                    return None
                inside = upto - before
                return low + (bound - low) * ((wanted - before) / inside if inside > 0 else 1.0)
            low, before = bound, upto
        return None

    def since(self, earlier: Histogram | None) -> Histogram:
        """What was observed after `earlier`; all of it where a counter went down (a restart)."""
        if earlier is None or earlier.count > self.count:
            return self
        if [b for b, _ in earlier.buckets] != [b for b, _ in self.buckets]:
            return self
        buckets = tuple(
            (bound, max(0.0, n - old))
            for (bound, n), (_, old) in zip(self.buckets, earlier.buckets, strict=True)
        )
        return Histogram(self.total_s - earlier.total_s, self.count - earlier.count, buckets)
