"""JSON answers of real servers, and which engine they give away."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines import answers
from console.engines.answers import Info, Loads, Models, Unreadable
from console.engines.arm import Running, arm_of, differences
from console.engines.detect import Answer, Ask, Verdict, detect
from console.engines.eta import from_startup_times
from console.engines.health import Meaning, read_health
from console.model.fleet import Arm, Engine
from tests.engines.observing import capture


def test_sglangs_server_info_of_both_arms() -> None:
    base = answers.server_info(capture("sglang-baseline-server_info.json"))
    spec = answers.server_info(capture("sglang-ngram-server_info.json"))
    assert isinstance(base, Info)
    assert isinstance(spec, Info)
    assert (base.engine, base.version, base.ranks) == (Engine.SGLANG, "0.5.23", 1)
    assert base.running == Running(Arm.BASELINE)
    assert base.accept_len is None
    assert spec.running == Running(Arm.SPECULATIVE, "NGRAM", 0, 10, 4, "")
    assert spec.accept_len == pytest.approx(1.79, abs=0.01)
    assert spec.kv_tokens == 8192
    changed = {name for name, _, _ in differences(base.args, spec.args)}
    assert {"speculative_algorithm", "max_running_requests"} <= changed
    assert not changed & {"port", "launch_command", "internal_states"}


def test_startup_times_become_an_earlier_load() -> None:
    spec = answers.server_info(capture("sglang-ngram-server_info.json"))
    assert isinstance(spec, Info)
    earlier = from_startup_times(spec.startup_times)
    assert [name for name, _ in earlier.stages] == ["weights", "kv cache", "graphs"]
    assert dict(earlier.stages)["weights"] == pytest.approx(0.0628, abs=1e-3)


def test_sglangs_loads_new_and_old() -> None:
    found = answers.loads(capture("sglang-ngram-v1_loads.json"))
    assert isinstance(found, Loads)
    assert (found.running, found.queued, found.cache_hit) == (0, 0, 0.8)
    assert found.accept_len == pytest.approx(1.7917, abs=1e-4)
    busy = answers.loads(capture("sglang-busy-v1_loads.json"))
    assert isinstance(busy, Loads)
    assert (busy.running, busy.accept_len, busy.version) == (1, None, "0.5.23")
    old = answers.loads(
        '[{"dp_rank":0,"num_reqs":5,"num_waiting_reqs":2,"num_tokens":9},'
        '{"dp_rank":1,"num_reqs":1,"num_waiting_reqs":0,"num_tokens":3}]'
    )
    assert old == Loads(4, 2, ranks=2)


def test_models_and_model_info() -> None:
    assert answers.models(capture("sglang-v1_models.json")) == Models(
        ("/srv/llm/tinymodel",), "sglang", "/srv/llm/tinymodel", 2048
    )
    info = answers.model_info(capture("sglang-model_info.json"))
    assert isinstance(info, Info)
    assert info.model == "/srv/llm/tinymodel"


def test_llamacpps_props_and_slots() -> None:
    info = answers.props(capture("llamacpp-props.json"))
    assert isinstance(info, Info)
    assert info.engine is Engine.LLAMACPP
    assert info.model == "/srv/llm/target.gguf"
    found = answers.slots(capture("llamacpp-slots.json"))
    assert not isinstance(found, Unreadable)
    work, running = found
    assert (work.running, work.ranks, work.decoded) == (0, 1, None)
    assert running == Running(Arm.SPECULATIVE, "draft-simple")
    plain = answers.slots('[{"id":0,"speculative":false,"is_processing":true,'
                          '"next_token":[{"n_decoded":7}]}]')  # fmt: skip
    assert plain == (Loads(running=1, ranks=1, decoded=7), Running(Arm.BASELINE))


READERS = (
    answers.server_info,
    answers.model_info,
    answers.loads,
    answers.models,
    answers.version,
    answers.props,
    answers.slots,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["loads", "data", "id", "model_path", "version", "internal_states", "total_slots",
             "next_token", "params", "speculative", "is_processing", "num_running_reqs",
             "startup_time", "n_decoded", "tp_size", "speculative_algorithm", "owned_by"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_no_json_raises(found: object) -> None:
    body = json.dumps(found)
    for read in READERS:
        read(body)
    detect({"/v1/models": Answer(200, body), "/server_info": Answer(200, body)})


@pytest.mark.parametrize("body", ["", "<html>", "{", "[" * 200000, "nul", "1" * 9000])
def test_what_is_no_json_is_unreadable_in_words(body: str) -> None:
    for read in READERS:
        found = read(body)
        assert isinstance(found, Unreadable)
        assert found.why


def test_arms_come_from_arguments_only() -> None:
    assert arm_of({"model": "m", "speculative_config": None}) == Running(Arm.BASELINE)
    assert arm_of({"model_path": "m"}) == Running(Arm.BASELINE)
    assert arm_of({"model_path": "m"}, whole=False) is None
    assert arm_of({}) is None
    eagle = arm_of({"speculative_config": {"method": "eagle3", "num_speculative_tokens": 3}})
    assert str(eagle) == "eagle3, 3 draft tokens"
    printed = "SpeculativeConfig(method='mtp', model=None, num_spec_tokens=1)"
    assert str(arm_of({"speculative_config": printed})) == "mtp, 1 draft tokens"


def ask_all(server: Mapping[str, Answer]) -> tuple[Verdict, list[str]]:
    """Asks as `detect` wishes; what the server does not have is 404."""
    seen: dict[str, Answer] = {}
    for _ in range(9):
        found = detect(seen)
        if isinstance(found, Verdict):
            return found, list(seen)
        assert found.path not in seen
        seen[found.path] = server.get(found.path, Answer(404, '{"detail":"Not Found"}'))
    raise AssertionError(f"no verdict after {list(seen)}")


def test_a_new_sglang_is_never_asked_on_an_old_path() -> None:
    verdict, asked = ask_all(
        {
            "/v1/models": Answer(200, capture("sglang-v1_models.json"), "uvicorn"),
            "/server_info": Answer(200, capture("sglang-ngram-server_info.json")),
        }
    )
    assert (verdict.engine, verdict.version) == (Engine.SGLANG, "0.5.23")
    assert asked == ["/v1/models", "/server_info"]


def test_an_old_sglang_is_asked_on_the_old_path_after_404() -> None:
    old = {"model_path": "/m", "version": "0.4.6.post5", "tp_size": 8}
    verdict, asked = ask_all(
        {
            "/v1/models": Answer(200, capture("sglang-v1_models.json")),
            "/get_server_info": Answer(200, json.dumps(old)),
        }
    )
    assert verdict.version == "0.4.6.post5"
    assert asked == ["/v1/models", "/server_info", "/get_server_info"]


def test_llamacpp_ready_and_loading() -> None:
    verdict, _ = ask_all(
        {
            "/v1/models": Answer(200, capture("llamacpp-v1_models.json"), "llama.cpp"),
            "/props": Answer(200, capture("llamacpp-props.json")),
        }
    )
    assert verdict.engine is Engine.LLAMACPP
    loading = '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}'
    verdict, asked = ask_all({"/v1/models": Answer(503, loading)})
    assert verdict.engine is Engine.LLAMACPP
    assert asked == ["/v1/models"]


def test_vllm_with_and_without_its_key() -> None:
    listed = '{"object":"list","data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]}'
    number = Answer(200, '{"version":"0.32.0"}')
    verdict, _ = ask_all({"/v1/models": Answer(200, listed), "/version": number})
    assert (verdict.engine, verdict.version, verdict.model) == (Engine.VLLM, "0.32.0", "m")
    verdict, _ = ask_all({"/v1/models": Answer(401, ""), "/version": number})
    assert verdict.engine is Engine.VLLM
    assert "401" in verdict.why


def test_a_missing_key_is_named_and_metrics_may_still_tell() -> None:
    locked = Answer(401, '{"error":"Unauthorized"}')
    verdict, _ = ask_all(dict.fromkeys(("/v1/models", "/version", "/model_info"), locked))
    assert verdict.engine is None
    assert "API key" in verdict.why
    metrics = Answer(200, capture("sglang-idle-metrics.txt"))
    verdict, _ = ask_all({"/v1/models": locked, "/model_info": locked, "/metrics": metrics})
    assert verdict.engine is Engine.SGLANG
    assert "key" in verdict.why


def test_another_service_and_no_answer() -> None:
    verdict, _ = ask_all({"/v1/models": Answer(301, "")})
    assert (verdict.engine, verdict.why) == (None, "/v1/models answers 301; no known engine")
    assert detect({"/v1/models": Answer(None, why="refused")}) == Verdict(
        None, None, None, "refused"
    )
    assert detect({}) == Ask("/v1/models")


@pytest.mark.parametrize("engine", list(Engine))
@pytest.mark.parametrize("was_up", [False, True])
def test_a_500_on_health_is_a_fault_of_its_own(engine: Engine, was_up: bool) -> None:
    reading = read_health(engine, None, "/health", 500, 1000, was_up=was_up)
    assert reading.meaning is Meaning.STRANGE
    assert reading.why == "/health answers 500"
