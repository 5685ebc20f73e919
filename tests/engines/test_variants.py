"""Wrappers, heads, builds and failures beyond the settled cases: what must come of each line."""

# ruff: noqa: E501 (log lines stand as they are written)

from __future__ import annotations

import json

import pytest

from console.engines.arm import arm_of
from console.engines.facts import (
    AccessSeen,
    BarSeen,
    DecodeSeen,
    ExitSeen,
    ListeningSeen,
    NcclInitSeen,
    NoteSeen,
    PhaseSeen,
    ReadySeen,
    SpecSeen,
    StatsSeen,
    TimingSeen,
    VersionSeen,
)
from console.engines.grammar import parse_line
from console.engines.line import Line
from console.engines.severity import noise, severity
from console.engines.stamps import seconds
from console.model.fleet import Arm, Engine
from tests.engines.observing import observe

MESSAGE = (
    "Decode batch, #running-req: 1, #token: 1180, token usage: 0.01, cuda graph: True,"
    " gen throughput (token/s): 190.44, #queue-req: 0"
)
DECODE = f"[2026-03-02 09:00:01 TP0] {MESSAGE}"
BAR = "Loading safetensors checkpoint shards:  45% Completed | 5/11 [00:02<00:02,  2.05it/s]"


def one(text: str) -> Line:
    (line,) = parse_line(text)
    return line


@pytest.mark.parametrize(
    ("prefix", "wrapper", "source", "outer"),
    [
        (" 2月 02 09:00:01 gpu-a07 py[7]: ", "journal short", "py", " 2月 02 09:00:01"),
        ("дек 02 09:00:01 gpu-a07 py[7]: ", "journal short", "py", "дек 02 09:00:01"),
        ("Dec  2 09:00:01.12 gpu-a07.x.net py[7]: ", "journal short", "py", "Dec  2 09:00:01.12"),
        (
            "水 2026-03-02 09:00:01 JST gpu-a07 py[7]: ",
            "journal short-full",
            "py",
            "水 2026-03-02 09:00:01 JST",
        ),
        ("[    5.123456] gpu-a07 py[7]: ", "journal short-monotonic", "py", "[    5.123456]"),
        (
            "<14>1 2026-03-02T09:00:01.1+01:00 gpu-a07 sglang 7 - - ",
            "syslog",
            "sglang",
            "2026-03-02T09:00:01.1+01:00",
        ),
        ("default halcyon-0 sglang ", "stern", "halcyon-0/sglang", ""),
        (
            "halcyon-7d9f-x2x9z sglang 03-02 09:00:01.5 ",
            "stern",
            "halcyon-7d9f-x2x9z/sglang",
            "03-02 09:00:01.5",
        ),
        ("12: ", "srun", "task 12", ""),
        ("[default3]:", "srun", "task 3", ""),
        ("[1,3]<stderr>: ", "srun", "task 3", ""),
        ("halcyon-0 sglang ", "stern", "halcyon-0/sglang", ""),
        (
            "halcyon-0 sglang 2026-03-02T08:00:01.5Z ",
            "stern --timestamps",
            "halcyon-0/sglang",
            "2026-03-02T08:00:01.5Z",
        ),
        ("Mär 02 09:00:01 gpu-a07 sglang[77]: ", "journal short", "sglang", "Mär 02 09:00:01"),
        (
            "Mo 2026-03-02 09:00:01 CET gpu-a07 sglang[77]: ",
            "journal short-full",
            "sglang",
            "Mo 2026-03-02 09:00:01 CET",
        ),
        (
            "1772438401.123456 gpu-a07 sglang[77]: ",
            "journal short-unix",
            "sglang",
            "1772438401.123456",
        ),
        (
            "2026-03-02T09:00:01.123456+01:00 gpu-a07 halcyon.service[77]: ",
            "journal short-iso",
            "halcyon.service",
            "2026-03-02T09:00:01.123456+01:00",
        ),
        (
            "sglang_1  | 2026-03-02T08:00:01.5Z ",
            "docker compose --timestamps",
            "sglang_1",
            "2026-03-02T08:00:01.5Z",
        ),
    ],
)
def test_prefixes_of_other_carriers(prefix: str, wrapper: str, source: str, outer: str) -> None:
    line = one(prefix + DECODE)
    head = line.head
    assert isinstance(line.fact, DecodeSeen)
    assert (head.wrapper, head.source, head.outer) == (wrapper, source, outer)
    assert (head.at, head.ranks, head.style) == ("2026-03-02 09:00:01", "TP0", "sglang")


@pytest.mark.parametrize(
    "prefix", ["12: ", "halcyon-0 sglang ", "sglang-1  | ", "[default0]:", "(RayWorker pid=7) "]
)
def test_a_bar_keeps_its_name_behind_a_prefix(prefix: str) -> None:
    fact = one(prefix + BAR).fact
    assert isinstance(fact, BarSeen)
    assert (fact.label, fact.done, fact.kind) == (
        "Loading safetensors checkpoint shards",
        5.0,
        "shards",
    )


def test_kernel_lines_of_dmesg() -> None:
    for stamp in ("12345.678901", "Wed Dec  2 03:11:07 2026"):
        line = one(f"[{stamp}] Out of memory: Killed process 41977 (sglang::schedul) total-vm:1kB")
        assert (line.head.wrapper, line.head.source, line.head.outer) == ("dmesg", "kernel", stamp)
        assert severity(line) == "error"


def journal(message: object, **more: str) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": "1772438401123456", "MESSAGE": message, **more})


def test_the_journal_as_json() -> None:
    line = one(journal(DECODE, _PID="41822", SYSLOG_IDENTIFIER="sglang", PRIORITY="6"))
    assert (line.head.source, line.head.pid, line.head.level) == ("sglang", 41822, None)
    assert seconds(line.head.outer) == pytest.approx(1772438401.123456)
    bar = one(journal([13, *b"Capturing batches:  50%|x| 4/8 [00:02<00:02,  1.90it/s]"]))
    assert isinstance(bar.fact, BarSeen)
    assert one(journal(None)).fact == NoteSeen("text withheld by the journal")
    assert severity(one(journal("odd", PRIORITY="3"))) == "error"


@pytest.mark.parametrize(
    ("made", "level"),
    [
        ({"event": MESSAGE, "level": "warning", "timestamp": "2026-03-02T09:00:01Z"}, "warning"),
        ({"textPayload": MESSAGE, "severity": "ERROR"}, "error"),
        ({"msg": MESSAGE, "lvl": "warn", "ts": 1772438401.5}, "warning"),
        ({"message": MESSAGE, "log": {"level": "info"}, "@timestamp": "x"}, "info"),
        (
            {
                "text": "2026 | INFO | x",
                "record": {
                    "message": MESSAGE,
                    "level": {"name": "INFO", "no": 20},
                    "process": {"id": 71, "name": "p"},
                    "time": {"repr": "2026-03-02 09:00:01+01:00", "timestamp": 1},
                },
            },
            "info",
        ),
    ],
)
def test_structured_loggers(made: dict[str, object], level: str) -> None:
    line = one(json.dumps(made))
    assert isinstance(line.fact, DecodeSeen)
    assert line.head.level == level


def test_a_line_without_a_stamp_does_not_take_that_of_a_structured_one() -> None:
    got = observe([json.dumps({"msg": "a", "time": "2026-03-02T09:00:01Z"}), DECODE])
    assert [x.head.wrapper for x in got.lines] == ["json", ""]


@pytest.mark.parametrize(
    ("head", "at", "level", "ranks"),
    [
        ("[2026-04-12 20:33:58,123][WARNING][sglang] ", "2026-04-12 20:33:58,123", "warning", ""),
        ("[WARNING 2026-04-12 20:33:58,1 s.py:287] ", "2026-04-12 20:33:58,1", "warning", ""),
        ("[2026-04-12 20:33:58] [TP3] [WARNING] ", "2026-04-12 20:33:58", "warning", "TP3"),
        ("[WARNING] ", "", "warning", ""),
        ("WARNING:sglang.srt:", "", "warning", ""),
        ("WARNING - 2026-04-12 20:33:58 - ", "2026-04-12 20:33:58", "warning", ""),
        ("2026/04/12 20:33:58 [warn] ", "2026/04/12 20:33:58", "warning", ""),
        ("W0412 20:33:58.123456   71 x.py:287] ", "0412 20:33:58.123456", "warning", ""),
        ("20:33:58 WARNING ", "20:33:58", "warning", ""),
        ("20:33:58.123 | WARNING  | x:y:12 - ", "20:33:58.123", "warning", ""),
        ("2026-04-12 20:33:58 - WARNING - ", "2026-04-12 20:33:58", "warning", ""),
        ("2026-04-12T20:33:58.1Z WARNING ", "", "warning", ""),
        ("[2026-04-12 20:33:58] WARNING x.py L120: ", "2026-04-12 20:33:58", "warning", ""),
        ("[TensorRT-LLM][WARNING] ", "", "warning", ""),
    ],
)
def test_users_heads_give_time_level_and_rank(head: str, at: str, level: str, ranks: str) -> None:
    line = one(head + "the KV pool is small")
    assert (line.head.at, line.head.level, line.head.ranks) == (at, level, ranks)
    assert line.text.endswith("the KV pool is small")
    assert severity(line) == "warning"
    assert isinstance(one(head + MESSAGE).fact, DecodeSeen)


def test_logfmt() -> None:
    line = one('time="2026-04-12T20:33:58Z" level=error msg="upstream \\"a\\" is gone"')
    assert (line.text, line.head.level, line.head.at) == (
        'upstream "a" is gone',
        "error",
        "2026-04-12T20:33:58Z",
    )


@pytest.mark.parametrize(
    "text",
    [
        "[Expert Balancedness] 0.9",
        "[1;2] out of range",
        "[INFO that is none",
        "Error in the text",
        "time=5 of something",
        "2026 was a year",
        "halcyon-0 sglang is a pod",
        "12: nothing follows",
    ],
)
def test_what_only_looks_like_a_head_stays(text: str) -> None:
    line = one(text)
    assert line.text == text
    assert (line.head.at, line.head.level, line.head.wrapper) == ("", None, "")


def test_a_rank_of_any_name_and_a_head_of_the_diffusion_server() -> None:
    assert one("[2026-05-02 10:00:00 NODE1 TP8] Load weight begin.").head.ranks == "NODE1 TP8"
    assert one("[10-30 14:20:06 TP0] Load weight begin.").head.at == "10-30 14:20:06"


def test_the_exception_report_of_a_rank_is_one_record_with_its_rank() -> None:
    got = observe(
        [
            "[rank3]: Traceback (most recent call last):",
            '[rank3]:   File "/x.py", line 1, in f',
            "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 94.97 GiB of which 1.20 GiB is free.",
        ]
    )
    assert len({p.record for p in got.placed}) == 1
    assert got.incident is not None
    assert got.incident.reason == (
        "CUDA out of memory on GPU 3 / rank 3: wanted 2 GiB, 1.2 GiB free"
    )


def test_ray_in_front_of_the_engine_and_behind_it() -> None:
    nested = one(
        "(EngineCore_0 pid=99) (RayWorkerWrapper pid=4711, ip=10.0.0.2) INFO 05-02 10:00:00"
        " [gpu_model_runner.py:1595] Model loading took 18.5801 GiB and 6.912210 seconds"
    )
    assert (nested.head.process, nested.head.pid) == ("RayWorkerWrapper", 4711)
    assert isinstance(nested.fact, PhaseSeen)
    inside = one(
        "(RayWorkerWrapper pid=4711, ip=10.0.0.2) [2026-05-02 10:00:00 TP9] Load weight begin."
    )
    assert (inside.head.ranks, inside.head.pid) == ("TP9", 4711)
    assert inside.fact == PhaseSeen("weights", "begin")
    assert (
        noise(parse_line(f"(RayWorker pid=7) {BAR} [repeated 3x across cluster]")[1]) == "chatter"
    )


VLLM_START = [
    "(APIServer pid=1) INFO 11-02 10:00:00 [api_server.py:1839] vLLM API server version 0.11.0",
    "(APIServer pid=1) INFO 11-02 10:00:01 [utils.py:233] non-default args: {'model_tag': 'Q/Q3', 'model': 'Q/Q3', 'tensor_parallel_size': 2}",
    "(EngineCore_DP0 pid=272) INFO 11-02 10:00:15 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='Q/Q3', speculative_config=None, tensor_parallel_size=2, seed=0",
    "(Worker_TP0 pid=300) INFO 11-02 10:00:22 [gpu_model_runner.py:2602] Starting to load model Q/Q3...",
    "(Worker_TP1 pid=301) INFO 11-02 10:00:22 [gpu_model_runner.py:2602] Starting to load model Q/Q3...",
    "(Worker_TP0 pid=300) Loading safetensors checkpoint shards:  59% Completed | 10/17 [00:20<00:14,  2.00s/it]",
    "(Worker_TP0 pid=300) Loading safetensors checkpoint shards: 100% Completed | 17/17 [00:34<00:00,  2.00s/it]",
    "(Worker_TP0 pid=300) INFO 11-02 10:00:59 [gpu_model_runner.py:2653] Model loading took 30.5855 GiB and 35.774402 seconds",
    "(Worker_TP1 pid=301) INFO 11-02 10:01:01 [gpu_model_runner.py:2653] Model loading took 30.5855 GiB and 37.774402 seconds",
    "(Worker_TP0 pid=300) INFO 11-02 10:01:08 [backends.py:559] Dynamo bytecode transform time: 8.87 s",
    "(Worker_TP0 pid=300) INFO 11-02 10:01:40 [backends.py:218] Compiling a graph for dynamic shape takes 30.33 s",
    "(Worker_TP0 pid=300) INFO 11-02 10:01:45 [monitor.py:34] torch.compile takes 39.20 s in total",
    "(Worker_TP0 pid=300) INFO 11-02 10:01:46 [gpu_worker.py:298] Available KV cache memory: 38.23 GiB",
    "(EngineCore_DP0 pid=272) INFO 11-02 10:01:47 [kv_cache_utils.py:1087] GPU KV cache size: 313,120 tokens",
    "(Worker_TP0 pid=300) Capturing CUDA graphs (decode, FULL): 100%|██████████| 35/35 [00:03<00:00, 11.00it/s]",
    "(APIServer pid=1) INFO 11-02 10:02:03 [api_server.py:1912] Starting vLLM API server 0 on http://0.0.0.0:8001",
    "(APIServer pid=1) INFO:     Application startup complete.",
]


def test_a_start_of_vllm_0_11() -> None:
    got = observe(VLLM_START)
    assert [s.name for s in got.load.stages] == [
        "arguments",
        "weights",
        "compile",
        "kv cache",
        "graphs",
    ]
    assert got.load.ready
    assert (got.load.version, got.load.kv_tokens, got.load.ranks) == ("0.11.0", 313120, 2)
    assert str(got.arm) == "baseline"
    assert [(s, r) for s, r, _ in got.load.weights] == [("target", "TP0"), ("target", "TP1")]


def test_vllm_before_its_v1_engine() -> None:
    got = observe(
        [
            "INFO 02-01 10:00:00 api_server.py:712] vLLM API server version 0.6.6",
            "INFO 02-01 10:00:00 api_server.py:713] args: Namespace(model_tag='/m', port=8000, tensor_parallel_size=4, speculative_model='/m/d', num_speculative_tokens=5)",
            "INFO 02-01 10:00:10 model_runner.py:1094] Starting to load model /m/llama...",
            "INFO 02-01 10:00:20 model_runner.py:1099] Loading model weights took 14.9888 GB",
            "INFO 02-01 10:00:22 worker.py:241] Memory profiling takes 2.10 seconds",
            "INFO 02-01 10:00:22 gpu_executor.py:76] # GPU blocks: 27898, # CPU blocks: 2048",
            "INFO 02-01 10:00:25 model_runner.py:1415] Capturing cudagraphs for decoding. This may lead",
            "INFO:     Application startup complete.",
            "INFO 02-01 10:01:00 metrics.py:489] Speculative metrics: Draft acceptance rate: 0.653, System efficiency: 0.512, Number of speculative tokens: 5, Number of accepted tokens: 1023, Number of draft tokens: 1565, Number of emitted tokens: 1300.",
        ]
    )
    assert [s.name for s in got.load.stages] == ["arguments", "weights", "kv cache", "graphs"]
    assert got.load.ready
    assert str(got.arm) == "draft model, 5 draft tokens"
    (spec,) = got.facts(SpecSeen)
    assert (spec.accept_len, spec.fraction) == (
        pytest.approx(1300 / (1565 / 5)),
        pytest.approx(1023 / 1565),
    )


def test_vllms_banner_thousands_and_ngram() -> None:
    assert one(
        "(APIServer pid=1) INFO 11-02 10:00:00 [utils.py:325]   █▄█▀ █ version 0.15.0"
    ).fact == (VersionSeen(Engine.VLLM, "0.15.0"))
    stats = one(
        "(APIServer pid=1) INFO 11-02 10:02:23 [loggers.py:127] Engine 001: Avg prompt throughput:"
        " 1,012.0 tokens/s, Avg generation throughput: 1,055.1 tokens/s, Running: 14 reqs, Waiting:"
        " 3 reqs, Deferred: 1 reqs, GPU KV cache usage: 97.2%, Prefix cache hit rate: 12.5%"
    )
    assert stats.fact == StatsSeen(1012.0, 1055.1, 14, 3, 0.972, 0.125, "001")
    found = arm_of({"speculative_model": "[ngram]", "num_speculative_tokens": 4})
    assert found is not None
    assert (found.arm, str(found)) == (Arm.SPECULATIVE, "ngram, 4 draft tokens")


LLAMA_OLD = [
    "build: 4042 (75207b3a) with cc (Debian 12.2.0-14) 12.2.0 for x86_64-linux-gnu",
    "main: HTTP server is listening, hostname: 127.0.0.1, port: 8080, http threads: 15",
    "srv    load_model: loading model '/models/q.gguf'",
    "srv          init: initializing slots, n_slots = 1",
    "main: model loaded",
    "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
    "slot update_slots: id  0 | task 0 | prompt processing progress, n_past = 12, n_tokens = 12, progress = 0.500000",
    "draft acceptance rate = 0.57576 (  171 accepted /   297 generated)",
    "srv  log_server_r: done request: POST /v1/chat/completions 127.0.0.1 200",
]


def test_llamacpp_of_2024() -> None:
    got = observe(LLAMA_OLD)
    assert (got.load.version, got.load.engine, got.load.ready) == ("b4042", Engine.LLAMACPP, True)
    assert [s.name for s in got.load.stages] == ["weights", "kv cache"]
    (progress,) = got.facts(TimingSeen)
    assert (progress.tokens, progress.fraction) == (12, 0.5)
    assert got.facts(SpecSeen) == [SpecSeen(None, 0.57576, 171, 297)]
    assert got.facts(AccessSeen) == [AccessSeen("POST", "/v1/chat/completions", 200, "127.0.0.1")]


def test_llamacpp_with_fields_behind_a_bar() -> None:
    first = 'INFO [                    main] HTTP server listening | tid="140" timestamp=1715000000 port="8080"'
    timed = (
        "INFO [           print_timings] generation eval time =    1520.12 ms /   128 runs   ("
        '   11.88 ms per token,    84.20 tokens per second) | tid="140" timestamp=1715000010'
    )
    assert one(first).fact == ListeningSeen("")
    assert one(timed).fact == TimingSeen("eval", -1, -1, 128, 1520.12, 84.2)
    as_json = json.dumps({"level": "INFO", "msg": timed[32:].partition(" |")[0], "timestamp": 17})
    assert isinstance(one(as_json).fact, TimingSeen)


REASONS = [
    ("CUDA error: out of memory", "CUDA out of memory"),
    ("NCCL WARN Cuda failure 2 'out of memory'", "CUDA out of memory"),
    (
        "Error while creating shared memory segment /dev/shm/nccl-x (size 9637888), error: No space left on device (28)",
        "/dev/shm is too small or full",
    ),
    (
        "slurmstepd: error: *** STEP 123.0 ON node1 CANCELLED AT 2026-05-02T10:00:00 DUE TO TIME LIMIT ***",
        "Slurm ended the job: time limit",
    ),
    (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=123.0. Some of the step tasks have been OOM Killed.",
        "the kernel's OOM killer ended a process: host memory ran out (RAM), not GPU memory",
    ),
    (
        "(EngineCore_DP0 pid=2) ERROR 11-02 10:03:00 [core.py:708] ValueError: Free memory on device (3.2/79.15 GiB) on startup is less than desired GPU memory utilization (0.9, 71.24 GiB).",
        "less GPU memory was free at the start than --gpu-memory-utilization asks for: 3.2 of 79.15 GiB",
    ),
    (
        "(EngineCore_DP0 pid=2) ERROR 11-02 10:03:00 [core.py:708] ValueError: To serve at least one request (24.00 GiB KV cache is needed, which is larger than the available KV cache memory (11.14 GiB).",
        "no GPU memory was left for the KV cache after the weights",
    ),
    (
        "(EngineCore_DP0 pid=2) ERROR 11-02 10:03:00 [m.py:154] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.",
        "vLLM's worker VllmWorker-1 died",
    ),
    (
        "[2026-04-03 22:18:45] Rank 5 scheduler died during initialization (exit code: -9). If exit code is -9",
        "the scheduler of rank 5 died while starting with exit code -9",
    ),
    (
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 clients joined.",
        "ranks did not find each other in time: 7/8 joined",
    ),
    (
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (10.0.0.1, 20000).",
        "ranks did not find each other in time: no answer from 10.0.0.1, 20000",
    ),
    (
        "huggingface_hub.errors.GatedRepoError: 401 Client Error. Access to model x/y is restricted.",
        "the model may be downloaded only with a Hugging Face login that was granted access",
    ),
    (
        "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
        "a weight file is damaged or was not copied whole",
    ),
    (
        "ValueError: Model architectures ['X'] are not supported for now. Supported architectures: dict_keys([])",
        "this version of the engine does not know the model's architecture",
    ),
    (
        "llama_model_load: error loading model: unknown model architecture: 'qwen9'",
        "this version of the engine does not know the model's architecture",
    ),
    ("RuntimeError: No CUDA GPUs are available", "the process sees no GPU that it can use"),
    (
        "launch_server.py: error: unrecognized arguments: --speculative-draft",
        "an argument is not accepted: unrecognized arguments: --speculative-draft",
    ),
    (
        "error: invalid argument: --draft-max",
        "an argument is not accepted: invalid argument: --draft-max",
    ),
    (
        "ModuleNotFoundError: No module named 'sglang'",
        "the program is not installed where it was started: sglang",
    ),
    (
        "bash: python3: command not found",
        "the program is not installed where it was started: python3",
    ),
    (
        "gguf_init_from_file: failed to open GGUF file '/m/x.gguf': 'No such file or directory'",
        "the model was not found at the path or name that was given",
    ),
    ("Aborted (core dumped)", "a process aborted outside Python"),
    ("free(): invalid pointer", "a process aborted outside Python"),
    ("double free or corruption (!prev)", "a process aborted outside Python"),
    ("/src/ggml/src/ggml-cuda/ggml-cuda.cu:88: CUDA error", "a process aborted outside Python"),
    (
        "E1129 12:00:00.000000 123 torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: -9) local_rank: 3 (pid: 4711) of binary: /usr/bin/python3",
        "a child process ended with exit code -9",
    ),
    (
        "command terminated with exit code 137",
        "a shell reports SIGKILL; who sent it is not said",
    ),
    (
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376.",
        "a Triton kernel wants more of this GPU than it has: shared memory",
    ),
    (
        "Failed to initialize NVML: Driver/library version mismatch",
        "the process sees no GPU that it can use",
    ),
    (
        "[TRT-LLM] [E] Failed to initialize executor on rank 3: CUDA out of memory",
        "CUDA out of memory",
    ),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/models/halcyon/config.json'",
        "the model was not found at the path or name that was given",
    ),
    (
        "[11/03/2026-09:20:10] [TRT-LLM] [RANK 0] [E] Hang detected on rank 0 in PyExecutor.",
        "TensorRT-LLM's executor hangs",
    ),
    (
        "déc. 02 03:11:18 gpu-a07 systemd[1]: halcyon.service: Start request repeated too quickly.",
        "it died so often that it is not started again for now",
    ),
]


@pytest.mark.parametrize(("text", "reason"), REASONS)
def test_each_failure_ends_the_wait_with_its_reason(text: str, reason: str) -> None:
    got = observe([text])
    assert got.incident is not None
    assert got.incident.reason == reason
    assert got.severity == "error"


@pytest.mark.parametrize(
    "text",
    [
        "[2026-05-02 10:00:00 TP0] Soft watchdog timeout (soft_watchdog_timeout=60)",
        "[2026-05-02 10:00:00 TP0] watchdog timeout (self.watchdog_timeout=60, self.soft=True)",
        "(EngineCore_DP0 pid=2) WARNING 11-02 10:03:00 [shm_broadcast.py:529] No available shared memory broadcast block found in 60 seconds.",
        "WARNING 11-02 10:03:00 [scheduler.py:5] Sequence group x is preempted by PreemptionMode.RECOMPUTE mode",
        "Warning  Unhealthy  2m  kubelet  Liveness probe failed: Get http://10.0.0.1:8000/health: timeout",
    ],
)
def test_what_only_warns_ends_nothing(text: str) -> None:
    got = observe([text])
    assert got.incident is None
    assert got.severity == "warning"


def test_the_cause_outweighs_what_it_brought_about() -> None:
    got = observe(
        [
            "[2026-04-03 22:18:45 TP3] Scheduler hit an exception: Traceback (most recent call last):",
            "RuntimeError: NCCL error in: NCCLUtils.cpp:94, unhandled system error, NCCL version 2.27.5",
            "Error while creating shared memory segment /dev/shm/nccl-x (size 9), error: No space left",
            "[2026-04-03 22:18:46] Received sigquit from a child process. It usually means the child failed.",
            "Killed",
        ]
    )
    assert got.incident is not None
    assert got.incident.reason == "/dev/shm is too small or full"
    assert got.incident.ranks == ("TP3",)


@pytest.mark.parametrize(
    "text",
    [
        "Gracefully stopping... (press Ctrl+C again to force)",
        "Attaching to sglang-1, router-1",
        "+ halcyon-0 › sglang",
        "-- Boot 5d0a1c --",
        "Hint: You are currently not seeing messages from other users and the system.",
    ],
)
def test_what_a_carrier_says_itself_is_chatter(text: str) -> None:
    assert noise(one(text)) == "chatter"


def test_trtllms_stages_and_an_aborted_unit() -> None:
    got = observe(
        [
            "[TensorRT-LLM] TensorRT-LLM version: 0.21.0",
            "Loading weights concurrently:  35%|███▌      | 420/1183 [00:20<00:36, 21.12it/s]",
            "[11/03/2026-09:14:22] [TRT-LLM] [RANK 0] [I] Model init total -- 61.53s",
            "[11/03/2026-09:15:22] [TRT-LLM] [RANK 0] [I] Max KV Cache Memory: 41.2 GiB, Allocated 41.22 GiB for max tokens in paged KV cache (901120).",
            "[11/03/2026-09:15:22] [TRT-LLM] [RANK 0] [I] Creating CUDA graph instances for 24 batch sizes.",
            "INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)",
        ]
    )
    assert [s.name for s in got.load.stages] == ["weights", "kv cache", "graphs"]
    assert (got.load.kv_tokens, got.load.ready) == (901120, True)
    unit = one(
        "déc. 02 03:11:18 h systemd[1]: x.service: Main process exited, code=dumped, status=6/ABRT"
    )
    assert unit.fact == ExitSeen("x.service", 134)


@pytest.mark.parametrize(
    "name",
    [
        "Loading safetensors using Fastsafetensor loader",
        "Loading safetensors using Runai Model Streamer",
        "Loading checkpoint shards",
        "Multi-thread loading shards",
        "Loading weights",
    ],
)
def test_shards_by_every_loader(name: str) -> None:
    fact = one(f"{name}:   5% Completed | 1/20 [00:10<03:10, 10.0s/it]").fact
    assert isinstance(fact, BarSeen)
    assert (fact.kind, fact.label, fact.total) == ("shards", name, 20.0)


def test_ranks_of_an_older_nccl_and_a_container_that_starts_again() -> None:
    line = one(
        "a:1:2 [0] NCCL INFO comm 0x55 rank 3 nranks 16 cudaDev 0 busId 1b000 - Init COMPLETE"
    )
    assert line.fact == NcclInitSeen(3, 16, 0, True)
    assert one("sglang-1 exited with code 137 (restarting)").fact == ExitSeen("sglang-1", 137)
    taken = observe(
        ["Error response from daemon: x: Bind for 0.0.0.0:30000 failed: port is already allocated"]
    )
    assert taken.incident is not None
    assert taken.incident.reason == "port 30000 already in use"


@pytest.mark.parametrize(
    "text",
    [
        '[2026-06-30 17:22:05] INFO:     10.0.0.7:51514 - "GET /CUDA out of memory HTTP/1.1" 404 Not Found',
        "[2026-06-30 17:22:05] Finish: obj=GenerateReqInput(text='Killed process 5 (x)'), out={}",
        "(APIServer pid=1) INFO 11-02 10:00:00 [logger.py:40] Received request c-1: prompt: 'EngineCore failed to start. [2026-06-30 17:22:05 TP0] Scheduler hit an exception'",
        '[2026-06-30 17:22:05] The user says: "port 30000 is already in use"',
        "[2026-06-30 17:22:05 TP0] a story of a memory leak detected!",
    ],
)
def test_what_clients_send_brings_no_server_down(text: str) -> None:
    got = observe([text])
    assert got.incident is None
    assert got.severity == "info"


def test_a_download_is_told_by_its_files() -> None:
    fact = one(
        "model-00001-of-00163.safetensors:  20%|██  | 3.02G/15.1G [00:31<02:04, 97.4MB/s]"
    ).fact
    assert isinstance(fact, BarSeen)
    assert fact.kind == "download"


def test_ready_marks_of_every_engine_end_a_load() -> None:
    assert (
        one("[2026-04-12 20:33:58] The server is fired up and ready to roll!").fact == ReadySeen()
    )
    assert one("INFO:sglang:The server is fired up and ready to roll!").fact == ReadySeen()
