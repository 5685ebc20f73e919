"""What answers at an address, found out and polled: real llama.cpp, and answers to order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from console.engines.dialect import Dialect
from console.engines.metrics import MAX_BYTES, TURN_BYTES
from console.model.clock import ManualClock, Pace, SystemClock
from console.model.failure import Failure
from console.model.fleet import Arm, Engine, Host, Recipe, Server
from console.model.mask import Masks
from console.model.text import Clean
from console.services.credential import key_text
from console.services.engine import find, found_events, loaded
from console.services.figures import Polls
from console.services.metrics import LARGE_BYTES, LARGE_STRIDE, RESTS_POLLS, Poller
from console.services.pulse import Pulse
from console.services.status import status
from console.stream.events import Event
from console.stream.server_events import (
    ArgsSeen,
    ArmSeen,
    EngineSeen,
    HealthSeen,
    MetricSeen,
    TokenSeen,
)
from console.stream.session_events import HistoryKnown, Noticed
from console.stream.state import Server as Cell
from console.transport.http import Http
from console.transport.local import LocalWire
from tests.engines.observing import capture
from tests.rig import http as rig
from tests.rig.http import Answer, ScriptedHttp
from tests.rig.llama import LlamaServer
from tests.rig.waiting import auntil

pytestmark = pytest.mark.rig

FAST = Pace(metrics_s=0.02, health_starting_s=0.01, read_deadline_s=2.0, health_deadline_s=2.0)
UP = HealthSeen(Clean("base"), Clean("/health"), 1, 200)
DOWN = HealthSeen(Clean("base"), Clean("/health"), 1, 503)
PLAIN = "text/plain; version=0.0.4"


def base(url: str, arm: Arm = Arm.BASELINE, **more: Any) -> Server:
    return Server("base" if arm is Arm.BASELINE else "spec", "slot", arm, url, **more)


class Watched:
    """The events of one address so far, and the switch that health would set."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.pulse = Pulse()

    def of(self, kind: type, server: str = "base") -> list[Event]:
        return [
            e for e in self.events if isinstance(e, kind) and getattr(e, "server", server) == server
        ]

    @property
    def metrics(self) -> list[dict[str, float]]:
        return [{str(k): v for k, v in e.figures} for e in self.events if isinstance(e, MetricSeen)]

    @property
    def notices(self) -> list[str]:
        return [e.text for e in self.events if isinstance(e, Noticed)]


@asynccontextmanager
async def watching(*entries: Server, pace: Pace = FAST, up: bool = True) -> AsyncIterator[Watched]:
    seen, clock = Watched(), SystemClock()
    http = Http(LocalWire(Host("here")), clock)

    async def collect() -> None:
        async for event in status(entries, http, clock, pace, Masks(), seen.pulse):
            seen.events.append(event)

    task = asyncio.create_task(collect())
    if up:
        seen.pulse.saw(UP)
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
        await http.close()


def sglang(server: ScriptedHttp, info: str = "sglang-baseline-server_info.json") -> None:
    """Answers as the real one gave them."""
    server.default = Answer(404, b'{"detail":"Not Found"}')
    server.paths = {
        "/v1/models": Answer(200, capture("sglang-v1_models.json").encode()),
        "/server_info": Answer(200, capture(info).encode()),
        "/v1/loads": Answer(200, capture("sglang-busy-v1_loads.json").encode()),
        "/metrics": Answer(200, capture("sglang-busy-metrics.txt").encode(), PLAIN),
    }


def counters(decode: int, running: int = 1) -> Answer:
    text = (
        f'sglang:num_running_reqs{{tp_rank="0"}} {running}\n'
        f'sglang:realtime_tokens_total{{mode="decode",tp_rank="0"}} {decode}\n'
    )
    return Answer(200, text.encode(), PLAIN)


async def test_a_real_llama_cpp_is_known_with_its_arm_and_its_counters_move(
    llama_server: Callable[..., LlamaServer],
) -> None:
    server = llama_server(spec=True)
    await server.ready()
    async with watching(base(server.url), base(server.url, Arm.SPECULATIVE)) as seen:
        await auntil(lambda: seen.of(MetricSeen, "spec"))
        (engine,) = seen.of(EngineSeen, "spec")
        assert isinstance(engine, EngineSeen)
        assert (engine.engine, engine.evidence) == (Engine.LLAMACPP, "/props is llama.cpp's")
        (arm,) = seen.of(ArmSeen, "spec")
        (other,) = seen.of(ArmSeen, "base")
        assert isinstance(arm, ArmSeen)
        assert isinstance(other, ArmSeen)
        assert arm.arm is Arm.SPECULATIVE
        assert other.arm is None
        assert other.evidence.startswith("the slot runs ")
        assert seen.of(MetricSeen, "base") == []
        assert seen.metrics[-1]["running"] == 0.0
        assert "busy_s" not in seen.metrics[-1]
        assert seen.of(TokenSeen, "spec") == []
        body = json.dumps({"prompt": "one two three", "n_predict": 200}).encode()
        http = Http(LocalWire(Host("here")), SystemClock())
        answer = await http.post(server.url + "/completion", body, deadline_s=30)
        await http.close()
        assert answer.code == 200
        made = json.loads(answer.body)["tokens_predicted"]
        await auntil(lambda: seen.metrics[-1].get("decode_tokens_total") == made)
        await auntil(lambda: seen.metrics[-1]["running"] == 0.0)
        assert any("busy_s" in figures for figures in seen.metrics)
        rates = [e.decode_tok_s for e in seen.events if isinstance(e, TokenSeen)]
        assert any(rate and rate > 10 for rate in rates)
        assert seen.notices == []


async def test_a_real_sglang_s_answers_become_engine_arm_and_arguments(
    scripted_http: ScriptedHttp,
) -> None:
    sglang(scripted_http)
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: seen.metrics)
        (engine,) = seen.of(EngineSeen)
        assert isinstance(engine, EngineSeen)
        assert (engine.engine, engine.version) == (Engine.SGLANG, "0.5.23")
        (args,) = seen.of(ArgsSeen)
        assert isinstance(args, ArgsSeen)
        values = dict(args.args)
        assert values[Clean("tp_size")] == "1"
        assert "internal_states" not in values
        (arm,) = seen.of(ArmSeen)
        assert isinstance(arm, ArmSeen)
        assert (arm.arm, arm.evidence) == (Arm.BASELINE, "baseline (resolved arguments)")
        (history,) = seen.of(HistoryKnown)
        assert isinstance(history, HistoryKnown)
        assert [name for name, _ in history.figures] == ["weights", "kv cache", "graphs"]
        asked = [request.path for request in scripted_http.requests[:3]]
        assert asked == ["/v1/models", "/server_info", "/metrics"]


async def test_an_arm_that_is_not_the_listed_one_is_said(scripted_http: ScriptedHttp) -> None:
    sglang(scripted_http, "sglang-ngram-server_info.json")
    async with watching(base(scripted_http.url, engine=Engine.VLLM)) as seen:
        await auntil(lambda: seen.of(ArmSeen))
        await auntil(lambda: len(seen.notices) == 2)
        assert seen.notices[0] == "listed as vllm, but sglang answers"
        assert seen.notices[1].startswith("listed as baseline, but its arguments say: NGRAM")


async def test_of_two_servers_of_one_arm_the_recipe_tells_which(
    scripted_http: ScriptedHttp,
) -> None:
    sglang(scripted_http)
    one, two = (
        Server(name, "slot", Arm.BASELINE, scripted_http.url, recipe=Recipe(argv))
        for name, argv in (
            ("one", ("python", "--tp-size", "8", "--flag")),
            ("two", ("python", "--tp-size", "1", "--flag")),
        )
    )
    http = Http(LocalWire(Host("here")), SystemClock())
    found = await find(scripted_http.url, http, 2.0)
    await http.close()
    assert [entry.name for entry in loaded(found, (one, two))] == ["two"]
    arms = {
        e.server: e.arm for e in found_events(found, (one, two), Masks()) if isinstance(e, ArmSeen)
    }
    assert arms == {"one": None, "two": Arm.BASELINE}


EAGLE3_CONFIG = (
    "model='/m', speculative_config=SpeculativeConfig(method='eagle3', num_spec_tokens=3),"
    " tensor_parallel_size=8, quantization=None"
)
VLLM_METRICS = """\
vllm:num_requests_running{engine="0",model_name="m"} 0.0
vllm:cache_config_info{block_size="16",cache_dtype="fp8",engine="0",num_gpu_blocks="19570"} 1.0
"""
VLLM_DRAFTS = """\
vllm:spec_decode_num_drafts_total{engine="0"} 0.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 0.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 0.0
"""


@pytest.mark.parametrize(
    ("info", "drafts", "arm", "args"),
    [
        (
            EAGLE3_CONFIG,
            "",
            "eagle3, 3 draft tokens (resolved arguments)",
            {"tensor_parallel_size": "8", "model": "/m"},
        ),
        (
            {
                "model_config": {"model": "/m"},
                "parallel_config": {"tensor_parallel_size": 8},
                "speculative_config": None,
            },
            "",
            "baseline (resolved arguments)",
            {"tensor_parallel_size": "8", "model": "/m"},
        ),
        (
            None,
            VLLM_DRAFTS,
            "speculative, 2 draft tokens (its metrics)",
            {"cache_dtype": "fp8", "num_gpu_blocks": "19570"},
        ),
        (None, "", "baseline (its metrics)", {"cache_dtype": "fp8"}),
    ],
    ids=["text", "nested", "metrics, spec", "metrics, base"],
)
async def test_vllm_s_arguments_outside_its_log(
    scripted_http: ScriptedHttp, info: object, drafts: str, arm: str, args: dict[str, str]
) -> None:
    """Its development mode tells them whole; else its metrics tell the arm and the cache."""
    scripted_http.default = Answer(404, b"{}")
    scripted_http.paths = {
        "/v1/models": Answer(200, b'{"data":[{"id":"m","owned_by":"vllm"}]}'),
        "/version": Answer(200, b'{"version":"0.30.1"}'),
        "/metrics": Answer(200, (VLLM_METRICS + drafts).encode(), PLAIN),
    }
    if info is not None:
        body = json.dumps({"vllm_config": info, "vllm_env": {}})
        scripted_http.paths["/server_info"] = Answer(200, body.encode())
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: seen.of(ArmSeen))
        (found,) = seen.of(ArmSeen)
        assert isinstance(found, ArmSeen)
        assert found.evidence == arm
        (told,) = seen.of(ArgsSeen)
        assert isinstance(told, ArgsSeen)
        assert args.items() <= dict(told.args).items()
        asked = [r.path for r in scripted_http.requests]
        assert asked.count("/server_info") == 1


async def test_what_the_log_told_is_not_replaced_by_the_little_that_metrics_tell(
    scripted_http: ScriptedHttp,
) -> None:
    scripted_http.default = Answer(404, b"{}")
    scripted_http.paths = {
        "/v1/models": Answer(200, b'{"data":[{"id":"m","owned_by":"vllm"}]}'),
        "/metrics": Answer(200, (VLLM_METRICS + VLLM_DRAFTS).encode(), PLAIN),
    }
    http = Http(LocalWire(Host("here")), SystemClock())
    found = await find(scripted_http.url, http, 2.0)
    await http.close()
    entry, name = base(scripted_http.url, Arm.SPECULATIVE), Clean("spec")
    many = tuple((Clean(f"a{n}"), Clean("1")) for n in range(9))
    for arm, kinds in ((Arm.SPECULATIVE, set()), (Arm.BASELINE, {ArgsSeen, ArmSeen})):
        cell = Cell(arm=ArmSeen(name, Clean("its log"), arm), args=ArgsSeen(name, many))
        events = found_events(found, [entry], Masks(), {"spec": cell}.get)
        assert {type(e) for e in events} & {ArgsSeen, ArmSeen} == kinds


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({}, "/v1/models needs the API key (401): name it as api_key_env or api_key_file"),
        ({"api_key_env": "KEY"}, "/v1/models needs the API key; the one in KEY is refused (401)"),
        ({"api_key_file": "/k"}, "/v1/models needs the API key; the one in /k is refused (401)"),
    ],
)
async def test_a_missing_key_is_named(
    scripted_http: ScriptedHttp, named: dict[str, Any], said: str
) -> None:
    scripted_http.default = rig.UNAUTHORIZED
    async with watching(base(scripted_http.url, **named)) as seen:
        await auntil(lambda: seen.notices)
        assert said in seen.notices[0]
        assert seen.of(EngineSeen) == []
        asked = len(scripted_http.requests)
        seen.pulse.saw(DOWN)
        assert asked == len(scripted_http.requests)


def test_the_admin_key_is_named() -> None:
    assert "needs the admin key" in key_text(base("x"), Engine.SGLANG, "/flush_cache", 401)


async def test_nothing_is_asked_while_it_is_not_up(scripted_http: ScriptedHttp) -> None:
    sglang(scripted_http)
    async with watching(base(scripted_http.url), up=False) as seen:
        seen.pulse.saw(DOWN)
        for _ in range(5):
            await asyncio.sleep(0)
        assert scripted_http.requests == []
        seen.pulse.saw(UP)
        await auntil(lambda: len(seen.metrics) > 2)
        seen.pulse.saw(DOWN)
        await auntil(lambda: scripted_http.in_flight == 0)
        asked = len(scripted_http.requests)
        seen.pulse.saw(UP)
        await auntil(lambda: len(scripted_http.requests) > asked)
        assert scripted_http.requests[asked].path == "/v1/models"
        assert scripted_http.max_in_flight == 1


async def test_without_metrics_the_loads_are_polled(scripted_http: ScriptedHttp) -> None:
    sglang(scripted_http)
    del scripted_http.paths["/metrics"]
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: len(seen.metrics) > 2)
        assert seen.metrics[-1]["running"] == 1.0
        assert "decode_tokens_total" not in seen.metrics[-1]
        assert "quiet_s" not in seen.metrics[-1]
        assert seen.notices == [
            "this node exports none (/metrics needs its switch, or this is not node 0)"
        ]
        polled = {r.path for r in scripted_http.requests[4:]}
        assert polled == {"/v1/loads?include=all"}
        assert len([r for r in scripted_http.requests if r.path == "/metrics"]) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(200, b"<html><body>login</body></html>", "text/html"), "HTML stands where metrics"),
        (Answer(200, b"sglang:token_usage NaN\nsglang:num_running_reqs 1\n", PLAIN), "is NaN"),
        (
            Answer(200, b"# TYPE a gauge\n# TYPE a gauge\nsglang:num_running_reqs 1\n", PLAIN),
            "declared more than once",
        ),
        (
            Answer(200, b"sglang:num_running_reqs{ 1\nsglang:token_usage 0.5\n", PLAIN),
            "not be read",
        ),
        (Answer(200, b"sglang:num_running_reqs 1\n" + b"#" * 9_000_000, PLAIN), "only the first"),
        (rig.CutBody(), "closed in the middle"),
    ],
    ids=["html", "nan", "doubled", "bad line", "huge", "cut"],
)
async def test_a_broken_exposition_is_survived_and_said_once(
    scripted_http: ScriptedHttp, answer: rig.Behaviour, said: str
) -> None:
    sglang(scripted_http)
    scripted_http.paths["/metrics"] = answer
    async with watching(base(scripted_http.url)) as seen:
        before = len(scripted_http.requests)
        await auntil(lambda: len(scripted_http.requests) > before + 8)
        assert len([text for text in seen.notices if said in text]) == 1
        scripted_http.paths["/metrics"] = counters(5)
        if said not in ("HTML stands where metrics",):
            await auntil(
                lambda: seen.metrics and seen.metrics[-1].get("decode_tokens_total") == 5.0
            )


async def test_fifty_megabytes_freeze_nothing_and_are_asked_for_less_often(
    scripted_http: ScriptedHttp,
) -> None:
    """While it is read others have their turn: as often as there are pieces, whatever the load."""
    line = b'sglang:num_running_reqs{tp_rank="0"} 1\n# a comment that says nothing at all\n'
    body = line + b"# and another, of a family that nobody reads here\n" * 1_050_000
    assert len(body) > 50 * 1024 * 1024
    sglang(scripted_http)
    scripted_http.paths["/metrics"] = Answer(200, body, PLAIN)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    busy = asyncio.create_task(others())
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: any(r.path == "/metrics" for r in scripted_http.requests), 20)
        await auntil(lambda: seen.metrics, 20)
        assert seen.metrics[-1]["running"] == 1.0
        assert "only the first 8 MiB were read" in seen.notices
        assert turns > MAX_BYTES // TURN_BYTES
    busy.cancel()
    scripted_http.paths["/metrics"] = Answer(200, body[: 2 * LARGE_BYTES], PLAIN)
    http, clock = Http(LocalWire(Host("here")), SystemClock()), SystemClock()
    polls = Polls(["base"], set(), Masks())
    dialect = Dialect(Engine.SGLANG)
    poller = Poller(base(scripted_http.url), http, dialect, clock, FAST, polls, lambda: None)
    for answer, stride in ((None, LARGE_STRIDE), (counters(5), 1)):
        scripted_http.paths["/metrics"] = answer or scripted_http.paths["/metrics"]
        await poller.poll()
        assert poller.stride == stride
    await http.close()


async def test_a_path_that_redirects_is_not_followed_and_said(scripted_http: ScriptedHttp) -> None:
    scripted_http.default = rig.redirect("https://login.example.net/")
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: seen.notices, 20)
        assert seen.notices == [
            "/v1/models redirects with 302 to https://login.example.net/; not followed"
        ]
        assert not any("login" in r.path for r in scripted_http.requests)
    sglang(scripted_http)
    scripted_http.paths["/metrics"] = rig.redirect("/login")
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: seen.metrics, 20)
        assert seen.notices == ["/metrics redirects with 302 to /login; not followed"]
        assert seen.metrics[-1]["running"] == 1.0  # from /v1/loads


async def test_metrics_that_failed_for_a_while_are_asked_again(scripted_http: ScriptedHttp) -> None:
    sglang(scripted_http)
    scripted_http.paths["/metrics"] = rig.BROKEN
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: seen.metrics, 20)
        assert seen.notices == ["metrics not available (500): Internal Server Error"]
        assert "decode_tokens_total" not in seen.metrics[-1]
        scripted_http.paths["/metrics"] = counters(5)
        await auntil(lambda: seen.metrics[-1].get("decode_tokens_total") == 5.0, 20)
        failed = [r.path for r in scripted_http.requests].index("/metrics")
        between = [r.path for r in scripted_http.requests[failed + 1 :]]
        assert between.index("/metrics") == RESTS_POLLS


async def test_tokens_are_seen_by_their_counter_and_rates_only_of_busy_time(
    scripted_http: ScriptedHttp,
) -> None:
    sglang(scripted_http)
    scripted_http.paths["/metrics"] = counters(100, running=0)
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: len(seen.metrics) > 1)
        assert seen.of(TokenSeen) == []
        scripted_http.paths["/metrics"] = counters(200)
        await auntil(lambda: seen.of(TokenSeen))
        scripted_http.paths["/metrics"] = counters(300)
        await auntil(lambda: len(seen.of(TokenSeen)) == 2)
        first, second = seen.of(TokenSeen)
        assert isinstance(first, TokenSeen)
        assert isinstance(second, TokenSeen)
        assert first.decode_tok_s is None
        assert second.decode_tok_s is not None
        assert 0 < second.decode_tok_s < 100 / FAST.metrics_s
        assert seen.metrics[-1]["busy_s"] > seen.metrics[-1]["quiet_s"] >= 0


async def test_a_counter_that_went_down_is_another_process(scripted_http: ScriptedHttp) -> None:
    sglang(scripted_http)
    scripted_http.paths["/metrics"] = counters(100)
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: seen.metrics)
        scripted_http.paths["/metrics"] = counters(7)
        scripted_http.paths["/server_info"] = Answer(
            200, capture("sglang-ngram-server_info.json").encode()
        )
        await auntil(lambda: len(seen.of(ArmSeen)) == 2)
        arm = seen.of(ArmSeen)[-1]
        assert isinstance(arm, ArmSeen)
        assert arm.arm is Arm.SPECULATIVE
        assert seen.pulse.ask.is_set()
        await auntil(lambda: seen.metrics[-1]["decode_tokens_total"] == 7.0)
        assert seen.of(TokenSeen) == []


async def test_a_server_that_goes_away_has_health_asked_at_once(
    scripted_http: ScriptedHttp,
) -> None:
    sglang(scripted_http)
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: seen.metrics)
        assert not seen.pulse.ask.is_set()
        scripted_http.close()
        await auntil(seen.pulse.ask.is_set)
        assert seen.notices == []


async def test_a_server_that_came_up_is_asked_for_one_token(scripted_http: ScriptedHttp) -> None:
    """vLLM's health asks no engine: after a start the probe does, and never without one."""
    listed = b'{"object":"list","data":[{"id":"m","owned_by":"vllm"}]}'
    scripted_http.default = Answer(404, b"{}")
    scripted_http.paths = {
        "/v1/models": Answer(200, listed),
        "/version": Answer(200, b'{"version":"0.30.1"}'),
        "/metrics": Answer(200, b"vllm:num_requests_running 0\n", PLAIN),
        "/v1/completions": Answer(200, b'{"choices":[{"text":"x"}]}'),
    }
    async with watching(base(scripted_http.url)) as seen:
        await auntil(lambda: len(seen.metrics) > 1)
        assert "POST" not in {r.method for r in scripted_http.requests}
        seen.pulse.saw(replace(UP, code=None, failure=Failure.LINK_LOST))
        seen.pulse.saw(UP)
        await auntil(lambda: len(seen.of(EngineSeen)) == 2)
        await auntil(lambda: seen.pulse.status_turn.locked())
        assert seen.of(TokenSeen) == []
        seen.pulse.saw(replace(UP, code=None, failure=Failure.REFUSED))
        seen.pulse.saw(UP)
        await auntil(lambda: seen.of(TokenSeen))
        (token,) = seen.of(TokenSeen)
        assert isinstance(token, TokenSeen)
        assert token.source == "probe of /v1/completions"
        asked = [json.loads(r.body) for r in scripted_http.requests if r.method == "POST"]
        assert asked == [{"model": "m", "prompt": "1", "max_tokens": 1, "temperature": 0}]
        scripted_http.paths["/v1/completions"] = Answer(200, b"{}")
        seen.pulse.saw(DOWN)
        seen.pulse.saw(UP)
        await auntil(lambda: seen.notices)
        assert seen.notices[0] == (
            "no token for the generate probe: /v1/completions answers 200 without a completion"
        )
        scripted_http.paths["/v1/completions"] = rig.BROKEN
        seen.pulse.saw(DOWN)
        seen.pulse.saw(UP)
        await auntil(lambda: len(seen.notices) == 2)
        assert seen.notices[1] == "no token for the generate probe: /v1/completions answers 500"


async def test_polls_keep_their_distance() -> None:
    """On a clock that moves by hand: one request every two seconds, none more."""
    clock, pulse, seen = ManualClock(), Pulse(), list[Event]()
    with ScriptedHttp() as server:
        sglang(server)
        http = Http(LocalWire(Host("here")), clock)

        async def collect() -> None:
            entries = (base(server.url),)
            async for event in status(entries, http, clock, Pace(), Masks(), pulse):
                seen.append(event)

        task = asyncio.create_task(collect())
        pulse.saw(UP)

        def polls() -> int:
            return len([e for e in seen if isinstance(e, MetricSeen)])

        while polls() < 30:
            before = polls()
            await auntil(lambda: clock.next_due_us() is not None)
            clock.advance(2.0)
            await auntil(lambda known=before: polls() > known)  # type: ignore[misc]
        asked = [r.path for r in server.requests]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await http.close()
    assert asked.count("/metrics") in (30, 31)
    assert len(asked) - asked.count("/metrics") == 2
