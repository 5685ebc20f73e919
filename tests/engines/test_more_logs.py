"""Other wrappers, older builds and other failures than the settled cases show."""

# ruff: noqa: E501 (log lines stand as they are written)

from __future__ import annotations

import pytest

from console.engines.facts import (
    AccessSeen,
    DecodeSeen,
    ExitSeen,
    FailureSeen,
    ListeningSeen,
    NcclSetSeen,
    ReadySeen,
    SpecSeen,
    StatsSeen,
    TimingSeen,
)
from console.engines.failures import failure, marker_of, summary
from console.engines.grammar import parse_line
from console.engines.line import Line
from console.engines.literals import assignments, mapping
from console.engines.severity import severity
from console.engines.stamps import clock_offset_s, seconds
from console.model.fleet import Arm
from tests.engines.observing import observe

DECODE = (
    "[2026-03-02 09:00:01 TP0] Decode batch, #running-req: 1, #token: 1180, token usage: 0.01,"
    " cuda graph: True, gen throughput (token/s): 190.44, #queue-req: 0"
)


def one(text: str) -> Line:
    (line,) = parse_line(text)
    return line


def test_structured_logs_keep_level_and_time() -> None:
    line = one(
        '{"asctime": "2026-03-02 09:00:01", "levelname": "WARNING", "name": "sglang",'
        ' "message": "KV cache pool is full. Retract requests. #retracted_reqs: 1"}'
    )
    assert (line.head.level, line.head.outer) == ("warning", "2026-03-02 09:00:01")
    assert line.fact == FailureSeen("kv-full")
    assert one('{"a": 1}').text == '{"a": 1}'
    assert one('{"message": 1}').text == '{"message": 1}'


@pytest.mark.parametrize(
    "text",
    [
        "2026-04-12 20:33:58,123 - sglang.srt.managers - INFO - Decode batch, ",
        "2026-04-12T20:33:58.123Z INFO sglang: Decode batch, ",
        "2026-04-12 20:33:58 | INFO | scheduler:287 - Decode batch, ",
        "I0412 20:33:58 scheduler.py] Decode batch, ",
        "INFO:sglang.srt:Decode batch, ",
        "INFO 2026-04-12 20:33:58,123 [scheduler.py:12] Decode batch, ",
        "20:33:58.123 | INFO     | sglang:log:12 - Decode batch, ",
        "<14>1 2026-12-02T03:11:07.123+01:00 gpu-a07 sglang 41822 - - Decode batch, ",
    ],
)
def test_users_heads_never_hide_a_decode_line(text: str) -> None:
    line = one(text + DECODE.partition("Decode batch, ")[2])
    assert isinstance(line.fact, DecodeSeen)
    assert line.text.startswith("Decode batch, #running-req")


def test_a_structured_line_with_a_level_is_a_record_of_its_own() -> None:
    got = observe(
        [
            '{"level": "ERROR", "message": "Scheduler hit an exception: Traceback (most recent"}',
            '{"level": "INFO", "message": "another process goes on"}',
        ]
    )
    assert [p.record for p in got.placed] == [0, 1]


def test_colour_and_words_that_only_look_like_it() -> None:
    text = "\x1b[1;36m(VllmWorker rank=0 pid=3310)\x1b[0;0m INFO 06-14 09:41:15 [a.py:1] index [1;2] out"
    assert one(text).text == "index [1;2] out"
    assert one("[1;2] out of range").text == "[1;2] out of range"
    line = one("[2026-11-29 13:25:51] \x1b[1;33m'--disable-cuda-graph' is deprecated\x1b[0m")
    assert line.text == "'--disable-cuda-graph' is deprecated"


def test_nccl_warnings_stand_behind_their_file() -> None:
    line = one("orion-3:2210:2610 [3] misc/socket.cc:484 NCCL WARN Connection refused by peer")
    assert line.fact == FailureSeen("nccl-warn", (("what", "Connection refused by peer"),))
    assert (line.head.ranks, severity(line)) == ("GPU 3", "warning")
    stamped = one(
        "[2026-11-02 07:15:41] orion-3:1:2 [0] NCCL INFO NCCL_PROTO set by environment to LL"
    )
    assert stamped.fact == NcclSetSeen("NCCL_PROTO", "LL", 0, "orion-3")


OOM_FORMS = [
    (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 79.15 GiB total capacity; 77.20 GiB already allocated; 402.81 MiB free; 77.9 GiB reserved)",
        "CUDA out of memory on GPU 1: wanted 2 GiB, 403 MiB free",
    ),
    (
        "alloc_buffer: allocating 12000.00 MiB on device 0: cudaMalloc failed: out of memory",
        "CUDA out of memory on GPU 0: wanted 12000 MiB",
    ),
]


@pytest.mark.parametrize(("text", "want"), OOM_FORMS)
def test_out_of_memory_in_other_words(text: str, want: str) -> None:
    found = failure(text)
    assert found is not None
    assert found.marker == "cuda-oom"
    assert summary(found) == want


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("OSError: [Errno 98] Address already in use", "port-taken"),
        ("couldn't bind HTTP server socket, hostname: 0.0.0.0, port: 8080", "port-taken"),
        ("ERROR: port 30000 is already in use", "port-taken"),
        ("port 30003 is in use. Waiting for it", "port-next"),
        ("The server socket has failed to bind to [::]:29500 (errno: 98)", "port-taken"),
        ("ValueError: No available memory for the cache blocks.", "pool-empty"),
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "pool-empty"),
        ("OSError: [Errno 28] No space left on device", "disk-full"),
        ("RuntimeError: CUDA error: no kernel image is available for execution", "cuda-error"),
        ("RuntimeError: CUDA error: device-side assert triggered", "illegal-access"),
        ("kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.", "xid-fatal"),
        ("NVRM: Xid (PCI:0000:41:00): 63, row remapping", "xid"),
        ("TP rank 2 could finish the model loading, but there are other ranks that didn't", "rank-missing"),
        ("Rank 3 scheduler is dead. Please check if there are relevant logs.", "rank-dead"),
        ("scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", "watchdog"),
        ("/bin/start.sh: line 4: 41977 Killed   python3 -m sglang.launch_server", "killed"),
        ("Initialization failed. warmup error: Traceback", "warmup-failed"),
        ("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.", "engine-dead"),
        ("exiting due to model loading error", "model-load"),
        ("SIGTERM received. signum=None frame=None. Draining requests and shutting down...", "draining"),
        ("Capture cuda graph failed: something", "graph-capture"),
        ("token_to_kv_pool_allocator memory leak detected! 3", "pool-leak"),
        ("Decode out of memory. Try to lower your batch size.", "pool-oom"),
        ("The memory capacity is unbalanced. Some GPUs may be occupied", "unbalanced"),
        ("Last state: OOMKilled", "kernel-oom"),
        ("OSError: /m does not appear to have a file named config.json.", "no-model"),
    ],
)  # fmt: skip
def test_failure_markers(text: str, marker: str) -> None:
    found = failure(text)
    assert found is not None
    assert found.marker == marker
    assert marker_of(found).id == marker
    assert summary(found)


@pytest.mark.parametrize(
    "text",
    [
        "Killed by nobody, a story",
        "loading model '/models/petrel.gguf'",
        "Starting to load model /m...",
        "The watchdog is on",
        "server_args.enable_watchdog=True",
        "token usage: 0.99, memory is fine",
    ],
)
def test_ordinary_words_are_no_failure(text: str) -> None:
    found = failure(text)
    assert found is None or found.marker == "killed"
    if found:
        assert text.startswith("Killed ")


def test_vllms_traceback_is_one_record_though_each_line_has_its_head() -> None:
    head = "(EngineCore_DP0 pid=51) ERROR 10-11 08:02:10 [core.py:708] "
    got = observe(
        [
            head + "EngineCore failed to start.",
            head + "Traceback (most recent call last):",
            head + '  File "/v/core.py", line 699, in run_engine_core',
            head + "ValueError: No available memory for the cache blocks. Try increasing it.",
            "(EngineCore_DP0 pid=51) Process EngineCore_DP0:",
            "(APIServer pid=40) RuntimeError: Engine core initialization failed. See root cause above.",
        ]
    )
    assert len({p.record for p in got.placed[:4]}) == 1
    assert got.incident is not None
    assert got.incident.reason.startswith("no GPU memory was left for the KV cache")
    assert got.incident.began == "10-11 08:02:10"
    assert len(got.incident.records) == 2


def test_an_exceptions_own_words_name_an_unknown_failure() -> None:
    got = observe(
        [
            "[2026-04-03 22:18:45 TP1] Scheduler hit an exception: Traceback (most recent call last):",
            '  File "/x.py", line 1, in f',
            "ValueError: unsupported head size 96",
            "[2026-04-03 22:18:46] Received sigquit from a child process. It usually means ...",
        ]
    )
    assert got.incident is not None
    assert got.incident.reason == (
        "a child process died of a Python exception: ValueError: unsupported head size 96"
    )
    assert got.incident.ranks == ("TP1",)


def test_a_stop_is_no_crash() -> None:
    got = observe(
        [
            "[2026-11-29 13:30:11.118] SIGTERM received. signum=None frame=None. Draining requests",
            "[2026-11-29 13:30:12] Subprocess scheduler_0 (pid=7) crashed with exit code -15.",
            "sglang-1 exited with code 143",
        ]
    )
    assert got.incident is None
    assert [severity(x) for x in got.lines] == ["info", "error", "info"]
    assert got.facts(ExitSeen) == [ExitSeen("sglang-1", 143)]


def test_an_exit_alone_is_an_incident() -> None:
    got = observe([DECODE, "container sglang-1 exited (137)"])
    assert got.incident is not None
    assert got.incident.reason == "sglang-1 ended with exit code 137"


def test_older_llamacpp_builds() -> None:
    got = observe(
        [
            "main: HTTP server is listening, hostname: 127.0.0.1, port: 8080, http threads: 31",
            "main: loading model",
            "main: model loaded",
            "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
            "slot launch_slot_: id  0 | task 12 | processing task",
            "slot print_timing: id  0 | task 12 | ",
            "prompt eval time =     210.40 ms /   180 tokens (    1.17 ms per token,   855.51 tokens per second)",
            "       eval time =    5120.00 ms /   400 tokens (   12.80 ms per token,    78.13 tokens per second)",
            "      total time =    5330.40 ms /   580 tokens",
            "slot print_timing: id  0 | task 12 | draft acceptance rate = 0.57576 (  171 accepted /   297 generated)",
            "srv  log_server_r: request: POST /completion 127.0.0.1 200",
        ]
    )
    assert got.facts(ListeningSeen) == [ListeningSeen("")]
    assert got.facts(ReadySeen) == [ReadySeen("127.0.0.1:8080")]
    assert [t.kind for t in got.facts(TimingSeen)] == ["prompt", "eval", "total"]
    assert [(r.tok_s, r.kind) for r in got.rates] == [(78.13, "request")]
    assert got.facts(SpecSeen) == [SpecSeen(None, 0.57576, 171, 297, task=12)]
    assert got.facts(AccessSeen) == [AccessSeen("POST", "/completion", 200, "127.0.0.1")]


def test_older_vllm_statistics() -> None:
    line = one(
        "INFO 05-01 10:00:00 metrics.py:455] Avg prompt throughput: 10.1 tokens/s, Avg generation"
        " throughput: 33.4 tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV"
        " cache usage: 0.4%, CPU KV cache usage: 0.0%."
    )
    assert line.fact == StatsSeen(10.1, 33.4, 1, 2, 0.004, None)
    old = one(
        "INFO 05-01 10:00:00 [metrics.py:82] SpecDecoding metrics: Draft acceptance rate: 53.6%,"
        " Mean acceptance length: 2.61, Accepted: 881 tokens, Drafted: 1644 tokens, Per-position"
        " acceptance rate: 0.790, 0.520, 0.300"
    )
    assert isinstance(old.fact, SpecSeen)
    assert (old.fact.accept_len, old.fact.positions) == (2.61, (0.79, 0.52, 0.3))


def test_what_the_arm_is_by_its_drafts() -> None:
    got = observe(
        ["0.41.220.004 I common_speculative_init_result: loading draft model '/models/d.gguf'"]
    )
    assert got.arm is not None
    assert got.arm.arm is Arm.SPECULATIVE


@pytest.mark.parametrize(
    ("at", "want"),
    [
        ("1970-01-02 00:00:01.5", 86401.5),
        ("1970-01-01T02:00:00+02:00", 0.0),
        ("1970-01-01T00:00:00.25Z", 0.25),
        ("147.31.402.115", 8851.402115),
        ("0.00.011.204", 0.011204),
        ("2026-13-01 00:00:00", None),
        ("Dez 02 03:11:07", None),
        ("", None),
    ],
)
def test_stamps(at: str, want: float | None) -> None:
    assert seconds(at) == (None if want is None else pytest.approx(want))


def test_stamps_without_a_year_can_be_subtracted() -> None:
    a, b = seconds("E1104"[1:] + " 06:18:22.118204551"), seconds("1104 06:18:23.001600231")
    assert a is not None
    assert b is not None
    assert b - a == pytest.approx(0.88339568)
    c, d = seconds("02-29 08:02:10"), seconds("10-11 08:02:10")
    assert c is not None
    assert d is not None
    assert seconds("403 22:18:46.102334711") is not None


def test_clocks_without_a_zone_say_nothing() -> None:
    assert clock_offset_s("2026-09-04 13:02:10", "2026-09-04T11:02:11.4Z") == 7200
    assert clock_offset_s("2026-09-04 05:32:10", "2026-09-04T11:02:11.4Z") == -19800
    assert clock_offset_s("2026-09-04 13:02:10", "Dez 02 03:11:07") is None


def test_printed_arguments() -> None:
    assert assignments("a=1, b='x, y', c=[1, 2], d={'e': None}, f=1.5e-3)") == {
        "a": 1,
        "b": "x, y",
        "c": [1, 2],
        "d": {"e": None},
        "f": 0.0015,
    }
    assert mapping("{'a': 'it\\'s', 'b': Foo(x=1, y='}'), 'c': -3}") == {
        "a": "it's",
        "b": "Foo(x=1, y='}')",
        "c": -3,
    }
    assert mapping("{'api_key': <masked>, 'b': True") == {"api_key": "<masked>", "b": True}
    assert mapping("nothing") == {}
