"""What a session keeps of a benchmark: figures, circumstances and texts come back as they were."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from console.bench.acceptance import Acceptance
from console.bench.answer import Refused
from console.bench.metrics import Figures, Gaps
from console.bench.provenance import Circumstances, Group, Unread, Unset
from console.model.fleet import Arm
from console.model.mask import Masks
from console.model.text import Clean
from console.stream.codec import decode, encode
from console.stream.fold import fold_all
from console.stream.measured import (
    BLOCK,
    circumstances_of,
    circumstances_taken,
    figures_of,
    fingerprint,
    measured_arm,
    run_measured,
)
from console.stream.run_events import BenchStarted, RunMeasured
from console.stream.state import Bench, State

MASKS = Masks()
BENCH = Clean("b1")
RATES = st.floats(0.5, 1e4)
TIMES = st.floats(0, 1e5)


@st.composite
def any_figures(draw: st.DrawFn) -> Figures:
    rate = draw(RATES)
    shares = tuple(draw(st.lists(st.floats(0, 1), max_size=5)))
    accepted = Acceptance(draw(st.floats(1, 8)), 200, "recorded", draw(st.none() | RATES), shares)
    return Figures(
        tokens=draw(st.integers(2, 5000)),
        proofs=(),
        prompt_tokens=draw(st.none() | st.integers(0, 10**6)),
        cached_tokens=draw(st.none() | st.integers(0, 10**6)),
        first_tokens=draw(st.integers(1, 9)),
        first_assumed=draw(st.booleans()),
        ttft_ms=draw(st.integers(0, 10**9)) / 1e3,
        decode_tok_s=rate,
        tpot_ms=1e3 / rate,
        e2e_tok_s=draw(RATES),
        gaps=Gaps(*(draw(st.integers(0, 10**6)) / 8 for _ in range(4))),
        itl_median_ms=draw(st.none() | st.just(12.5)),
        cycle_ms=draw(st.none() | st.just(31.25)),
        acceptance=draw(st.none() | st.just(accepted)),
        fifths=draw(st.just(()) | st.tuples(*[RATES] * 5)),
        client_limited=draw(st.booleans()),
        void=draw(st.just(()) | st.just(("not alone",))),
        notes=draw(st.just(()) | st.just(("cycles are uneven",))),
    )


@given(any_figures())
def test_figures_come_back_from_a_session(figures: Figures) -> None:
    event = run_measured(BENCH, 1, figures, MASKS)
    again = decode("run", _through_toml(event))
    assert isinstance(again, RunMeasured)
    found = figures_of(again)
    assert isinstance(found, Figures)
    flat = dataclasses.replace(found, gaps=figures.gaps)
    assert flat == figures
    for name in ("median_ms", "p95_ms", "p99_ms", "max_ms"):
        assert abs(getattr(found.gaps, name) - getattr(figures.gaps, name)) < 1e-6


def _through_toml(event: RunMeasured) -> dict[str, object]:
    import tomllib

    return tomllib.loads(encode(event))


def test_a_refusal_keeps_its_reasons() -> None:
    event = run_measured(BENCH, 1, Refused("no count"), MASKS, void=("not alone",))
    assert event.decode_tok_s is None
    assert figures_of(event) == Refused("no count; not alone")


def test_circumstances_come_back_unset_and_unread_apart() -> None:
    groups = {
        "env": Group({"NCCL_PROTO": "LL", "NCCL_ALGO": Unset(), "A": Unread("denied")}),
        "gpu": Group({}, "nvidia-smi: no answer"),
    }
    name = Clean("kimi")
    started = BenchStarted(BENCH, name, Arm.BASELINE, 1, Clean("look"), (), Clean("host"))
    events = [circumstances_taken(BENCH, key, group, MASKS) for key, group in groups.items()]
    bench = fold_all(State(), [started, *events]).benches["b1"]
    assert circumstances_of(bench) == Circumstances(groups)


@given(st.text(max_size=400), st.integers(0, 399))
def test_fingerprints_part_where_texts_do(text: str, at: int) -> None:
    at = min(at, len(text))
    other = text[:at] + "\ue000" + text[at + 1 :]
    ours, theirs = fingerprint(text), fingerprint(other)
    assert len(ours) == -(-len(text) // BLOCK)
    same = at // BLOCK
    assert ours[:same] == theirs[:same]
    if text == other:
        assert ours == theirs


def test_a_changed_text_has_another_fingerprint() -> None:
    text = "The keeper counts the ships. " * 20
    other = text[:200] + "X" + text[201:]
    shared = next(
        i for i, (a, b) in enumerate(zip(*map(fingerprint, (text, other)), strict=True)) if a != b
    )
    assert abs(shared * BLOCK - 200) <= 2 * BLOCK


def test_an_arm_leaves_warm_ups_out_and_counts_launches() -> None:
    name = Clean("kimi")
    started = BenchStarted(
        BENCH, name, Arm.BASELINE, 1, Clean("look"), ((Clean("depth_tokens"), Clean("8192")),),
        Clean("host"),
    )  # fmt: skip
    warm = RunMeasured(BENCH, 1, 500, 1000, 50.0, warm_up=True)
    run = RunMeasured(BENCH, 2, 500, 1000, 62.9, prompt=Clean("p"))

    def of(*launch: str) -> Bench:
        groups = [circumstances_taken(BENCH, "launch", Group({"launch_id": one}), Masks())
                  for one in launch]  # fmt: skip
        return fold_all(State(), [started, *groups, warm, run]).benches["b1"]

    arm = measured_arm("kimi", [(of("a"), 0), (of("b"), 5), (of("a"), 9)])
    assert [trial.launch for trial in arm.trials] == [1, 2, 1]
    unread = measured_arm("kimi", [(of(), 0), (of(), 5)])
    assert [trial.launch for trial in unread.trials] == [1, 1]
    assert arm.rates() == (62.9, 62.9, 62.9)
    assert arm.workload.depth_tokens == 8192
