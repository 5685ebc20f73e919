"""Figures of runs: made by hand where the right number is known, and of real SGLang streams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from console.bench.acceptance import Acceptance, Counters, from_counters
from console.bench.answer import Answer, Chunk, Counted, Refused, count
from console.bench.job import Dialect
from console.bench.metrics import DEFINITIONS, Figures, measure
from tests.bench import working
from tests.bench.scripted import Scripted, paced, sent

CASES = Path(__file__).parent / "cases"
MS = 1_000_000


def made(chunks: Sequence[Chunk], **fields: object) -> Answer:
    """A finished answer; fields override."""
    plain = Answer("r", "ok", "", 200, tuple(chunks), "length", {}, {}, {}, 0.0, 0, 0, 0)
    for name, value in fields.items():
        plain = replace(plain, **{name: value})  # type: ignore[arg-type]
    return plain


def steady(counts: Sequence[int | None], ttft_ms: int = 300, gap_ms: int = 20) -> list[Chunk]:
    return [Chunk((ttft_ms + i * gap_ms) * MS, n, None, "x") for i, n in enumerate(counts)]


def figures(
    answer: Answer, asked: int, before: Counters | None = None, after: Counters | None = None
) -> Figures:
    found = measure(answer, asked, before, after)
    assert isinstance(found, Figures)
    return found


def test_one_token_a_chunk() -> None:
    found = figures(made(steady(range(1, 52))), 51)
    assert found.ttft_ms == 300
    assert found.decode_tok_s == pytest.approx(50)
    assert found.tpot_ms == pytest.approx(20)
    assert found.e2e_tok_s == pytest.approx(51 / 1.3)
    assert found.gaps.median_ms == found.gaps.max_ms == pytest.approx(20)
    assert found.itl_median_ms == pytest.approx(20)
    assert found.fifths == pytest.approx((50,) * 5)
    assert (found.first_tokens, found.first_assumed) == (1, False)
    assert (found.acceptance, found.cycle_ms, found.void, found.notes) == (None, None, (), ())


def test_the_tokens_of_the_first_chunk_are_not_decoded() -> None:
    found = figures(made(steady([4, 8, 12])), 12)
    assert found.first_tokens == 4
    assert found.decode_tok_s == pytest.approx(8 / 0.04)


def test_without_running_counts_the_first_chunk_is_assumed_to_hold_one() -> None:
    chunks = [*steady([None] * 10), Chunk(900 * MS, 31, None, "")]
    found = figures(made(chunks), 31)
    assert found.first_assumed
    assert found.decode_tok_s == pytest.approx(30 / 0.18)
    assert found.itl_median_ms is None
    assert found.fifths == ()


def test_usage_and_end_marks_do_not_lengthen_a_run() -> None:
    chunks = [*steady(range(1, 11)), Chunk(9999 * MS, 10, None, "")]
    assert figures(made(chunks), 10).decode_tok_s == pytest.approx(50)


def test_speculation_rate_is_length_over_cycle() -> None:
    """The story's cycle: 31 ms for 2.325 tokens is 75 tok/s; a chunk counter would say 32."""
    counts = [1 + round(2.325 * i) for i in range(201)]
    answer = made(steady(counts, gap_ms=31), spec={"spec_verify_ct": 200})
    found = figures(answer, counts[-1])
    assert found.acceptance == Acceptance(2.325, 200, "response", None, ())
    assert found.cycle_ms == pytest.approx(31)
    assert found.decode_tok_s == pytest.approx(75)
    assert (found.void, found.notes) == ((), ())


def test_uneven_cycles_are_noted() -> None:
    counts = [1 + 2 * i for i in range(101)]
    chunks = [
        Chunk((100 + 20 * i + 3 * max(0, i - 60) ** 2) * MS, n, None, "x")
        for i, n in enumerate(counts)
    ]
    found = figures(made(chunks, spec={"spec_verify_ct": 100}), 201)
    assert found.void == ()
    assert "cycles are uneven" in found.notes[0]


def test_more_chunks_than_passes_voids_the_run() -> None:
    found = figures(made(steady(range(1, 102)), spec={"spec_verify_ct": 50}), 101)
    assert found.void == ("100 chunks after the first, but the server says 50 passes",)


def test_merged_chunks_hide_the_cycle() -> None:
    found = figures(made(steady(range(1, 102, 4)), spec={"spec_verify_ct": 50}), 101)
    assert found.cycle_ms is None
    assert found.notes == ("50 passes came in 25 chunks: cycle time not visible",)


def test_chunks_that_came_together_hide_the_cycle() -> None:
    late = [Chunk(100 * MS, 1 + 2 * i, None, "x") for i in range(60)]
    late += [Chunk((100 + i) * MS, 121 + 2 * i, None, "x") for i in range(1, 41)]
    found = figures(made(late, spec={"spec_verify_ct": 99}), 201)
    assert found.cycle_ms is None
    assert found.notes == ("most chunks came together: cycle time not visible",)


def token_by_token(passes: int, each: int, cycle_ms: int = 30) -> list[Chunk]:
    """As llama.cpp sends it: each token of a pass its own event, 0.1 ms apart."""
    times = [300 * MS]
    for number in range(1, passes + 1):
        times += [(300 + number * cycle_ms) * MS + i * MS // 10 for i in range(each)]
    return [Chunk(t, n, 1, "x") for n, t in enumerate(times, 1)]


def test_passes_sent_token_by_token_are_bursts() -> None:
    timings = {"draft_n": 240, "draft_n_accepted": 120}
    found = figures(made(token_by_token(60, 3), timings=timings, coalesced=0.6), 181)
    assert found.acceptance == Acceptance(3.0, 60, "response, passes derived", 0.5, ())
    assert found.cycle_ms == pytest.approx(30)
    assert found.gaps.median_ms == pytest.approx(30)
    assert found.itl_median_ms == pytest.approx(10)
    assert (found.void, found.notes, found.client_limited) == ((), (), False)


def test_drafts_that_cannot_have_been_accepted_void_the_run() -> None:
    timings = {"draft_n": 240, "draft_n_accepted": 200}
    found = figures(made(token_by_token(60, 3), timings=timings), 181)
    assert found.void == ("200 accepted drafts cannot make 180 tokens",)


def test_a_client_that_lags_is_named() -> None:
    chunks = steady(range(1, 52))
    assert not figures(made(chunks, stall_p99_ns=1 * MS), 51).client_limited
    assert figures(made(chunks, stall_p99_ns=3 * MS), 51).client_limited
    assert figures(made(chunks, coalesced=0.06), 51).client_limited


@pytest.mark.parametrize("chunks", [[], steady([5]), [*steady([1]), Chunk(300 * MS, 5, None, "x")]])
def test_no_decode_time_no_rate(chunks: list[Chunk]) -> None:
    assert isinstance(measure(made(chunks, finish="stop"), 9), Refused)


VLLM_BEFORE = Counters(1000, 100, 300, 120, (60, 40, 20))
VLLM_AFTER = Counters(1101, 150, 450, 170, (90, 55, 25))


def test_acceptance_from_counters() -> None:
    expected = Acceptance(2.0, 50, "counters", 50 / 150, (0.6, 0.3, 0.1))
    assert from_counters(VLLM_BEFORE, VLLM_AFTER) == expected
    answer = made(steady(range(1, 102, 2)))
    assert figures(answer, 101, VLLM_BEFORE, VLLM_AFTER).acceptance == expected


def test_the_response_comes_before_the_counters() -> None:
    spec = {"num_spec_steps": 50, "num_accepted_draft_tokens": 50, "num_draft_tokens": 200}
    answer = made(steady(range(1, 102, 2)), spec=spec)
    found = figures(answer, 101, VLLM_BEFORE, VLLM_AFTER).acceptance
    assert found == Acceptance(2.0, 50, "response", 0.25, ())


def test_a_pass_that_was_parted_on_its_way_voids_nothing() -> None:
    """On a busy machine the second half of a pass comes late: more arrivals than passes."""
    chunks = token_by_token(60, 3)
    late = [
        replace(chunk, t_ns=chunk.t_ns + 12_000_000) if place % 3 == 0 and place else chunk
        for place, chunk in enumerate(chunks)
    ]
    timings = {"draft_n": 240, "draft_n_accepted": 120}
    found = figures(made(late, timings=timings), 181)
    assert found.void == ()
    assert found.cycle_ms is None
    assert "cycle time not visible" in found.notes[0]


def test_sglangs_counters_have_passes_but_no_accepted() -> None:
    before, after = Counters(500, 10), Counters(1000, 227)
    assert from_counters(before, after, 500) == Acceptance(499 / 217, 217, "counters", None, ())


def test_foreign_tokens_and_falling_counters_void() -> None:
    alone = from_counters(VLLM_BEFORE, VLLM_AFTER, tokens=99)
    assert alone == Refused("101 tokens were generated during a run of 99: not alone")
    fell = from_counters(VLLM_AFTER, VLLM_BEFORE)
    assert fell == Refused("the server's generated total went down: restarted or flushed")
    answer = made(steady(range(1, 100, 2)))
    assert figures(answer, 99, VLLM_BEFORE, VLLM_AFTER).void == (alone.why,)


def test_own_probes_add_a_token_each_and_others_void() -> None:
    tokens = 99
    assert isinstance(from_counters(VLLM_BEFORE, VLLM_AFTER, tokens, probes=2), Acceptance)
    assert isinstance(from_counters(VLLM_BEFORE, VLLM_AFTER, tokens, probes=1), Refused)
    assert isinstance(from_counters(VLLM_BEFORE, VLLM_AFTER, 102, probes=9), Refused)


def test_foreign_tokens_void_a_run_whose_response_tells_all() -> None:
    answer = made(steady(range(1, 102, 2)), spec={"num_spec_steps": 50})
    found = figures(answer, 101, VLLM_BEFORE, replace(VLLM_AFTER, generated=1150))
    assert found.void == ("150 tokens were generated during a run of 101: not alone",)


def test_no_passes_no_acceptance() -> None:
    assert from_counters(Counters(), Counters()) is None
    assert from_counters(Counters(1, 5, 5, 5), Counters(1, 5, 5, 5)) is None


def captured(name: str) -> list[bytes]:
    """The events of a stream recorded from SGLang 0.5.23."""
    return [e + b"\n\n" for e in (CASES / f"{name}.sse").read_bytes().split(b"\n\n") if e]


@pytest.mark.parametrize(
    ("name", "dialect", "tokens", "proofs"),
    [
        (
            "sglang_baseline_generate",
            "sglang",
            60,
            ("running count", "token ids", "requested length"),
        ),
        (
            "sglang_ngram_generate",
            "sglang",
            100,
            ("running count", "token ids", "requested length"),
        ),
        ("sglang_baseline_completions", "completions", 200, ("requested length",)),
        ("sglang_ngram_completions", "completions", 200, ("running count", "requested length")),
    ],
)
def test_real_streams_count_right(
    name: str, dialect: Dialect, tokens: int, proofs: tuple[str, ...]
) -> None:
    with Scripted(sent(*captured(name))) as server:
        run = working.answer(working.job(server.url, dialect, tokens))
    assert count(run, tokens) == Counted(tokens, proofs)


def test_a_real_speculative_stream_paced_like_passes() -> None:
    """Times are the script's, everything else is the real server's."""
    with Scripted(paced(captured("sglang_ngram_completions"), 0.004)) as server:
        run = working.answer(working.job(server.url, "completions", 200))
    found = figures(run, 200)
    assert found.first_tokens == 1
    accepted = found.acceptance
    assert accepted is not None
    assert accepted.passes == 116
    assert accepted.length == pytest.approx(199 / 116)
    assert accepted.rate == pytest.approx(84 / 348)
    assert accepted.per_position == pytest.approx((34 / 116, 26 / 116, 24 / 116))
    assert found.void == ()
    assert found.cycle_ms == pytest.approx(4, abs=1)


def test_the_text_of_a_cumulative_stream_is_cut_into_its_parts() -> None:
    last = json.loads(captured("sglang_ngram_generate")[-2].removeprefix(b"data: "))
    with Scripted(sent(*captured("sglang_ngram_generate"))) as server:
        run = working.answer(working.job(server.url, "sglang", 100))
    assert run.text() == last["text"]
    assert run.cached_tokens() == 0
    assert run.prompt_tokens() == 5


def test_every_figure_has_its_definition() -> None:
    assert {"ttft_ms", "decode_tok_s", "tpot_ms", "e2e_tok_s", "cycle_ms", "itl_median_ms"} <= set(
        DEFINITIONS
    )


def test_ids_that_a_server_holds_back_do_not_refute_a_count_proved_otherwise() -> None:
    chunks = [Chunk(i * MS, n, 1, "x") for i, n in enumerate((1, 2, 5, 6), 1)]
    assert count(made(chunks), 6) == Counted(6, ("running count", "requested length"))
    stopped = made(chunks, finish="stop")
    assert count(stopped, 9) == Refused("4 token ids, but the count says 6")
