"""How a server stands whose log is one of the settled cases, health answering as it would."""

from __future__ import annotations

from typing import Any

import pytest

from console.model.failure import Failure
from console.model.text import Clean
from console.stream.fact import Condition, Standing
from console.stream.server_events import ConditionSeen, HealthSeen, MetricSeen
from tests.engines.observing import case, expected
from tests.services.room import NAME, Room

S = 1_000_000
PATH = Clean("/health")
REFUSED = HealthSeen(NAME, PATH, 1000, None, Failure.REFUSED, Clean("connection refused"))
BUSY = ("13", "33", "39")
"""Cases that end while requests run; the others have none left."""
OTHERS = {
    "21": HealthSeen(NAME, PATH, 20 * S, 503),  # a zombie parent
    "25": HealthSeen(NAME, PATH, 1_002_000, 200),  # from the process that has the port
}


def metric(room: Room, **figures: float) -> None:
    pairs = tuple((Clean(name), value) for name, value in figures.items())
    room.timeline.emit(MetricSeen(NAME, Clean("/v1/loads"), pairs))


def why(room: Room) -> str:
    seen = room.timeline.state.servers["base"].standing
    return seen.why if seen else ""


STANDING = [n for n in (f"{n:02}" for n in range(1, 40, 2)) if "standing" in expected(n)]


@pytest.mark.parametrize("number", STANDING)
def test_each_case_stands_as_it_must(number: str) -> None:
    want = Standing(expected(number)["standing"])
    room = Room().read(case(number), 0.5)
    if want in (Standing.STARTING, Standing.DOWN):
        room.timeline.emit(OTHERS.get(number, REFUSED))
    else:
        busy = number in BUSY
        room.clock.advance(0 if busy else 20)
        metric(room, running=float(busy), queued=0.0)
        room.timeline.emit(HealthSeen(NAME, PATH, 1_002_000, 200))
    assert room.timeline.state.standing("base") is want
    reason = expected(number).get("reason", "")
    if reason and number != "11":  # its words are the kernel's and ours
        assert why(room).startswith(reason)


def test_a_server_that_did_not_get_its_port_is_down_whoever_answers() -> None:
    room = Room().read(case("25"))
    room.timeline.emit(OTHERS["25"])
    assert why(room) == (
        "port 30000 already in use (bind failed at 18:54:42); another process answers there"
    )


def test_a_collapse_is_seen_with_before_and_after_and_is_over_when_it_is() -> None:
    room = Room().read(case("27"))
    room.timeline.emit(HealthSeen(NAME, PATH, 1_002_000, 200))
    assert room.timeline.state.standing("base") is Standing.DEGRADED
    assert why(room) == "decodes at 20.9 tok/s since 17:22:15, 431 before"
    assert [n.text for n in room.notices if "decodes" in n.text] == [why(room)]
    good = case("27")[2].replace("17:22:06", "17:23:0{}")
    room.read([good.format(n) for n in range(3)])
    assert room.timeline.state.standing("base") is Standing.GENERATING
    conditions = [e.condition for e in room.events if isinstance(e, ConditionSeen)]
    assert conditions == [Condition.SLOWED, Condition.WELL]


SPECULATING = (
    "[2026-06-30 17:22:{:02} TP0] Decode batch, #running-req: 1, #token: 900, token usage: 0.01,"
    " accept len: {:.2f}, accept rate: 0.50, cuda graph: True, gen throughput (token/s): {:.2f},"
    " #queue-req: 0"
)


def test_drafts_that_are_all_refused_are_noticed_and_slow_nothing() -> None:
    lengths = [3.4, 3.3, 3.4, 1.0, 1.02, 1.0, 1.0, 3.1, 1.0, 1.0, 1.0]
    room = Room().read(SPECULATING.format(n, x, 68 * x) for n, x in enumerate(lengths))
    assert [n.text for n in room.notices] == [
        "every draft is refused at 17:22:05: 1.00 tokens a step, 3.35 before",
        "every draft is refused at 17:22:10: 1.00 tokens a step, 3.10 before",
    ]
    assert not any(isinstance(e, ConditionSeen) for e in room.events)
    assert not any("refused" in n.text for n in Room().read(case("13")).notices)


WINDOW = (
    "(APIServer pid=41) INFO 11-02 10:2{}:{:02} [loggers.py:351] Engine 000: Avg prompt throughput:"
    " 0.0 tokens/s, Avg generation throughput: {:.1f} tokens/s, Running: 2 reqs, Waiting: 0 reqs,"
    " GPU KV cache usage: 0.4%, Prefix cache hit rate: 0.0%"
)


def test_a_vllm_whose_windows_stay_empty_is_stalled_though_health_says_200() -> None:
    speeds = [140.2, *[0.0] * 6]
    room = Room().read(["(APIServer pid=41) INFO:     Application startup complete."])
    room.read((WINDOW.format(n // 6, n % 6 * 10, x) for n, x in enumerate(speeds)), 10.0)
    room.timeline.emit(HealthSeen(NAME, PATH, 900, 200))
    assert room.timeline.state.standing("base") is Standing.STALLED
    assert why(room) == "requests run, but its log shows no token since 10:20:10"
    room.read([WINDOW.format(1, 10, 55.5)], 0.0)
    assert room.timeline.state.standing("base") is not Standing.STALLED


def test_a_larger_batch_is_not_slow() -> None:
    """Tokens rise by far less than requests do, and come back when they go."""
    plain = SPECULATING.replace(" accept len: {:.2f}, accept rate: 0.50,", "")
    steps = [(1, 70.0)] * 4 + [(256, 3900.0)] * 6 + [(2, 130.0)] * 4
    room = Room().read(
        plain.replace("#running-req: 1", f"#running-req: {running}").format(n, rate)
        for n, (running, rate) in enumerate(steps)
    )
    assert not any(isinstance(e, ConditionSeen) for e in room.events)


def test_silence_while_kernels_are_compiled_has_its_reason_and_clears() -> None:
    want: dict[str, Any] = expected("23")
    assert want["standing_over_time"][1].startswith("degraded (503")
    room, over = Room(), list[tuple[Standing, str]]()
    stuck = HealthSeen(NAME, PATH, 20 * S, 503)
    well = HealthSeen(NAME, PATH, 1_002_000, 200)
    for line in case("23"):
        metric(room, running=2.0, quiet_s=100.0)
        room.read([line], 25.0)
        if "GET /health" in line:
            room.timeline.emit(stuck if "503" in line else well)
        found = (room.timeline.state.standing("base"), why(room))
        if not over or over[-1] != found:
            over.append(found)
    degraded = [text for standing, text in over if standing is Standing.DEGRADED]
    assert any(
        "compiling: " in text and "43%, about 2 min left; no token came back" in text
        for text in degraded
    )
    assert Standing.DOWN not in [standing for standing, _ in over]
    assert over[-1][0] is not Standing.DEGRADED


@pytest.mark.parametrize(("number", "standing"), [("17", "down"), ("03", "starting")])
def test_a_log_alone_tells_how_it_stands(number: str, standing: str) -> None:
    room = Room().read(case(number))
    assert room.timeline.state.standing("base") == standing
