"""Standings by table: each row is what was seen, and what may be said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from console.model.clock import Pace
from console.model.failure import Failure
from console.model.fleet import Arm, Engine
from console.model.text import Clean
from console.stream.events import Event
from console.stream.fact import Condition, Standing
from console.stream.fold import fold_all
from console.stream.server_events import (
    ArmSeen,
    ConditionSeen,
    EngineSeen,
    HealthSeen,
    LoadAdvanced,
    LoadEnded,
    MetricSeen,
    ServerListed,
    StandingChanged,
    TokenSeen,
)
from console.stream.standing import Limits, Stands, stands
from console.stream.state import State
from console.stream.watch import standing_rule

S = 1_000_000
NAME = Clean("base")
NOW = 1000 * S
PACE = Pace()


def listed(name: str = "base", engine: Engine = Engine.SGLANG) -> ServerListed:
    url = Clean("http://127.0.0.1:8000")
    host, slot = Clean("gpu8"), Clean("gpu8a")
    return ServerListed(Clean(name), host, slot, 8000, Arm.BASELINE, engine, url)


def health(
    code: int | None = 200,
    wait_s: float = 1.0,
    failure: Failure | None = None,
    why: str = "",
    path: str = "/health",
) -> HealthSeen:
    return HealthSeen(NAME, Clean(path), round(wait_s * S), code, failure, Clean(why), t_us=NOW)


def metric(ago_s: float = 1.0, **figures: float) -> MetricSeen:
    pairs = tuple((Clean(name), value) for name, value in figures.items())
    return MetricSeen(NAME, Clean("/metrics"), pairs, t_us=NOW - round(ago_s * S))


def token(ago_s: float) -> TokenSeen:
    return TokenSeen(NAME, Clean("log"), t_us=NOW - round(ago_s * S))


def load(ago_s: float, phase: str = "weights", slowest: str = "") -> LoadAdvanced:
    return LoadAdvanced(
        NAME, Clean(phase), 3, 8, slowest=Clean(slowest), t_us=NOW - round(ago_s * S)
    )


def ended(ready: bool, why: str = "") -> LoadEnded:
    return LoadEnded(NAME, ready, 5 * S, Clean("cuda-oom" if why else ""), Clean(why), t_us=NOW)


def condition(
    kind: str, why: str = "", eta_s: float | None = None, ago_s: float = 5.0
) -> ConditionSeen:
    eta_us = None if eta_s is None else round(eta_s * S)
    t_us = NOW - round(ago_s * S)
    return ConditionSeen(NAME, Condition(kind), Clean(why), eta_us, t_us=t_us)


def was(standing: Standing) -> StandingChanged:
    return StandingChanged(NAME, standing, Clean("before"))


def sglang(version: str) -> EngineSeen:
    return EngineSeen(NAME, Engine.SGLANG, Clean(version), Clean("m"), Clean("/server_info"))


VLLM = EngineSeen(NAME, Engine.VLLM, Clean("0.30.1"), Clean("m"), Clean("/version"))
LLAMA = EngineSeen(NAME, Engine.LLAMACPP, Clean("b1"), Clean("m"), Clean("/props"))
REFUSED = health(None, 0.001, Failure.REFUSED, "connection refused")
OOM = "CUDA out of memory on GPU 3 / TP3: wanted 738 MiB, 403 MiB free"


def folded(events: Sequence[Event]) -> State:
    return fold_all(State(), [replace(event, seq=n + 1) for n, event in enumerate(events)])


def judge(events: Sequence[Event], now_us: int = NOW, pace: Pace = PACE) -> Stands | None:
    state = folded([listed(), *events])
    return stands("base", state.servers["base"], state, now_us, Limits.of(pace))


TABLE: list[tuple[str, list[Event], Standing, str]] = [
    # Nothing is there, or it is on its way.
    (
        "refused",
        [REFUSED],
        Standing.DOWN,
        "connection refused: not running, or still loading its weights",
    ),
    ("refused, llama.cpp", [LLAMA, REFUSED], Standing.DOWN, "connection refused: not running"),
    ("refused, its log loads", [load(3), REFUSED], Standing.STARTING, "loading: weights"),
    ("not asked, its log loads", [load(3)], Standing.STARTING, "loading: weights"),
    (
        "its load stands still",
        [load(301, slowest="target 3/8 ranks, waiting for TP6"), REFUSED],
        Standing.STALLED,
        "loading: no progress for over 5 min in weights: target 3/8 ranks, waiting for TP6",
    ),
    ("its load failed", [load(3), ended(False, OOM), REFUSED], Standing.DOWN, OOM),
    ("failed, port still open", [ended(False, OOM), health(503, 0.01)], Standing.DOWN, OOM),
    ("a new load after a failure", [ended(False, OOM), load(1), REFUSED], Standing.STARTING, ""),
    (
        "ready a moment ago",
        [load(1), REFUSED, ended(True)],
        Standing.STARTING,
        "ready by its log, health not asked since",
    ),
    ("ready long ago", [load(9), ended(True), REFUSED], Standing.DOWN, "connection refused"),
    ("llama.cpp loads", [LLAMA, health(503, 0.01)], Standing.STARTING, "the model is being loaded"),
    ("warm-up", [health(503, 0.01)], Standing.STARTING, "the warm-up request is not through"),
    ("warm-up with a log", [load(1, "warm-up"), health(503, 0.01)], Standing.STARTING, "warm-up"),
    # Somebody answers, but not as this server should.
    (
        "not HTTP",
        [health(None, 0.01, Failure.NOT_HTTP, "not HTTP: b'SSH-2.0'")],
        Standing.REACHABLE,
        "not HTTP: b'SSH-2.0'",
    ),
    (
        "a certificate nobody vouches for",
        [health(None, 0.01, Failure.CERTIFICATE, "its certificate is not trusted: self-signed")],
        Standing.REACHABLE,
        "its certificate is not trusted: self-signed",
    ),
    (
        "a redirect",
        [health(302, 0.01, why="redirects with 302 to /x; not followed")],
        Standing.REACHABLE,
        "redirects with 302 to /x; not followed",
    ),
    ("no such path", [health(404, 0.01)], Standing.REACHABLE, "/health answers 404"),
    ("a key is missing", [health(401, 0.01)], Standing.REACHABLE, "needs the API key"),
    ("no key helps", [health(403, 0.01)], Standing.REACHABLE, "/health is forbidden (403)"),
    (
        "closed without an answer",
        [health(None, 0.01, Failure.CLOSED, "closed before it answered")],
        Standing.REACHABLE,
        "closed before it answered",
    ),
    ("vLLM's engine is dead", [VLLM, health(503, 0.01)], Standing.REACHABLE, "flagged dead"),
    (
        "the link is lost",
        [health(None, 0.01, Failure.LINK_LOST, "link lost")],
        Standing.UNKNOWN,
        "link lost",
    ),
    # It answers 200: what does that prove?
    ("a static 200", [VLLM, health(200, 0.01)], Standing.ALIVE, "does not ask the engine"),
    ("old SGLang's static 200", [sglang("0.4.8"), health(200, 0.01)], Standing.ALIVE, "not ask"),
    ("a token for the probe", [health(200, 1.002)], Standing.ALIVE, "a token came back"),
    (
        "idle",
        [health(200, 1.002), metric(running=0)],
        Standing.IDLE,
        "no request runs; a token came back",
    ),
    (
        "idle, but not proven",
        [VLLM, health(200, 0.01), metric(running=0)],
        Standing.IDLE,
        "no request runs; HTTP answers; this path does not ask the engine",
    ),
    ("old figures say nothing", [health(), metric(11, running=0)], Standing.ALIVE, "came back"),
    (
        "generating",
        [health(), metric(running=1), token(2)],
        Standing.GENERATING,
        "tokens in the last 10 s",
    ),
    ("by its log alone", [health(), token(9.9)], Standing.GENERATING, "tokens in the last 10 s"),
    (
        "a first prefill",
        [health(), token(500), metric(running=1, busy_s=5.0, quiet_s=5.0)],
        Standing.ALIVE,
        "requests run, no token seen yet",
    ),
    # Nothing but its log is known.
    ("not asked, its log failed", [load(3), ended(False, OOM)], Standing.DOWN, OOM),
    ("not asked, its log makes tokens", [token(3)], Standing.GENERATING, "by its log"),
    # Up, and not well.
    (
        "slowed by its log",
        [health(), token(2), condition("slowed", "decodes at 21 tok/s, 431 before")],
        Standing.DEGRADED,
        "decodes at 21 tok/s, 431 before",
    ),
    (
        "not slowed any more",
        [health(), token(2), condition("slowed", "x"), condition("well")],
        Standing.GENERATING,
        "tokens in",
    ),
    (
        "a new start forgets",
        [condition("slowed", "x"), load(1), ended(True), health(), token(2)],
        Standing.GENERATING,
        "tokens in",
    ),
    (
        "compiling and stuck",
        [condition("compiling", "compiling: Warmup 43%", 178), health(503, 20.01)],
        Standing.DEGRADED,
        "compiling: Warmup 43%, about 2 min left; no token came back for 20 s",
    ),
    (
        "compiling and quiet",
        [
            condition("compiling", "compiling: Warmup 43%"),
            health(),
            token(90),
            metric(running=2, busy_s=90.0, quiet_s=61.0),
        ],
        Standing.DEGRADED,
        "compiling: Warmup 43%; requests run, but no token for over 60 s",
    ),
    (
        "a compile that stands still explains nothing",
        [condition("compiling", "x", ago_s=301), token(400), health(503, 20.01)],
        Standing.STALLED,
        "no token came back",
    ),
    (
        "another process has its port",
        [replace(ended(False, "port 8000 already in use"), marker=Clean("port-taken")), health()],
        Standing.DOWN,
        "port 8000 already in use; another process answers there",
    ),
    ("slow", [health(200, 7.3)], Standing.DEGRADED, "slow: a token came back after 7.3 s"),
    ("slow, static", [VLLM, health(200, 6.0)], Standing.DEGRADED, "slow: /health took 6.0 s"),
    (
        "a rank is missing",
        [ended(False, "Rank 3 scheduler is dead"), health()],
        Standing.DEGRADED,
        "answers, but its log says: Rank 3 scheduler is dead",
    ),
    (
        "a /health that never ends",
        [health(200, 25.0, Failure.TIMEOUT, "200, but its body did not end within 25 s")],
        Standing.DEGRADED,
        "200, but its body did not end within 25 s",
    ),
    (
        "no answer in time",
        [health(None, 25.0, Failure.TIMEOUT, "connected, but no answer within 25 s")],
        Standing.DEGRADED,
        "connected, but no answer within 25 s",
    ),
    ("stuck", [token(40), health(503, 20.01)], Standing.STALLED, "no token came back for 20 s"),
    ("a long prefill", [token(4), health(503, 20.01)], Standing.DEGRADED, "no token came back"),
    (
        "stalled though 200",
        [VLLM, health(200, 0.01), token(300), metric(running=2, busy_s=200.0, quiet_s=61.0)],
        Standing.STALLED,
        "requests run, but no token for over 60 s",
    ),
    (
        "stalled, never a token",
        [VLLM, health(200, 0.01), metric(running=2, busy_s=61.0, quiet_s=61.0)],
        Standing.STALLED,
        "requests run, but no token for over 60 s",
    ),
    (
        "stalled by its log alone",
        [health(200, 1.0), token(61), metric(running=1, busy_s=80.0)],
        Standing.STALLED,
        "requests run, but no token for over 60 s",
    ),
    (
        "nothing would show a token",
        [VLLM, health(200, 0.01), metric(running=2, busy_s=900.0)],
        Standing.ALIVE,
        "requests run, no token seen yet",
    ),
    (
        "stalled and no answer",
        [
            metric(running=1, busy_s=80.0, quiet_s=80.0),
            health(None, 25.0, Failure.TIMEOUT, "no answer within 25 s"),
        ],
        Standing.STALLED,
        "requests run, but no token for over 60 s",
    ),
    ("draining", [was(Standing.IDLE), health(503, 0.01)], Standing.DRAINING, "stopping or paused"),
    (
        "a restart is no draining",
        [was(Standing.IDLE), load(1, "warm-up"), health(503, 0.01)],
        Standing.STARTING,
        "loading: warm-up",
    ),
]


@pytest.mark.parametrize(
    ("events", "standing", "why"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_standings(events: list[Event], standing: Standing, why: str) -> None:
    found = judge(events)
    assert found is not None
    assert found.standing is standing
    assert why in found.why
    assert found.why


def test_the_table_names_every_standing() -> None:
    assert {row[2] for row in TABLE} == set(Standing)


def test_nothing_asked_is_nothing_said() -> None:
    assert judge([]) is None


@pytest.mark.parametrize(
    ("age_s", "standing"),
    [(10.0, Standing.GENERATING), (10.1, Standing.ALIVE), (60.0, Standing.STALLED)],
)
def test_time_alone_moves_a_standing(age_s: float, standing: Standing) -> None:
    """The same facts, seen later; figures keep coming."""
    events: list[Event] = [health(), token(0), metric(-age_s, running=1, busy_s=900.0)]
    found = judge(events, NOW + round(age_s * S))
    assert found is not None
    assert found.standing is standing


def test_a_faster_lab_keeps_its_words() -> None:
    """Everything divided by 40, the reason reads as in real time."""
    events: list[Event] = [health(200, 1.0 / 40), token(0), metric(-1.5, running=1, busy_s=9.0)]
    found = judge(events, NOW + round(1.5 * S), Pace().scaled(40))
    assert found == Stands(Standing.STALLED, "requests run, but no token for over 60 s")
    quick = judge([health(200, 1.0 / 40)], NOW, Pace().scaled(40))
    assert quick == Stands(Standing.ALIVE, "a token came back")


def test_the_other_arm_of_a_slot_is_not_loaded_while_one_is_up() -> None:
    spec = listed("spec")
    arm = ArmSeen(Clean("spec"), Clean("slot gpu8a runs baseline"))
    up = StandingChanged(NAME, Standing.IDLE, Clean("up"))
    seen = replace(health(), server=Clean("spec"))
    limits = Limits.of(Pace())
    state = folded([listed(), spec, up, arm, seen])
    found = stands("spec", state.servers["spec"], state, NOW, limits)
    assert found == Stands(Standing.DOWN, "not loaded: slot gpu8a runs baseline")
    down = StandingChanged(NAME, Standing.DOWN, Clean("refused"))
    refused = replace(REFUSED, server=Clean("spec"))
    state = folded([listed(), spec, down, arm, refused])
    found = stands("spec", state.servers["spec"], state, NOW, limits)
    assert found is not None
    assert found.why.startswith("connection refused")
    starting = replace(load(1), server=Clean("spec"))
    state = folded([listed(), spec, up, arm, refused, starting])
    found = stands("spec", state.servers["spec"], state, NOW, limits)
    assert found == Stands(Standing.STARTING, "loading: weights")


def test_the_rule_speaks_only_when_something_changed() -> None:
    rule = standing_rule(Limits.of(Pace()))
    state = folded([listed(), health(), token(2)])
    (first,) = rule("base", state.servers["base"], state, NOW)
    assert isinstance(first, StandingChanged)
    assert first.standing is Standing.GENERATING
    state = fold_all(state, [first])
    assert list(rule("base", state.servers["base"], state, NOW + S)) == []
    (later,) = rule("base", state.servers["base"], state, NOW + 9 * S)
    assert isinstance(later, StandingChanged)
    assert later.standing is Standing.ALIVE
