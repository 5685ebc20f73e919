"""What two readings of counters say: live rate, acceptance, cache hits, and resets.

Owns the formulas and which counter is best per engine. A counter that went down was reset: the
server restarted, and the pair says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.engines.histogram import Histogram
from console.engines.metrics import Worker


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens a second with the formula it comes from, to be shown beside it."""

    tok_s: float
    formula: str


@dataclass(frozen=True, slots=True)
class Acceptance:
    """`accept_len` counts the bonus token; `fraction` is accepted over proposed drafts."""

    accept_len: float | None
    fraction: float | None
    formula: str


def was_reset(earlier: Worker, later: Worker) -> bool:
    """Whether any counter of both readings went down."""
    return any(
        name.endswith("_total") and later.figures[name] < value
        for name, value in earlier.figures.items()
        if name in later.figures
    )


def _grew(earlier: Worker, later: Worker, name: str) -> float | None:
    a, b = earlier.get(name), later.get(name)
    return b - a if a is not None and b is not None and b >= a else None


def live_tok_s(earlier: Worker, later: Worker, elapsed_s: float) -> Rate | None:
    """Decode tokens a second between two readings; None after a reset or without a counter.

    SGLang's realtime_tokens_total moves every step. Its older token counters move only when
    a request ends and are no live rate, so they are not used. llama.cpp counts its own
    seconds of decoding, so that idle time does not dilute.
    """
    if elapsed_s <= 0 or was_reset(earlier, later):
        return None
    tokens = _grew(earlier, later, "decode_tokens_total")
    if tokens is None:
        return None
    own_s = _grew(earlier, later, "decode_seconds_total")
    if own_s is not None:
        formula = "Δ tokens predicted / Δ seconds predicted"
        return Rate(tokens / own_s if own_s > 0 else 0.0, formula)
    return Rate(tokens / elapsed_s, "Δ decode tokens / Δ wall time")


def acceptance(earlier: Worker, later: Worker) -> Acceptance | None:
    """Acceptance between two readings, exact where counters allow, else SGLang's last window.

    None where the server does not speculate or nothing was verified in between.
    """
    if was_reset(earlier, later):
        return None
    drafts, accepted = (_grew(earlier, later, n) for n in ("verify_total", "accepted_total"))
    proposed = _grew(earlier, later, "proposed_total")
    if drafts and accepted is not None:
        fraction = accepted / proposed if proposed else None
        return Acceptance(1 + accepted / drafts, fraction, "1 + Δ accepted / Δ drafts")
    tokens = _grew(earlier, later, "decode_tokens_total")
    if drafts and tokens:
        return Acceptance(tokens / drafts, None, "Δ decode tokens / Δ verify calls")
    window = later.get("accept_len")
    if window:  # 0 is how SGLang says that nothing was verified
        n = later.get("draft_tokens")
        fraction = (window - 1) / (n - 1) if n and n > 1 else None
        return Acceptance(window, fraction, "last log window")
    return None


def cache_hit(earlier: Worker, later: Worker) -> float | None:
    """Share of prompt tokens found in the cache: between two readings, else the gauge."""
    queries = _grew(earlier, later, "cache_queries_total")
    hits = _grew(earlier, later, "cache_hits_total")
    if queries and hits is not None:
        return hits / queries
    return later.get("cache_hit")


def latency(earlier: Worker | None, later: Worker, name: str) -> Histogram | None:
    """The histogram "ttft", "itl", "tpot", "e2e" or "queue" of what happened in between."""
    found = later.histograms.get(name)
    if found is None:
        return None
    return found.since(earlier.histograms.get(name) if earlier else None)
