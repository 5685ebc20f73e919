"""How steady this machine is while the figures are taken."""

from __future__ import annotations

import statistics
import time


def figures() -> dict[str, float]:
    """The same piece of work 30 times: median milliseconds, and the spread in percent."""
    took = []
    for _ in range(30):
        start = time.perf_counter()
        sum(range(500_000))
        took.append((time.perf_counter() - start) * 1e3)
    median = statistics.median(took)
    return {
        "work_median_ms": round(median, 2),
        "spread_p90_over_median": round(sorted(took)[26] / median, 3),
        "worst_over_median": round(max(took) / median, 3),
    }
