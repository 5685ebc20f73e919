"""The figures of one run, each with one definition (DEFINITIONS), from its stamps and its count.

Pure arithmetic on an Answer. It must never count a chunk as a token or a pass, nor give a rate to
a run whose tokens could not be counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from console.bench.acceptance import Acceptance, Counters, acceptance
from console.bench.answer import Answer, Chunk, Counted, Refused, count

IDENTITY_TOLERANCE = 0.05
COALESCED_LIMIT = 0.05
STALL_LIMIT = 0.10

# Shown beside each number: other tools give the same words other meanings.
DEFINITIONS = {
    "ttft_ms": "first chunk with tokens - request sent, connection already open",
    "decode_tok_s": "(N - n1) / (tn - t1): tokens after the first chunk, first to last chunk",
    "tpot_ms": "1 / decode rate, the first token not included",
    "e2e_tok_s": "N / (tn - sent): falls with TTFT, never compare it with a decode rate",
    "gap_ms": "time between chunks; under speculation about one verify cycle, not one token",
    "itl_median_ms": "gap / tokens in the chunk, median: per token, smoothed",
    "cycle_ms": "C: median gap between passes, given only where chunks are passes",
    "acceptance_length": "L = (N - n1) / verify passes; 1.0 = no draft accepted",
}


@dataclass(frozen=True, slots=True)
class Gaps:
    """Times between chunks in ms; between passes where those come token by token."""

    median_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class Figures:
    """One run. `first_assumed`: n1 is taken as 1 because the server sent no running count.

    `proofs`: what confirms `tokens`. `fifths`: decode rate of each fifth of the tokens, () without
    running counts. `client_limited`: gaps say more about this client than about the server.
    `void`: reasons why the run must not count. `notes`: for people, beside the figures.
    """

    tokens: int
    proofs: tuple[str, ...]
    prompt_tokens: int | None
    cached_tokens: int | None
    first_tokens: int
    first_assumed: bool
    ttft_ms: float
    decode_tok_s: float
    tpot_ms: float
    e2e_tok_s: float
    gaps: Gaps
    itl_median_ms: float | None
    cycle_ms: float | None
    acceptance: Acceptance | None
    fifths: tuple[float, ...]
    client_limited: bool
    void: tuple[str, ...]
    notes: tuple[str, ...]


def measure(
    answer: Answer,
    asked: int,
    before: Counters | None = None,
    after: Counters | None = None,
    probes: int = 0,
) -> Figures | Refused:
    """Figures of a response to a request for `asked` tokens, or why there are none.

    `before`, `after`: the server's totals around the run, where it has any; `probes`: one-token
    health probes the console itself sent in between.
    """
    counted = count(answer, asked)
    if isinstance(counted, Refused):
        return counted
    chunks = answer.bearing()
    first, last = chunks[0], chunks[-1]
    first_tokens = 1 if first.count is None else first.count
    span_s = (last.t_ns - first.t_ns) / 1e9
    decoded = counted.tokens - first_tokens
    if span_s <= 0 or decoded <= 0:
        return Refused("all tokens came at once: no decode time to measure")
    rate = decoded / span_s
    accepted = acceptance(answer, counted.tokens, first_tokens, before, after, probes)
    void = (accepted.why,) if isinstance(accepted, Refused) else ()
    found = accepted if isinstance(accepted, Acceptance) else None
    arrivals = _arrivals(chunks, found)
    cycle_ms, broken, notes = _cycle(arrivals, found, rate, len(chunks))
    gaps = _gaps(arrivals)
    sent_together = len(arrivals) < len(chunks)
    return Figures(
        tokens=counted.tokens,
        proofs=counted.proofs,
        prompt_tokens=answer.prompt_tokens(),
        cached_tokens=answer.cached_tokens(),
        first_tokens=first_tokens,
        first_assumed=first.count is None,
        ttft_ms=first.t_ns / 1e6,
        decode_tok_s=rate,
        tpot_ms=1e3 / rate,
        e2e_tok_s=counted.tokens / (last.t_ns / 1e9),
        gaps=gaps,
        itl_median_ms=_itl_median_ms(arrivals),
        cycle_ms=cycle_ms,
        acceptance=found,
        fifths=_fifths(chunks),
        client_limited=_client_limited(answer, sent_together, gaps),
        void=(*void, *broken),
        notes=(*notes, *_unproved(counted)),
    )


def _unproved(counted: Counted) -> tuple[str, ...]:
    said = f"nothing but the server's last word says {counted.tokens} tokens"
    return () if counted.proofs else (said,)


def _arrivals(chunks: Sequence[Chunk], accepted: Acceptance | None) -> tuple[Chunk, ...]:
    """Chunks as they came from passes: a server that sends a verify pass token by token
    (llama.cpp) makes gaps far below a cycle; those under a quarter of the mean cycle join, at the
    time of the pass's first token and with the count after its last."""
    if accepted is None or len(chunks) - 1 <= accepted.passes * (1 + IDENTITY_TOLERANCE) + 1:
        return tuple(chunks)
    together = (chunks[-1].t_ns - chunks[0].t_ns) / accepted.passes / 4
    found, previous = [chunks[0]], chunks[0].t_ns
    for chunk in chunks[1:]:
        if chunk.t_ns - previous > together:
            found.append(chunk)
        else:
            found[-1] = replace(found[-1], count=chunk.count)
        previous = chunk.t_ns
    return tuple(found)


def _cycle(
    arrivals: Sequence[Chunk], accepted: Acceptance | None, rate: float, chunks: int
) -> tuple[float | None, tuple[str, ...], tuple[str, ...]]:
    """C from the gaps (ms), void reasons, notes.

    V cancels in rate = L / C when C is span / V, so C is measured from the gaps instead. More
    arrivals than passes is impossible: V is wrong, the run is void. Fewer means merged chunks,
    where gaps show no cycle; so do more where most `chunks` are pieces of passes, for what delays
    one of them parts a pass. Equal numbers and L / C off by over 5 %: uneven cycles, only a note.
    """
    if accepted is None:
        return None, (), ()
    seen, told = len(arrivals) - 1, accepted.passes
    slack = 1 + told * IDENTITY_TOLERANCE
    in_pieces = 2 * (seen - told) <= chunks - 1 - told
    if seen > told + slack and not in_pieces:
        return None, (f"{seen} chunks after the first, but the server says {told} passes",), ()
    if not told - slack <= seen <= told + slack or seen < 1:
        return None, (), (f"{told} passes came in {seen} chunks: cycle time not visible",)
    cycle_ms = median(b.t_ns - a.t_ns for a, b in pairwise(arrivals)) / 1e6
    if cycle_ms <= 0 or rate <= 0:
        return None, (), ("most chunks came together: cycle time not visible",)
    off = accepted.length / (cycle_ms / 1e3) / rate - 1
    if abs(off) > IDENTITY_TOLERANCE:
        return (
            cycle_ms,
            (),
            (f"cycles are uneven: L / C is {100 * off:+.0f} % off the decode rate",),
        )
    return cycle_ms, (), ()


def _gaps(arrivals: Sequence[Chunk]) -> Gaps:
    gaps = sorted((b.t_ns - a.t_ns) / 1e6 for a, b in pairwise(arrivals))
    if not gaps:
        return Gaps(0.0, 0.0, 0.0, 0.0)
    return Gaps(median(gaps), quantile(gaps, 0.95), quantile(gaps, 0.99), gaps[-1])


def _client_limited(answer: Answer, sent_together: bool, gaps: Gaps) -> bool:
    """Events that share a read, or a worker that woke late, make gap percentiles its own. Tokens
    of one pass come together because the server sends them so."""
    coalesced = answer.coalesced > COALESCED_LIMIT and not sent_together
    return coalesced or answer.stall_p99_ns / 1e6 > STALL_LIMIT * gaps.median_ms


def _itl_median_ms(arrivals: Sequence[Chunk]) -> float | None:
    if any(chunk.count is None for chunk in arrivals):
        return None
    steps = [
        (b.t_ns - a.t_ns) / 1e6 / ((b.count or 0) - (a.count or 0))
        for a, b in pairwise(arrivals)
        if (b.count or 0) > (a.count or 0)
    ]
    return median(steps) if steps else None


def _fifths(chunks: Sequence[Chunk]) -> tuple[float, ...]:
    """tok/s of five equal shares of the tokens: decode slows as the context grows."""
    counts = [chunk.count for chunk in chunks if chunk.count is not None]
    if len(counts) < len(chunks) or counts[-1] - counts[0] < 10:
        return ()
    share = (counts[-1] - counts[0]) / 5
    edges = [counts[0] + share * i for i in range(6)]
    times = [_time_at(chunks, counts, edge) for edge in edges]
    spans = [(b - a) / 1e9 for a, b in pairwise(times)]
    return tuple(share / span for span in spans) if all(span > 0 for span in spans) else ()


def _time_at(chunks: Sequence[Chunk], counts: Sequence[int], edge: float) -> float:
    """When the count passed `edge`, ns, between two chunks in proportion."""
    after = bisect_left(counts, edge)
    if after == 0:
        return chunks[0].t_ns
    after = min(after, len(counts) - 1)
    low, high = counts[after - 1], counts[after]
    part = (edge - low) / (high - low) if high > low else 1.0
    return chunks[after - 1].t_ns + part * (chunks[after].t_ns - chunks[after - 1].t_ns)


def quantile(ordered: Sequence[float], q: float) -> float:
    """Linear between the two nearest ranks of an ordered, non-empty sequence."""
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])
