"""A start from its log: phases, bars, ranks, estimates, stalls and ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines.eta import Earlier, closest, eta, stalled, waiting_for
from console.engines.grammar import parse_line
from console.engines.load import Load, Pass, Stage, advance
from console.engines.rates import Rates, definition
from console.engines.records import Records
from console.engines.versions import Version
from console.model.fleet import Engine
from tests.engines.observing import capture, case, observe

MINUTE_US = 60_000_000


def at(clock: str, text: str, rank: str = "") -> str:
    return f"[2026-11-29 {clock}{' ' + rank if rank else ''}] {text}"


SHARDS = (
    "\rMulti-thread loading shards:   0% Completed | 0/20 [00:00<?, ?it/s]"
    "\rMulti-thread loading shards:  50% Completed | 10/20 [00:30<00:30,  3.00s/it]"
    "\rMulti-thread loading shards: 100% Completed | 20/20 [01:00<00:00,  3.00s/it]"
)
# SGLang 0.5.23 with a draft model: draft weights come before the KV cache, two bars in a row,
# carriage returns only, new capture lines.
NEW = [
    at("10:00:00", "server_args={'model_path': '/m', 'tp_size': 2, 'speculative_algorithm': "
       "'EAGLE3', 'speculative_num_steps': 3, 'speculative_num_draft_tokens': 4}"),
    at("10:00:20", "Init parallel begin.", "TP0"),
    at("10:00:21", "Init parallel begin.", "TP1"),
    at("10:00:25", "Init parallel ends. elapsed=5.00 s", "TP0"),
    at("10:00:26", "Load weight begin. avail mem=90.00 GB", "TP0"),
    at("10:00:26", "Load weight begin. avail mem=90.00 GB", "TP1"),
    SHARDS,
    at("10:01:26", "Load weight end. elapsed=60.00 s, type=X, avail mem=40.00 GB", "TP0"),
    at("10:01:27", "Load weight begin. avail mem=40.00 GB", "TP0"),
    "\rMulti-thread loading shards: 100% Completed | 1/1 [00:01<00:00,  1.00s/it]",
    at("10:01:29", "Load weight end. elapsed=2.00 s, type=XEagle3, avail mem=39.00 GB", "TP0"),
    at("10:01:40", "Load weight end. elapsed=74.00 s, type=X, avail mem=40.00 GB", "TP1"),
    at("10:01:41", "Load weight begin. avail mem=40.00 GB", "TP1"),
    at("10:01:43", "Load weight end. elapsed=2.00 s, type=XEagle3, avail mem=39.00 GB", "TP1"),
    at("10:01:44", "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8000, KV size: 9 GB",
       "TP0"),
    at("10:01:45", "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8000, KV size: 1 GB",
       "TP0"),
    at("10:01:46", "Capture target verify CUDA graph begin. backend=full, avail mem=20.00 GB",
       "TP0"),
    "\rCapturing batches (bs=8 avail_mem=11.20 GB):  50%|█████     | 4/8 [00:08<00:08,  2.00s/it]",
]  # fmt: skip


def test_the_newest_order_of_phases() -> None:
    load = observe(NEW).load
    assert [s.name for s in load.stages] == [
        "arguments",
        "distributed",
        "weights",
        "draft weights",
        "kv cache",
        "draft kv cache",
        "graphs (verify)",
    ]
    assert [str(b) for b in load.bars] == [
        "target shards 20/20",
        "draft shards 1/1",
        "target graphs 4/8",
    ]
    assert load.engine is Engine.SGLANG
    assert waiting_for(load) == "target 2/2 ranks, slowest TP1 (14 s after the first)"


def test_a_rank_that_has_not_loaded_is_named() -> None:
    load = observe(NEW[:8]).load
    assert waiting_for(load) == "target 1/2 ranks, waiting for TP1"
    why = stalled(replace(load, moved_us=0), 8 * MINUTE_US, 5 * MINUTE_US)
    assert why == ("no progress for 8 min in weights: target 1/2 ranks, waiting for TP1")


@given(st.integers(0, len(NEW)))
def test_a_load_never_goes_back(cut: int) -> None:
    """Whatever is cut off at the end, stages are a prefix of the whole load's stages."""
    whole = [s.name for s in observe(NEW).load.stages]
    part = [s.name for s in observe(NEW[:cut]).load.stages]
    assert part == whole[: len(part)]


@given(st.permutations(NEW[3:6]), st.permutations(NEW[7:12]))
def test_the_order_of_ranks_does_not_matter_for_the_count(
    before: list[str], after: list[str]
) -> None:
    mixed = NEW[:3] + before + NEW[6:7] + [x for x in NEW[7:12] if x in after] + NEW[12:]
    load = observe(mixed).load
    assert sorted({(s, r) for s, r, _ in load.weights}) == [
        ("draft", "TP0"),
        ("draft", "TP1"),
        ("target", "TP0"),
        ("target", "TP1"),
    ]


def test_the_estimate_believes_this_loads_own_rate_first() -> None:
    mid = observe([*NEW[:6], NEW[6].rpartition("\r")[0]]).load
    assert str(mid.bar) == "target shards 10/20"
    alone = eta(mid)
    assert alone is not None
    assert (alone.seconds, alone.basis, alone.covers) == (30.0, "own rate", "bar")
    warm = Earlier("warm history", (("weights", 61.0), ("kv cache", 2.0), ("graphs", 20.0)))
    cold = Earlier("cold history", (("weights", 600.0), ("kv cache", 2.0), ("graphs", 25.0)))
    assert closest(mid, (cold, warm)) is warm
    whole = eta(mid, (cold, warm))
    assert whole is not None
    assert (whole.seconds, whole.basis, whole.covers) == (52.0, "own rate", "load")


def test_the_estimate_falls_back_on_history_and_says_which() -> None:
    load = observe(NEW[:6]).load
    cold = Earlier("cold history", (("weights", 600.0), ("graphs", 25.0)))
    found = eta(load, (cold,))
    assert found is not None
    assert (found.seconds, found.basis) == (625.0, "cold history")
    assert eta(load) is None
    later = replace(load, at_s=(load.at_s or 0.0) + 700)
    overdue = eta(later, (cold,))
    assert overdue is not None
    assert overdue.seconds == 25.0


def test_a_bar_of_one_quick_item_is_no_rate() -> None:
    quick = Load(
        stages=(Stage("draft weights", 0.0),),
        bars=(Pass("draft shards", 1, 2, 0.0, 0.0005),),
    )
    assert eta(quick) is None


def test_a_stall_is_no_visible_progress_not_no_lines() -> None:
    load, records = Load(), Records()
    times = [0, MINUTE_US, 9 * MINUTE_US]
    for now_us, text in zip(times, [NEW[0], NEW[4], "still warning about something"], strict=True):
        for line in parse_line(text):
            load = advance(load, records.add(line), now_us)
    assert load.moved_us == MINUTE_US
    assert stalled(load, 5 * MINUTE_US, 5 * MINUTE_US) is None
    assert stalled(load, 6 * MINUTE_US, 5 * MINUTE_US) == "no progress for 5 min in weights"


def test_a_repeated_bar_is_no_progress() -> None:
    load, records = Load(), Records()
    bar = "Loading safetensors checkpoint shards:  50% Completed | 5/10 [00:30<00:30,  6.00s/it]"
    for now_us in (0, MINUTE_US, 2 * MINUTE_US):
        for line in parse_line(bar):
            load = advance(load, records.add(line), now_us)
    assert load.moved_us == 0


def test_a_failure_ends_the_load_and_nothing_revives_it_but_a_new_start() -> None:
    failed = observe([*NEW, *case("17")[2:]]).load
    assert failed.incident is not None
    assert failed.over
    assert stalled(failed, 99 * MINUTE_US, MINUTE_US) is None
    again = observe([*NEW, *case("17")[2:], at("10:09:00", "Load weight begin.", "TP2")]).load
    assert again.incident is not None
    fresh = observe([*NEW, *case("17")[2:], NEW[0].replace("10:00:00", "10:20:00")]).load
    assert (fresh.incident, fresh.phase) == (None, "arguments")


def test_the_real_start_of_sglang() -> None:
    base = observe(capture("sglang-baseline.log").split("\n"))
    assert base.load.ready
    assert base.load.engine is Engine.SGLANG
    assert [s.name for s in base.load.stages] == [
        "arguments",
        "distributed",
        "weights",
        "kv cache",
        "summary",
        "http",
        "warm-up",
    ]
    assert str(base.arm) == "baseline"
    assert base.incident is not None  # the capture ends with a killed scheduler
    assert base.incident.reason == "scheduler_0 ended with exit code -9"
    spec = observe(capture("sglang-ngram.log").split("\n"))
    assert str(spec.arm) == "NGRAM, 0 steps, top-k 10, 4 draft tokens"
    assert [str(b) for b in spec.load.bars] == ["target shards 11/11"]


def test_the_real_llamacpp_draws_its_speed() -> None:
    got = observe(capture("llamacpp-draft.log").split("\n"))
    assert got.load.ready
    assert (got.tok_s, got.accept_len) == ([369.44], [8.79])
    assert got.arm is not None


def test_one_rate_a_rank_and_a_restart_forgets() -> None:
    rates = Rates()
    text = (
        "[2026-11-29 10:00:{:02d} DP{}] Decode batch, #running-req: 1, #token: 1, token usage:"
        " 0.00, cuda graph: True, gen throughput (token/s): 50.00, #queue-req: 0"
    )
    doubts = []
    for line in [text.format(n, dp) for n in (1, 2) for dp in (0, 1)]:
        (piece,) = parse_line(line)
        judged = rates.add(piece)
        assert judged is not None
        doubts.append((judged.rank, bool(judged.doubt)))
    assert doubts == [("DP0", True), ("DP1", True), ("DP0", False), ("DP1", False)]
    (start,) = parse_line(NEW[0])
    rates.add(start)
    (piece,) = parse_line(text.format(3, 0))
    judged = rates.add(piece)
    assert judged is not None
    assert judged.doubt == "first line seen"


def test_a_slow_but_steady_server_is_believed() -> None:
    rates = Rates()
    doubts = []
    for n in range(4):
        (piece,) = parse_line(
            f"[2026-11-29 10:{n:02d}:00] Decode batch, #running-req: 1, #token: 1, token usage:"
            " 0.00, cuda graph: True, gen throughput (token/s): 0.70, #queue-req: 0"
        )
        judged = rates.add(piece)
        assert judged is not None
        doubts.append(judged.doubt)
    assert doubts == ["first line seen", "follows a pause of 60 s", "", ""]


@pytest.mark.parametrize("tokens", [2, 3, 4, 6, 8, 16])
@pytest.mark.parametrize("old", [True, False])
def test_the_definition_follows_from_what_was_printed(tokens: int, old: bool) -> None:
    lengths = [1.0 + (tokens - 1) * share for share in (0.31, 0.47, 0.52, 0.66, 0.88)]
    if old:
        samples = [(round(x, 2), round(x / tokens, 2)) for x in lengths]
    else:
        samples = [(round(x, 2), round((x - 1) / (tokens - 1), 2)) for x in lengths]
    found = definition(samples, Version(0, 5, 3) if old else Version(0, 5, 23))
    assert found is not None
    assert found.rate == ("len / draft tokens" if old else "correct / proposed")
    assert found.certain
    assert found.draft_tokens == tokens
    guessed = definition(samples)
    if guessed is not None:
        assert guessed.rate == found.rate


def test_between_two_known_versions_only_figures_decide() -> None:
    assert definition([], Version(0, 5, 10)) is None
    assert definition([(3.10, 0.78)] * 3, Version(0, 5, 10)) == definition([(3.10, 0.78)] * 3)
