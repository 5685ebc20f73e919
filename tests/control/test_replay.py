"""Control of a replay: looking works, moving works, changing does not."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from console.control.replay import Replay
from console.model.clock import ManualClock
from console.model.exits import Exit
from console.model.mask import Masks
from console.model.verbs import VERBS
from console.session.journal import Journal
from console.stream.fact import Standing
from console.stream.state import State

STORY = Path(__file__).parents[2] / "sample_sessions" / "story.toml"


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> Replay:
    def forbidden(*_: object) -> None:
        raise AssertionError("a replay opened a socket")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
    return Replay(Journal(STORY), ManualClock(), Masks())


async def do(replay: Replay, verb: str, **arguments: int | str) -> Mapping[str, str | int | float]:
    outcome = await replay.do(verb, "kimi-base", arguments)
    assert outcome.exit is Exit.OK, outcome
    return outcome.results


async def test_health_plays_on_to_the_next_answer(replay: Replay) -> None:
    answers = []
    for _ in range(7):
        outcome = await replay.do("health", "kimi-base")
        answers.append(outcome.results.get("code", outcome.results["failure"]))
    assert answers == ["refused"] * 5 + [503, 200]
    assert replay.timeline.state.standing("kimi-base") is Standing.ALIVE
    again = await do(replay, "health")
    assert again["code"] == 200


async def test_tail_shows_the_lines_known_at_that_time(replay: Replay) -> None:
    while (await replay.do("health", "kimi-base")).exit is not Exit.OK:
        pass
    results = await do(replay, "tail", lines=2)
    assert results["count"] == 2
    assert str(results["last"]).endswith('"GET /health HTTP/1.1" 200 OK')


async def test_moving_both_ways(replay: Replay) -> None:
    start = replay.timeline.state
    assert isinstance(start, State)
    await do(replay, "replay.end")
    assert replay.timeline.now_us == replay.player.length_us
    end = replay.timeline.state
    assert end.session.closed is not None
    await do(replay, "replay.previous")
    assert replay.timeline.state == replace(end, session=replace(end.session, closed=None))
    await do(replay, "replay.next")
    assert replay.timeline.state == end
    await do(replay, "replay.goto", at_us=100_000_000)
    assert replay.timeline.now_us == 100_000_000
    await do(replay, "replay.back")
    assert replay.timeline.now_us == 90_000_000
    await do(replay, "replay.start")
    assert replay.timeline.state == start


async def test_speed_has_its_ends(replay: Replay) -> None:
    for _ in range(20):
        await do(replay, "replay.faster")
    assert replay.player.speed == 64.0
    for _ in range(20):
        await do(replay, "replay.slower")
    assert replay.player.speed == 0.25


async def test_what_needs_a_live_feed_is_refused(replay: Replay) -> None:
    outcome = await replay.do("marker", "", {"name": "x"})
    assert (outcome.exit, outcome.text) == (
        Exit.GUARD, "this is a replay: nothing new can be recorded",
    )  # fmt: skip
    assert replay.can("nosuch") == "no verb nosuch"
    assert {verb for verb in VERBS if replay.can(verb) is None} >= {"health", "tail", "save"}


async def test_save_copies_the_session_and_never_overwrites(replay: Replay, tmp_path: Path) -> None:
    target = tmp_path / "copy.toml"
    results = await do(replay, "save", file=str(target))
    assert target.read_bytes() == STORY.read_bytes()
    assert results["bytes"] == STORY.stat().st_size
    again = await replay.do("save", "", {"file": str(target)})
    assert (again.exit, again.text) == (Exit.STEP, f"{target}: exists already")


def test_the_recording_names_its_fleet(replay: Replay) -> None:
    fleet = replay.fleet()
    assert fleet.name == "kimi.toml"
    assert [server.name for server in fleet.servers] == ["kimi-base", "kimi-eagle3"]


async def test_what_a_torn_file_lost_is_known_at_any_time(tmp_path: Path) -> None:
    raw = STORY.read_bytes()
    torn = tmp_path / "torn.toml"
    torn.write_bytes(raw[:5000] + b"X" + raw[5001:-100])
    replay = Replay(Journal(torn), ManualClock(), Masks())
    for verb in ("replay.start", "replay.end", "replay.previous"):
        await do(replay, verb)
        told = [notice.text for notice in replay.timeline.state.session.notices]
        assert any("bytes are damaged or cut" in text for text in told), verb
