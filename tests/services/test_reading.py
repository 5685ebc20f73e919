"""A server's own log read into events, from real logs and logs as people have them."""

from __future__ import annotations

import pytest

from console.lab.faults import FAULTS, End
from console.model.clock import Pace
from console.model.fleet import Arm, Engine
from console.model.text import Clean
from console.stream.fact import GapKind, Standing
from console.stream.loads import load_known
from console.stream.server_events import (
    ArgsSeen,
    ArmSeen,
    EngineSeen,
    LoadEnded,
    LogGap,
    MetricSeen,
)
from tests.engines.observing import capture, case
from tests.services.room import NAME, Room

DECODE = (
    "[2026-03-02 09:00:{:02} TP0] Decode batch, #running-req: 1, #token: 1180, token usage: 0.01, "
    "cuda graph: True, gen throughput (token/s): {:.2f}, #queue-req: 0"
)
PREFILL = (
    "[2026-03-02 09:00:{:02} TP0] Prefill batch, #new-seq: 1, #new-token: 211, #cached-token: 64, "
    "token usage: 0.00, #running-req: 0, #queue-req: 0, input throughput (token/s): 940.12, "
    "cuda graph: False"
)


def test_a_real_start_goes_through_its_phases_to_ready_and_to_its_end() -> None:
    room = Room().read(capture("sglang-baseline.log").split("\n"))
    assert room.phases == [
        "arguments",
        "distributed",
        "weights",
        "kv cache",
        "summary",
        "http",
        "warm-up",
    ]
    ready, failed = room.ends
    assert (ready.ready, ready.took_us) == (True, 25_000_000)
    assert (failed.ready, failed.marker, failed.why) == (
        False,
        "child-crash",
        "scheduler_0 ended with exit code -9",
    )
    arm = room.of(ArmSeen)
    assert [(e.arm, e.evidence) for e in arm if isinstance(e, ArmSeen)] == [
        (Arm.BASELINE, "baseline (its log)")
    ]
    engine = room.timeline.state.servers["base"].engine
    assert engine is not None
    assert engine.engine is Engine.SGLANG
    assert len(room.tokens) == 68
    assert room.tokens[0].decode_tok_s is None
    assert room.tokens[1].decode_tok_s == 116.84
    assert [n.severity for n in room.notices] == ["warning", "error"]


def test_the_arm_is_read_not_believed() -> None:
    """The fleet file says baseline; the arguments say otherwise."""
    room = Room().read(capture("sglang-ngram.log").split("\n")[:40])
    (arm,) = room.of(ArmSeen)
    assert isinstance(arm, ArmSeen)
    assert (arm.arm, arm.evidence) == (
        Arm.SPECULATIVE,
        "NGRAM, 0 steps, top-k 10, 4 draft tokens (its log)",
    )


def test_llama_cpp_names_itself_and_its_phases() -> None:
    room = Room().read(capture("llamacpp-draft.log").split("\n"))
    engine = room.of(EngineSeen)[-1]
    assert isinstance(engine, EngineSeen)
    assert (engine.engine, engine.version) == (Engine.LLAMACPP, "b0-unknown")
    assert room.phases == ["weights", "draft weights", "kv cache"]
    assert [end.ready for end in room.ends] == [True]
    assert any(token.decode_tok_s for token in room.tokens)


def test_bars_have_a_fraction_an_estimate_and_the_ranks_they_wait_for() -> None:
    room = Room().read(case("03"))
    bar = next(e for e in room.loads if e.done == 3)
    assert (bar.phase, bar.total, bar.eta_us) == ("weights", 9, 28_500_000)
    slowest = [e.slowest for e in room.loads if e.slowest]
    assert "target 1/4 ranks, waiting for TP3, TP0, TP1" in slowest
    assert "target 4/4 ranks, slowest TP1 (6 s after the first)" in slowest
    last = room.loads[-1]
    assert (last.phase, last.done, last.total, last.eta_us) == (
        "draft graphs (draft extend)",
        1,
        4,
        48_060_000,
    )
    assert last.slowest == ""
    assert room.timeline.state.standing("base") is Standing.STARTING


def test_history_estimates_what_no_bar_does() -> None:
    room = Room()
    stages = (("arguments", 1.0), ("distributed", 5.0), ("weights", 60.0), ("graphs", 20.0))
    room.timeline.emit(load_known(NAME, "load 1", "warm", stages))
    room.read(case("03")[:13])
    distributed = next(e for e in room.loads if e.phase == "distributed")
    assert distributed.eta_us == 85_000_000


def test_a_missing_rank_is_named() -> None:
    room = Room().read(case("05"))
    assert room.loads[-1].phase == "distributed (NCCL init)"
    assert room.loads[-1].slowest == "7/8 ranks, missing rank 6"


@pytest.mark.parametrize(
    ("number", "marker", "why", "lines"),
    [
        (
            "17",
            "cuda-oom",
            "CUDA out of memory on GPU 3 / TP3: wanted 738 MiB, 403 MiB free; process 91022 holds",
            "torch.OutOfMemoryError",
        ),
        (
            "11",
            "kernel-oom",
            "host memory ran out (the cgroup's limit), not GPU memory",
            "oom-kill",
        ),
        ("07", "watchdog", "watchdog timeout 300 s (forward stuck in speculative verify)", "dump"),
        ("25", "port-taken", "port 30000 already in use", "address already in use"),
    ],
)
def test_a_failure_ends_the_wait_with_its_reason_and_its_lines(
    number: str, marker: str, why: str, lines: str
) -> None:
    room = Room().read(case(number))
    end = room.ends[-1]
    assert (end.ready, end.marker) == (False, marker)
    assert why in end.why
    assert end.first_line is not None
    shown = case(number)[end.first_line : end.first_line + end.line_count]
    assert any(lines in line for line in shown)
    notice = next(n for n in reversed(room.notices) if n.severity == "error")
    assert notice.text == end.why


ENDS = {
    "scheduler-exception": ("child-exception", "RuntimeError: simulated"),
    "rank-dead": ("rank-dead", "the scheduler of rank 3 died while starting"),
    "node-terminated": ("child-crash", "exit code -9"),
    "cuda-oom": ("cuda-oom", "CUDA out of memory on GPU 3 / TP3"),
    "no-kv-memory": ("pool-empty", "no GPU memory was left for the KV cache"),
    "unbalanced": ("unbalanced", "another process holds one of them"),
    "rank-missing": ("rank-missing", "others have not"),
    "graph-capture": ("cuda-oom", "wanted 738 MiB, 403 MiB free"),
    "nccl-error": ("nccl-error", "NCCL failed"),
    "nccl-cuda-error": ("nccl-error", "NCCL failed"),
    "nccl-timeout": ("nccl-timeout", "collective timeout 600 s, all-reduce 48211"),
    "watchdog": ("watchdog", "then SIGQUIT"),
    "watchdog-0.5.3": ("watchdog", "watchdog timeout 300 s, then SIGQUIT"),
    "prefill-oom": ("pool-oom", "the KV pool was exhausted"),
    "decode-oom": ("pool-oom", "the KV pool was exhausted"),
    "request-slots": ("pool-oom", "the KV pool was exhausted"),
    "kv-leak": ("pool-leak", "does not add up"),
    "illegal-access": ("illegal-access", "an illegal memory access was encountered (TP3)"),
    "detokenizer-exception": ("child-exception", "RuntimeError: simulated"),
    "port-in-use": ("port-taken", "port 8000 already in use"),
    "warmup-failed": ("warmup-failed", "res.status_code=500"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_failure_of_the_lab_ends_the_wait_or_is_only_noticed(name: str) -> None:
    fault, lines = FAULTS[name], list[str]()
    for line in fault.lines:
        rank = "" if line.rank is None or line.rank < 0 else f" TP{line.rank}"
        head = "" if line.rank is None else f"[2026-11-29 13:10:02{rank}] "
        text = line.text.replace("{pid}", "4711").replace("{port}", "8000")
        lines += (head + text).rstrip("\n").split("\n")
    begun = capture("sglang-baseline.log").split("\n")
    room = Room().read(begun[: 70 if fault.phase == "serving" else 48])
    room.events.clear()
    room.read(lines)
    if fault.end is End.LIVES:
        assert room.ends == []
        return
    marker, why = ENDS[name]
    end = room.ends[-1]
    assert (end.ready, end.marker) == (False, marker)
    assert why in end.why
    assert end.first_line is not None
    assert end.line_count >= 1


def test_what_systemd_starts_again_is_noticed_with_its_count() -> None:
    room = Room().read(case("11"))
    assert "halcyon.service is started again by systemd, restart 4" in [
        notice.text for notice in room.notices
    ]


def test_a_retraction_is_noticed_once_and_ends_nothing() -> None:
    room = Room().read([*case("27"), *case("27")], step_s=0.1)
    assert room.ends == []
    assert [n.severity for n in room.notices if "KV pool ran full" in n.text] == ["warning"]


def test_the_first_rate_after_a_pause_is_a_token_and_no_rate() -> None:
    lines = [DECODE.format(n, 62.9) for n in range(3)]
    lines += [PREFILL.format(40), DECODE.format(41, 1.7), DECODE.format(42, 62.8)]
    room = Room().read(lines)
    assert [t.decode_tok_s for t in room.tokens] == [None, 62.9, 62.9, None, 62.8]


def test_rates_of_data_parallel_ranks_are_summed() -> None:
    lines = [
        DECODE.format(n, rate).replace("TP0", f"DP{rank} TP0")
        for n, pair in enumerate(((50.0, 40.0), (51.0, 41.0)))
        for rank, rate in enumerate(pair)
    ]
    room = Room().read(lines)
    assert [t.decode_tok_s for t in room.tokens] == [None, None, 51.0, 92.0]


def test_a_counter_of_the_server_tells_tokens_in_place_of_the_lines() -> None:
    room = Room()
    counted = MetricSeen(NAME, Clean("/metrics"), ((Clean("decode_tokens_total"), 5.0),))
    room.timeline.emit(counted)
    room.read([DECODE.format(n, 62.9) for n in range(9)])
    assert room.tokens == []
    room.clock.advance(Pace().metrics_s * 5)
    room.read([DECODE.format(9, 62.9)])
    assert [t.decode_tok_s for t in room.tokens] == [62.9]


def test_what_was_there_before_explains_and_never_counts_as_now() -> None:
    room = Room(live=False)
    room.batch(capture("sglang-baseline.log").split("\n")[:100])
    assert room.events == []
    room.read([DECODE.format(1, 60.0), DECODE.format(2, 60.0)])
    assert [t.source for t in room.tokens] == ["log", "log"]
    assert room.of(LoadEnded) == []


def test_a_failure_that_was_there_before_is_told() -> None:
    room = Room(live=False)
    room.batch(case("17"))
    assert [(e.ready, e.marker) for e in room.ends] == [(False, "cuda-oom")]


def test_a_load_on_its_way_is_taken_up_in_the_middle() -> None:
    room = Room(live=False)
    room.batch(case("03")[:24])
    assert [(e.phase, e.done, e.total) for e in room.loads] == [("weights", 7, 9)]
    room.read(case("03")[24:40])
    assert room.loads[-1].phase == "graphs"


def test_health_is_asked_anew_when_the_log_says_that_it_changed() -> None:
    lines = capture("sglang-baseline.log").split("\n")
    room = Room().read(lines[:68])
    assert room.doubts == 0
    room.read(lines[68:69])
    assert room.doubts == 1
    room.read([DECODE.format(1, 62.9)])
    assert room.doubts == 1
    room.read(["[2026-03-02 09:00:02] SIGTERM received. signum=None frame=None. Draining requests"])
    assert room.doubts == 2
    room.read(case("11"))
    assert room.doubts > 2
    past = Room(live=False)
    past.batch(lines)
    assert past.doubts == 0


def test_a_second_start_in_one_log_begins_anew() -> None:
    """The first was killed without a word; the log goes on in the same file."""
    lines = capture("sglang-baseline.log").split("\n")
    room = Room().read(lines[:48]).read(lines)
    assert [e.ready for e in room.ends] == [True, False]
    assert [str(e.phase) for e in room.loads].count("distributed") == 2


def test_a_launch_that_empties_its_log_begins_anew() -> None:
    room = Room().read(case("17"))
    gap = LogGap(NAME, room.first, 1, GapKind.TRUNCATED, Clean("truncated"))
    assert room.reading.take(gap) == []
    room.first += 1
    room.read(case("03")[:13])
    assert room.loads[-1].phase == "weights"
    assert room.timeline.state.standing("base") is Standing.STARTING


def test_arguments_are_masked_flat_and_bounded() -> None:
    room = Room().read(case("39"))
    (args,) = [e for e in room.of(ArgsSeen) if isinstance(e, ArgsSeen)][:1]
    values = dict(args.args)
    assert values[Clean("ssl_keyfile_password")] == "<masked>"
    assert values[Clean("token_usage_alert")] == "0.95"
    assert "plover pass" not in str(room.events)


def test_hostile_lines_make_no_event_that_is_not_clean() -> None:
    room = Room().read(
        ["\x1b]0;title\x07server_args=ServerArgs(model_path='\x1b[2J', tp_size=8)"] * 2
    )
    assert "\x1b[2J" not in str(room.events)
    assert "\x07" not in str(room.events)
