"""How many tokens each verify pass of a run yielded, from the best source there is.

Owns the acceptance length L = (N - n1) / V and its sources in order: the response's own verify
count, passes derived from the accepted tokens in the response, counter differences around the run.
It must never use a lifetime average or a last-window gauge, and chunks only as a cross-check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.bench.answer import Answer, Refused, whole


@dataclass(frozen=True, slots=True)
class Acceptance:
    """`length`: tokens per verify pass (1.0 = no draft accepted). `passes`: V. `rate`: accepted
    over proposed draft tokens; for tree drafting that counts nodes. `per_position`: share of
    passes in which at least 1, 2, … drafts were right. None and () where not told."""

    length: float
    passes: int
    source: str
    rate: float | None
    per_position: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Counters:
    """A server's totals at one moment, whatever its engine calls them; None: it has none.

    `passes`: verify passes with drafts; `accepted`: draft tokens that were right;
    `per_position`: accepted at position 1, 2, …
    """

    generated: int | None = None
    passes: int | None = None
    proposed: int | None = None
    accepted: int | None = None
    per_position: tuple[int, ...] = ()


def acceptance(
    answer: Answer,
    tokens: int,
    first_tokens: int,
    before: Counters | None = None,
    after: Counters | None = None,
    probes: int = 0,
) -> Acceptance | Refused | None:
    """Acceptance of one run; None without speculation or without a source.

    `probes`: one-token health probes the console sent meanwhile.

    Refused where the counters show another's work or a restart: that voids the run. Field names:
    SGLang spec_* (0.4.6 to 0.5.23), vLLM's per-request block, llama.cpp's timings.
    """
    decoded = tokens - first_tokens
    if before is not None and after is not None:
        from_outside = from_counters(before, after, tokens, first_tokens, probes)
        if isinstance(from_outside, Refused):
            return from_outside
    else:
        from_outside = None
    passes = _int(answer.spec, "spec_verify_ct", "num_spec_steps")
    right = _int(
        answer.spec, "spec_num_correct_drafts", "spec_accept_token_num", "num_accepted_draft_tokens"
    )
    made = _int(answer.spec, "spec_num_proposed_drafts", "spec_draft_token_num", "num_draft_tokens")
    if passes:
        rate = right / made if made and right is not None else None
        names = ("spec_correct_drafts_histogram", "spec_accept_histogram", "acceptance_histogram")
        return Acceptance(decoded / passes, passes, "response", rate, _positions(answer, names))
    right, made = _int(answer.timings, "draft_n_accepted"), _int(answer.timings, "draft_n")
    if made and right is not None:
        if right >= decoded:
            return Refused(f"{right} accepted drafts cannot make {decoded} tokens")
        # each pass yields what it accepted and one token of the target's own
        passes = decoded - right
        return Acceptance(decoded / passes, passes, "response, passes derived", right / made, ())
    return from_outside


def from_counters(
    before: Counters,
    after: Counters,
    tokens: int | None = None,
    first_tokens: int = 1,
    probes: int = 0,
) -> Acceptance | Refused | None:
    """Acceptance between two readings. With `tokens` (of the one response between them) the
    generated total must have grown by that, and by no more than one for each of the console's own
    `probes`; else another request ran: Refused."""
    moved = {}
    for name in ("generated", "passes", "proposed", "accepted"):
        old, new = getattr(before, name), getattr(after, name)
        if old is None or new is None:
            continue
        if new < old:
            return Refused(f"the server's {name} total went down: restarted or flushed")
        moved[name] = new - old
    generated, passes = moved.get("generated"), moved.get("passes")
    own = None if tokens is None else range(tokens, tokens + probes + 1)
    if own is not None and generated is not None and generated not in own:
        return Refused(f"{generated} tokens were generated during a run of {tokens}: not alone")
    if not passes:
        return None
    right, made = moved.get("accepted"), moved.get("proposed")
    if right is not None:
        length = 1 + right / passes
    elif tokens is not None:
        length = (tokens - first_tokens) / passes
    else:
        return None
    by_position = tuple(
        (new - old) / passes
        for old, new in zip(_padded(before, after), after.per_position, strict=True)
    )
    rate = right / made if made and right is not None else None
    return Acceptance(length, passes, "counters", rate, by_position)


def _padded(before: Counters, after: Counters) -> tuple[int, ...]:
    """Totals per position before; a position that was not there yet stood at 0."""
    missing = len(after.per_position) - len(before.per_position)
    return (*before.per_position, *[0] * missing)[: len(after.per_position)]


def _positions(answer: Answer, names: Sequence[str]) -> tuple[float, ...]:
    """P_i = share of passes with at least i right, from a histogram over passes of 0, 1, …"""
    for name in names:
        counts = answer.spec.get(name)
        if isinstance(counts, list) and all(isinstance(n, int) for n in counts) and sum(counts):
            return tuple(sum(counts[i:]) / sum(counts) for i in range(1, len(counts)))
    return ()


def _int(table: Mapping[str, object], *names: str) -> int | None:
    return next((n for n in (whole(table.get(name)) for name in names) if n is not None), None)
