"""Other tools' results as assumptions. The files are made up in each tool's form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.bench.importing import Imported, NotImported, import_results

GUIDELLM = {
    "benchmarks": [
        {
            "metrics": {
                "inter_token_latency_ms": {"successful": {"mean": 16.0, "median": 15.9}},
                "time_to_first_token_ms": {"successful": {"mean": 210.0}},
                "request_concurrency": {"successful": {"mean": 1.0}},
            },
            "request_loader": {"processor": "org/model"},
        }
    ]
}
AIPERF = {
    "input_config": {"endpoint": {"model_names": ["org/model"]}, "loadgen": {"concurrency": 1}},
    "inter_token_latency": {"unit": "ms", "avg": 16.0},
    "time_to_first_token": {"unit": "ms", "avg": 210.0},
}
VLLM = {
    "model_id": "org/model",
    "max_concurrency": 1,
    "output_throughput": 60.1,
    "mean_tpot_ms": 16.0,
    "mean_ttft_ms": 210.0,
    "spec_decode_acceptance_length": 2.5,
}
SGLANG = {
    "dataset_name": "sharegpt",
    "backend": "sglang",
    "max_concurrency": 1,
    "output_throughput": 60.1,
    "mean_tpot_ms": 16.0,
    "mean_ttft_ms": 210.0,
    "accept_length": 2.5,
    "server_info": {"model_path": "org/model"},
}
LLAMA_BENCH = [
    {"n_prompt": 512, "n_gen": 0, "avg_ts": 900.0, "model_filename": "org/model"},
    {"n_prompt": 0, "n_gen": 128, "avg_ts": 62.5, "model_filename": "org/model"},
]


@pytest.mark.parametrize(
    ("document", "tool", "ttft_ms", "length"),
    [
        (GUIDELLM, "guidellm", 210.0, None),
        (AIPERF, "aiperf", 210.0, None),
        (VLLM, "vllm bench serve", 210.0, 2.5),
        (SGLANG, "sglang bench_serving", 210.0, 2.5),
        (LLAMA_BENCH, "llama-bench", None, None),
    ],
)
def test_each_tools_decode_rate(
    document: object, tool: str, ttft_ms: float | None, length: float | None
) -> None:
    found = import_results(json.dumps(document))
    assert isinstance(found, list)
    (only,) = found
    assert only.tool == tool
    assert only.decode_tok_s == pytest.approx(62.5)
    assert (only.ttft_ms, only.streams, only.model) == (ttft_ms, 1, "org/model")
    assert only.acceptance_length == length
    assert only.definition
    assert only.caveats() == ()


def test_json_lines_hold_several_results() -> None:
    other = {**SGLANG, "mean_tpot_ms": 10.0}
    # What Python takes for a line's end may stand bare in a text of JSON.
    other["note"] = "one\u2028line"
    found = import_results(f"{json.dumps(SGLANG)}\n{json.dumps(other, ensure_ascii=False)}\n")
    assert isinstance(found, list)
    assert [one.decode_tok_s for one in found] == [62.5, 100.0]


def test_many_streams_and_missing_rates_are_said() -> None:
    busy = import_results(json.dumps({**VLLM, "max_concurrency": 64}))
    assert isinstance(busy, list)
    assert busy[0].caveats() == ("measured with 64 streams at once, not with one",)
    void = import_results(json.dumps({**VLLM, "mean_tpot_ms": 0.0}))
    assert isinstance(void, list)
    assert void[0].decode_tok_s is None
    assert void[0].caveats() == ("the file holds no rate of a single stream's decode",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "no result of guidellm"),
        ("[]", "no result of guidellm"),
        ('{"benchmarks": [{}]}', "no result of guidellm"),
        ("tok/s: 90", "neither JSON nor JSON lines"),
        ("", "no result of guidellm"),
    ],
)
def test_other_files_are_refused_with_the_reason(text: str, why: str) -> None:
    found = import_results(text)
    assert isinstance(found, NotImported)
    assert found.why.startswith(why)


values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["benchmarks", "metrics", "avg_ts", "n_gen", "mean_tpot_ms", "avg", "unit"]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(values)
def test_any_json_is_read_or_refused(document: object) -> None:
    found = import_results(json.dumps(document))
    assert isinstance(found, NotImported) or all(isinstance(one, Imported) for one in found)
