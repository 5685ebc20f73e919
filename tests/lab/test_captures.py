"""The lab against a real SGLang 0.5.23: its lines, answers and metrics, as captured on a CPU."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.simulated import CAPTURES, EAGLE, Simulated, simulated

_NUM = r"\d+(?:\.\d+)?"
# The captures come from a CPU and one rank: `cpu graph`, no rank word, K and V apart.
CAPTURED = [
    r"server_args=\{'model_path': '[^']*', 'tokenizer_path': '.*\}",
    (
        r"Max running requests is reset to 48 for speculative decoding\. You can override this by "
        r"explicitly setting --max-running-requests\."
    ),
    r"Init parallel begin\.",
    rf"Init parallel ends\. elapsed={_NUM} s",
    rf"Memory baseline taken\. mem usage={_NUM} GB",
    rf"Load weight begin\. avail mem={_NUM} GB",
    rf"Load weight end\. elapsed={_NUM} s, type=\w+, avail mem={_NUM} GB, mem usage={_NUM} GB\.",
    (
        rf"KV Cache is allocated\. dtype: torch\.bfloat16, #tokens: \d+, K size: {_NUM} GB, "
        rf"V size: {_NUM} GB"
    ),
    rf"Memory pool end\. avail mem={_NUM} GB",
    (
        r"max_total_num_tokens=\d+, chunked_prefill_size=\d+, max_prefill_tokens=16384, "
        rf"max_running_requests=\d+, context_len=\d+, available_[cg]pu_mem={_NUM} GB"
    ),
    (
        r"Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=False "
        r"hybrid_ssm=False hicache_attached=False"
    ),
    (
        rf"Engine startup timings \(s\): load_weight={_NUM}, kv_cache_allocation={_NUM}, "
        rf"scheduler_e2e={_NUM}, cuda_graph=\{{prefill={_NUM}, decode={_NUM}, "
        rf"target_verify={_NUM}, "
        rf"draft_prefill={_NUM}, draft_decode={_NUM}, draft_extend={_NUM}\}}, tokenizer_e2e={_NUM}"
    ),
    r"INFO:     Started server process \[\d+\]",
    r"INFO:     Waiting for application startup\.",
    r"INFO:     Application startup complete\.",
    r"INFO:     Uvicorn running on http://127\.0\.0\.1:\d+ \(Press CTRL\+C to quit\)",
    r'INFO:     127\.0\.0\.1:\d+ - "(?:GET|POST) /\S* HTTP/1\.1" \d{3} [A-Z][A-Za-z ]+',
    (
        rf"Prefill batch, #new-seq: 1, #new-token: \d+, #cached-token: \d+, token usage: {_NUM}, "
        r"#running-req: \d+, #queue-req: \d+, #pending-token: \d+, (?:cpu|cuda) graph: False, "
        rf"input throughput \(token/s\): {_NUM}"
    ),
    (
        rf"Decode batch, #running-req: \d+, #token: \d+, token usage: {_NUM}, "
        rf"(?:accept len: {_NUM}, accept rate: {_NUM}, )?(?:cpu|cuda) graph: (?:True|False), "
        rf"gen throughput \(token/s\): {_NUM}, #queue-req: \d+"
    ),
    r"The server is fired up and ready to roll!",
    (
        r"Endpoint '/get_\w+' is deprecated and will be removed in a future version\. "
        r"Please use '/\w+' instead\."
    ),
    r"Cache flushed successfully!",
    (
        r"Health check failed\. Server couldn't get a response from detokenizer for last 20 "
        r"seconds\. "
        r"tic start time: \d\d:\d\d:\d\d\. last_heartbeat time: \d\d:\d\d:\d\d"
    ),
    r"SIGTERM received\. signum=None frame=None\. Draining requests and shutting down\.\.\.",
    (
        r"Gracefully exiting\.\.\. Remaining number of requests 0\. Remaining requests "
        r"remaining_rids=\[\]\."
    ),
    (
        r"Subprocess \w+ \(pid=\d+\) crashed with exit code -\d+\. "
        r"Triggering SIGQUIT for cleanup\.\.\."
    ),
    r"SIGQUIT received\. signum=None, frame=None\. It usually means one child failed\.",
    r"Sleeping 5 seconds before crash diagnostics to let GPU activity settle\.",
    r"No live scheduler processes found; skipping py-spy and CUDA coredump\.",
    r"kill_process_tree called: parent_pid=\d+, include_parent=(?:True|False), pid=\d+",
]
# What needs GPUs is not in the captures; these forms are stated from the version's sources.
STATED = [
    r"Simulated server of the lab: no GPU, no model, no NCCL\.",
    r"simulated speed: .*",
    r"sglang is using nccl==2\.27\.7",
    r"Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs\..*",
    rf"KV Cache is allocated\. dtype: torch\.bfloat16, #tokens: \d+, KV size: {_NUM} GB",
    (
        rf"Capture (?:target decode|target verify|draft decode|draft extend) CUDA graph begin\. "
        rf"backend=full, avail mem={_NUM} GB"
    ),
    (
        rf"Capture (?:target decode|target verify|draft decode|draft extend) CUDA graph end\. "
        rf"bs=\[1, 2, 4, 8\], elapsed={_NUM} s, mem usage={_NUM} GB, avail mem={_NUM} GB\."
    ),
]
HEAD = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: TP\d)?\] "
SHARDS = (
    r"\rMulti-thread loading shards: [ \d]{3}% Completed \| \d+/\d+ "
    rf"\[\d\d:\d\d<(?:\?|\d\d:\d\d), +(?:\?it/s|{_NUM}it/s|{_NUM}s/it)\]"
)
GRAPHS = (
    rf"\rCapturing batches \(bs=\d+ avail_mem={_NUM} GB\): [ \d]{{3}}%\|[ ▏▎▍▌▋▊▉█]{{10}}\| \d/\d "
    rf"\[\d\d:\d\d<(?:\?|\d\d:\d\d), +(?:\?it/s|{_NUM}it/s|{_NUM}s/it)\]"
)

PROMPT = {"text": "Once upon", "sampling_params": {"max_new_tokens": 60, "ignore_eos": True}}
COMPLETION = {"model": "m", "prompt": "Hello, you", "max_tokens": 60, "ignore_eos": True}
OPTIONS = {"include_usage": True, "continuous_usage_stats": True}


def _shape(value: object) -> object:
    """Keys in their order and kinds of values; a list is as its first element."""
    if isinstance(value, dict):
        return [(key, _shape(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    return type(value).__name__


def _captured(name: str) -> Any:
    return json.loads((CAPTURES / f"{name}.json").read_text())


@pytest.fixture(scope="module", params=["baseline", "speculative"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Simulated]:
    extra = EAGLE if request.param == "speculative" else ()
    with simulated(tmp_path_factory.mktemp(request.param), *extra) as running:
        yield running.ready()


@pytest.fixture
def speculative(server: Simulated) -> bool:
    return "EAGLE3" in server.log


@pytest.mark.parametrize("form", CAPTURED)
def test_a_form_held_against_the_lab_is_one_a_real_server_wrote(form: str) -> None:
    real = "".join(
        (CAPTURES / name).read_text()
        for name in ("baseline.log", "ngram.log", "log_kill9.txt", "log_sigstop_scheduler.txt")
    )
    assert any(re.fullmatch(HEAD + form, line) for line in real.splitlines())


def test_every_line_of_the_lab_has_a_known_form(server: Simulated) -> None:
    server.call("/generate", PROMPT)
    server.call("/health")
    for path in ("/get_model_info", "/get_server_info", "/get_load"):
        server.call(path)
    server.call("/flush_cache", method="POST")
    known = re.compile(f"{HEAD}(?:{'|'.join(f'(?:{form})' for form in CAPTURED + STATED)})")
    bars = re.compile(f"(?:{SHARDS})+|(?:{GRAPHS})+")
    strange = [
        line
        for line in server.log.split("\n")
        if line and not known.fullmatch(line) and not bars.fullmatch(line)
    ]
    assert strange == []


def test_bars_end_in_carriage_returns_only_and_speculation_has_two(
    server: Simulated, speculative: bool
) -> None:
    real = (CAPTURES / "ngram.log").read_bytes().decode()
    assert re.findall(rf"\n(?:{SHARDS})+\n", real)
    loads = re.findall(rf"\n((?:{SHARDS})+)\n", server.log)
    assert len(loads) == (2 if speculative else 1)
    assert loads[0].count("\r") == 65
    assert "64/64" in loads[0]
    assert len(re.findall(rf"\n((?:{GRAPHS})+)\n", server.log)) == (3 if speculative else 1)
    assert len(re.findall(r"KV Cache is allocated", server.log)) == (8 if speculative else 4)


@pytest.mark.parametrize(
    ("path", "name"), [("/model_info", "model_info"), ("/v1/models", "models")]
)
def test_what_only_tells_has_the_real_keys(server: Simulated, path: str, name: str) -> None:
    real, ours = _captured(name), server.call(path).json()
    if "embedding" in real:
        real["embedding"]["bcg"]["capture_batch_sizes"] = []
    assert _shape(ours) == _shape(real)


def test_loads_have_the_real_keys(server: Simulated, speculative: bool) -> None:
    server.call("/generate", PROMPT)
    ours = server.call("/v1/loads?include=all").json()
    real = _captured("loads_speculative" if speculative else "loads")
    real["accelerator"] = "a GPU's name"
    assert _shape(ours) == _shape(real)


def test_server_info_has_the_real_keys_and_says_simulated(
    server: Simulated, speculative: bool
) -> None:
    server.call("/generate", PROMPT)
    real, ours = _captured("server_info"), server.call("/server_info").json()
    assert list(ours) == [*real["baseline"], "simulated"]
    assert ours["simulated"].startswith("simulated speed:")
    state = ours["internal_states"][0]
    adds = real["internal_adds_speculative" if speculative else "internal_adds"]
    kept = [key for key in real["baseline"] if key not in real["internal_lacks"]]
    assert sorted(state) == sorted([*kept, *adds])
    assert ours["speculative_algorithm"] == ("EAGLE3" if speculative else None)


@pytest.mark.parametrize("streaming", [False, True])
def test_generate_answers_with_the_real_keys(
    server: Simulated, speculative: bool, streaming: bool
) -> None:
    server.call("/flush_cache", method="POST")
    arm = "_speculative" if speculative else ""
    if streaming:
        real = _captured(f"generate_stream{arm}")
        ours = server.events("/generate", PROMPT | {"stream": True})
        pairs = [(ours[0], real[0]), (ours[1], real[1]), (ours[-1], real[-1])]
    else:
        pairs = [(server.call("/generate", PROMPT).json(), _captured(f"generate{arm}"))]
    for our, their in pairs:
        for answer in (our, their):
            # The capture's prompt was cached: only the values' kinds differ.
            answer["meta_info"]["cached_tokens_details"] = None
        assert _shape(our) == _shape(their)


def test_completions_answer_with_the_real_keys(server: Simulated, speculative: bool) -> None:
    body = COMPLETION | {"return_spec_tokens_details": True, "stream_options": OPTIONS}
    real = _captured(f"completions_stream{'_speculative' if speculative else ''}")
    ours = server.events("/v1/completions", body | {"stream": True})
    if not speculative:
        for event in (*ours[:-1], *real[:-1]):
            event["usage"] = None
    assert _shape(ours[0]) == _shape(real[0])
    assert _shape(ours[-1]) == _shape(real[-1])
    if speculative:
        ours[-2]["sglext"]["spec_tokens_details"]["spec_cap_lens_histogram"] = []
        assert _shape(ours[-2]) == _shape(real[-2])
    assert _shape(server.call("/v1/completions", COMPLETION).json()) == _shape(
        _captured("completions")
    )


def _families(text: str) -> dict[str, tuple[str, frozenset[tuple[str, ...]]]]:
    """Kind of each family, and each sample's name with its label names."""
    kinds = dict(re.findall(r"^# TYPE sglang:(\w+) (\w+)$", text, re.M))
    samples: dict[str, set[tuple[str, ...]]] = {name: set() for name in kinds}
    for line in re.findall(r"^sglang:.*$", text, re.M):
        name = re.match(r"sglang:(\w+)", line)
        assert name
        stem = re.sub(r"_(bucket|sum|count)$", "", name[1])
        family = name[1] if name[1] in kinds else stem
        samples[family].add((name[1], *re.findall(r'(\w+)="', line)))
    return {name: (kinds[name], frozenset(samples[name])) for name in kinds}


def test_metrics_have_the_real_families_kinds_and_labels(
    server: Simulated, speculative: bool
) -> None:
    server.call("/generate", PROMPT)
    server.call("/generate", PROMPT | {"stream": True})
    ours = _families(server.call("/metrics").body.decode())
    name = "metrics_speculative.txt" if speculative else "metrics.txt"
    real = _families((CAPTURES / name).read_text())
    real.pop("get_loads_duration_seconds", None)
    ours.pop("cached_tokens_total", None)
    real.pop("cached_tokens_total", None)
    assert ours == real


def test_heads_are_those_of_the_real_server(server: Simulated) -> None:
    heads = _captured("heads")
    asked = {
        "idle_health": server.call("/health"),
        "idle_model_info": server.call("/model_info"),
        "idle_nosuch": server.call("/nosuch"),
        "completions_stream": server.call("/v1/completions", COMPLETION | {"stream": True}),
        "flush": server.call("/flush_cache", method="POST"),
        "idle_v1_loads_format_prometheus": server.call("/v1/loads?format=prometheus"),
    }
    for name, reply in asked.items():
        status, *fields = heads[name]
        assert int(status.split()[1]) == reply.status
        fixed = [f for f in fields if not f.startswith(("date", "content-length"))]
        assert [f"{k}: {v}" for k, v in reply.head if k not in ("date", "content-length")] == fixed
        names = [field.partition(":")[0] for field in fields]
        assert [key for key, _ in reply.head] == names


def test_status_codes_and_waits_are_those_of_the_real_server(server: Simulated) -> None:
    codes = _captured("codes")
    assert len(codes) == 16
    for path, (code, seconds) in codes.items():
        reply = server.call(path)
        assert reply.status == code, path
        if seconds >= 1:
            assert reply.took_s >= 1 / 40, path
