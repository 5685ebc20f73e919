"""Benchmarks as events and back: what a session keeps of a run is all that a verdict needs.

Owns the names of the figures in a session file and the fingerprint of a text. It must never keep
the text itself, and gives live and replayed benchmarks to `bench` in the same form.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime

from console.bench.acceptance import Acceptance
from console.bench.answer import Refused
from console.bench.arm import Measured, Trial, Workload
from console.bench.metrics import Figures, Gaps
from console.bench.provenance import Circumstances, Group, Unread, Value, decode, encode
from console.model.clock import utc_from_text
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.fact import NOTHING
from console.stream.run_events import CircumstancesTaken, RunMeasured
from console.stream.state import Bench, State

BLOCK = 16
"""Characters of a text for each character of its fingerprint."""
WHOLE_GROUP = "*"
LEAST_TOK_S, MOST_TOK_S = 1e-6, 1e9
"""A session file may hold any number; statistics on logarithms need one that can be a rate."""
_FIFTHS = tuple(f"fifth_{number}" for number in range(1, 6))


def fingerprint(text: str) -> str:
    """One character for every 16 of a text, each telling all of the text up to there: two
    fingerprints part where the texts do, give or take a block (1 in 64 goes unseen for one)."""
    whole, found = hashlib.sha256(), []
    for start in range(0, len(text), BLOCK):
        whole.update(text[start : start + BLOCK].encode("utf-8", "surrogatepass"))
        found.append(b64encode(whole.digest()[:1])[:1].decode())
    return "".join(found)


def run_measured(
    bench: Clean, run: int, figures: Figures | Refused, masks: Masks, *, void: Sequence[str] = ()
) -> RunMeasured:
    """The event of one run; `void`: reasons from outside the response."""
    if isinstance(figures, Refused):
        return RunMeasured(bench, run, void=_joined((figures.why, *void), masks))
    return RunMeasured(
        bench,
        run,
        figures.tokens,
        round(figures.ttft_ms * 1e3),
        figures.decode_tok_s,
        tuple((Clean(name), value) for name, value in _pairs(figures)),
        void=_joined((*figures.void, *void), masks),
        notes=tuple(clean(note, masks) for note in figures.notes),
    )


def _joined(reasons: Sequence[str], masks: Masks) -> Clean:
    return clean("; ".join(dict.fromkeys(reasons)), masks) if reasons else NOTHING


def _pairs(f: Figures) -> list[tuple[str, float]]:
    """What is not told has no entry: it is never 0."""
    gaps, accepted = f.gaps, f.acceptance
    found: list[tuple[str, float | None]] = [
        ("first_tokens", f.first_tokens),
        ("first_assumed", 1.0 if f.first_assumed else None),
        ("prompt_tokens", f.prompt_tokens),
        ("cached_tokens", f.cached_tokens),
        ("e2e_tok_s", f.e2e_tok_s),
        ("gap_p50_us", gaps.median_ms * 1e3),
        ("gap_p95_us", gaps.p95_ms * 1e3),
        ("gap_p99_us", gaps.p99_ms * 1e3),
        ("gap_max_us", gaps.max_ms * 1e3),
        ("itl_us", None if f.itl_median_ms is None else f.itl_median_ms * 1e3),
        ("cycle_us", None if f.cycle_ms is None else f.cycle_ms * 1e3),
        ("client_limited", 1.0 if f.client_limited else None),
        *zip(_FIFTHS, f.fifths, strict=False),
    ]
    if accepted is not None:
        found += [
            ("accept_len", accepted.length),
            ("passes", accepted.passes),
            ("accept_rate", accepted.rate),
        ]
        found += [(f"accept_{at}", share) for at, share in enumerate(accepted.per_position, 1)]
    return [(name, float(value)) for name, value in found if value is not None]


def figures_of(run: RunMeasured) -> Figures | Refused:
    """What `run_measured` was given, but for the proofs of the count."""
    if run.decode_tok_s is None or run.tokens is None or run.ttft_us is None:
        return Refused(run.void or "not measured")
    if not LEAST_TOK_S < run.decode_tok_s < MOST_TOK_S:
        return Refused(f"{run.decode_tok_s:g} tok/s is no rate")
    told: dict[str, float] = dict(run.figures)

    def count(name: str) -> int | None:
        return round(told[name]) if name in told else None

    def ms(name: str) -> float | None:
        return told[name] / 1e3 if name in told else None

    fifths = tuple(told[name] for name in _FIFTHS if name in told)
    return Figures(
        tokens=run.tokens,
        proofs=(),
        prompt_tokens=count("prompt_tokens"),
        cached_tokens=count("cached_tokens"),
        first_tokens=count("first_tokens") or 1,
        first_assumed="first_assumed" in told,
        ttft_ms=run.ttft_us / 1e3,
        decode_tok_s=run.decode_tok_s,
        tpot_ms=1e3 / run.decode_tok_s,
        e2e_tok_s=told.get("e2e_tok_s", 0.0),
        gaps=Gaps(*(ms(f"gap_{which}_us") or 0.0 for which in ("p50", "p95", "p99", "max"))),
        itl_median_ms=ms("itl_us"),
        cycle_ms=ms("cycle_us"),
        acceptance=_acceptance(told),
        fifths=fifths if len(fifths) == len(_FIFTHS) else (),
        client_limited="client_limited" in told,
        void=(run.void,) if run.void else (),
        notes=run.notes,
    )


def _acceptance(told: dict[str, float]) -> Acceptance | None:
    length, passes = told.get("accept_len"), told.get("passes")
    if length is None or passes is None:
        return None
    positions: list[float] = []
    while (share := told.get(f"accept_{len(positions) + 1}")) is not None:
        positions.append(share)
    rate = told.get("accept_rate")
    return Acceptance(length, round(passes), "recorded", rate, tuple(positions))


def circumstances_taken(bench: Clean, group: str, taken: Group, masks: Masks) -> CircumstancesTaken:
    """One group as an event; `*` says why a group as a whole could not be read."""
    values = {**taken.values, WHOLE_GROUP: Unread(taken.unread)} if taken.unread else taken.values
    pairs = tuple((clean(key, masks), clean(encode(value), masks)) for key, value in values.items())
    return CircumstancesTaken(bench, clean(group, masks), Clean(taken.digest()), pairs)


def circumstances_of(bench: Bench) -> Circumstances:
    """The circumstances of a benchmark as last taken; what does not decode is unread."""
    groups = {}
    for name, taken in bench.circumstances.items():
        values = {str(key): _value(text) for key, text in taken.values}
        whole = values.pop(WHOLE_GROUP, None)
        groups[name] = Group(values, whole.why if isinstance(whole, Unread) else "")
    return Circumstances(groups)


def _value(text: str) -> Value:
    try:
        return decode(text)
    except ValueError as error:
        return Unread(str(error))


def measured_arm(name: str, benches: Sequence[tuple[Bench, int]]) -> Measured:
    """An arm of one or more benchmarks, with the session's beginning in microseconds of UTC beside
    each (0 where all are of one session). They must have been taken under the same circumstances:
    those of the first are the arm's.

    Benchmarks of one launch are of one launch however many they are; so are all whose launch could
    not be read, for nothing shows that they differ.
    """
    trials: list[Trial] = []
    launches: dict[str, int] = {}
    for bench, began_us in benches:
        launch = launches.setdefault(launch_of(bench), len(launches) + 1)
        for run in bench.runs:
            if not run.warm_up:
                figures = figures_of(run)
                at_us = began_us + run.t_us
                trials.append(
                    Trial(figures, run.prompt, launch, at_us, run.fingerprint, turn=run.turn)
                )
    first = benches[0][0]
    return Measured(name, tuple(trials), circumstances_of(first), _workload(first))


def launch_of(bench: Bench) -> str:
    """What tells a server's launch from any other; "" where it could not be read."""
    taken = circumstances_of(bench).groups.get("launch", Group({}))
    value = taken.values.get("launch_id")
    return value if isinstance(value, str) else ""


def _workload(bench: Bench) -> Workload:
    told: dict[str, str] = dict(bench.started.workload) if bench.started is not None else {}
    plain = Workload()
    try:
        return Workload(
            int(told.get("depth_tokens", plain.depth_tokens)),
            int(told.get("streams", plain.concurrency)),
            float(told.get("temperature", plain.temperature)),
        )
    except ValueError:
        return plain


def began_us(state: State) -> int:
    """UTC of a session's beginning in microseconds since 1970; 0 where it is not told."""
    opened = state.session.opened
    try:
        moment: datetime | None = utc_from_text(opened.utc) if opened is not None else None
    except ValueError:
        moment = None
    return 0 if moment is None else round(moment.timestamp() * 1e6)
