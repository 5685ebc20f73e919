"""The player: idle stretches, places to go to, files that are still written."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from console.control.replay import Replay
from console.model.clock import US_PER_S, ManualClock
from console.model.exits import Exit
from console.model.fleet import LogId
from console.model.mask import Masks
from console.session.journal import Journal
from console.session.landmarks import time_of
from console.session.player import TICK_S
from console.stream.logs import last_lines
from console.stream.run_events import ActFinished, ActRequested
from console.stream.series import SeriesKey
from console.stream.server_events import HealthSeen, LoadEnded, MetricSeen, TokenSeen
from console.stream.session_events import MarkerPut, SessionOpened
from tests.session.writing import Writing, c


def health(code: int = 200) -> HealthSeen:
    return HealthSeen(c("base"), c("/health"), 1000, code)


def night(path: Path) -> Path:
    """t = 0 opening, 10 marker, 20 polls until 170, 180 error, 190 act, 200 its end."""
    writing = Writing(path)
    writing.emit(MarkerPut(c("begin")), after_s=10)
    for _ in range(80):
        writing.emit(health(), after_s=2)
    writing.emit(LoadEnded(c("base"), False, 1, c("oom"), c("out of memory")), after_s=10)
    act = c("a1")
    writing.emit(ActRequested(act, c("launch"), c("base"), c("me"), c("typed")), after_s=10)
    writing.emit(ActFinished(act, c("done"), c("up")), after_s=10)
    writing.log("It is READY at last", "second line", after_s=10)
    return writing.close()


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    return Replay(Journal(night(tmp_path / "s.toml")), ManualClock(), Masks())


async def go(replay: Replay, verb: str, **arguments: str | int) -> tuple[float, str]:
    """Do it; where the player is then, in seconds, and what was said."""
    outcome = await replay.do(f"replay.{verb}", "", arguments)
    assert outcome.exit in (Exit.OK, Exit.STEP)
    return replay.player.position_us / US_PER_S, outcome.text


async def test_leaps_both_ways_to_markers_acts_errors_and_polls(replay: Replay) -> None:
    assert await go(replay, "next_marker") == (10, "")
    assert await go(replay, "next_marker") == (10, "no marker after this")
    assert await go(replay, "next_poll") == (12, "")
    assert await go(replay, "next_poll") == (14, "")
    assert await go(replay, "previous_poll") == (12, "")
    assert await go(replay, "next_error") == (180, "")
    assert await go(replay, "next_act") == (190, "")
    assert await go(replay, "next_act") == (200, "")
    assert await go(replay, "previous_act") == (190, "")
    assert await go(replay, "previous_poll") == (170, "")
    assert await go(replay, "previous_error") == (170, "no error before this")
    assert replay.timeline.state.session.markers[0].name == "begin"


def test_the_bar_has_a_notch_for_each(replay: Replay) -> None:
    places = [(at // US_PER_S, kind) for at, kind in replay.player.notches()]
    assert places == [(10, "marker"), (180, "error"), (190, "act"), (200, "act")]


async def test_a_text_is_found_both_ways_in_whatever_letters(replay: Replay) -> None:
    assert await go(replay, "find", text="ready at LAST") == (210, "")
    assert await go(replay, "find", text="ready at LAST") == (210, 'no "ready at LAST" after this')
    assert await go(replay, "find", text="out of memory", by=-1) == (180, "")
    assert await go(replay, "find", text="wait_us") == (180, 'no "wait_us" after this')
    assert await go(replay, "find", text="") == (180, 'no "" after this')


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("90", 90),
        ("1:30.5", 90.5),
        ("0:01:30", 90),
        ("+5", 105),
        ("-1:00", 40),
        ("50%", 105),
        ("16:50:00Z", 90),
        ("2026-02-24T16:50:00Z", 90),
    ],
)
async def test_times_as_people_type_them(replay: Replay, typed: str, seconds: float) -> None:
    await go(replay, "goto", at_us=100 * US_PER_S)
    assert await go(replay, "goto", to=typed) == (seconds, "")


async def test_what_is_no_time_is_said(replay: Replay) -> None:
    for typed in ("", "noon", "1:2:3:4", "25:00:00Z", "%", "+"):
        at, said = await go(replay, "goto", to=typed)
        assert (at, said) == (0, f'"{typed}" is no time such as 12:41, +30, 50% or 16:57:06Z')


def test_a_time_of_day_before_the_opening_is_of_the_next_day() -> None:
    opened = SessionOpened(c("w"), c("f"), c("live"), c("2026-02-24T23:59:30.000000Z"))
    assert time_of("00:00:10Z", 0, 0, opened) == 40 * US_PER_S
    assert time_of("00:00:10Z", 0, 0, None) is None


def playing(replay: Replay) -> bool:
    return replay.player.playing


async def play(clock: ManualClock, seconds: float) -> None:
    """Let that much real time pass while the player runs."""
    for _ in range(round(seconds / TICK_S)):
        clock.advance(TICK_S)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_an_idle_stretch_is_skipped_and_said_and_gives_every_event(tmp_path: Path) -> None:
    clock = ManualClock()
    replay = Replay(Journal(night(tmp_path / "s.toml")), clock, Masks())
    seen: list[object] = []
    replay.timeline.subscribe(lambda item, _: seen.append(item))
    running = asyncio.create_task(replay.run())
    await asyncio.sleep(0)
    assert await go(replay, "idle") == (0, "idle stretches are skipped")
    await go(replay, "goto", to="10")
    replay.player.playing = True
    assert replay.player.skipped == ""
    await play(clock, 1.5)
    assert replay.player.skipped == "168 s skipped"
    assert 179 <= replay.player.position_us / US_PER_S < 180
    assert sum(isinstance(item, HealthSeen) for item in seen) == 80
    await play(clock, 2)
    assert replay.player.skipped == "8 s skipped"
    await play(clock, 12)
    assert replay.player.at_end
    assert not playing(replay)
    await go(replay, "start")
    assert replay.player.skipped == ""
    running.cancel()


async def test_without_the_cut_time_passes_as_it_did(tmp_path: Path) -> None:
    clock = ManualClock()
    replay = Replay(Journal(night(tmp_path / "s.toml")), clock, Masks())
    running = asyncio.create_task(replay.run())
    await asyncio.sleep(0)
    replay.player.playing = True
    replay.player.speed = 4.0
    await play(clock, 5)
    assert replay.player.position_us == 20 * US_PER_S
    running.cancel()


async def test_a_session_that_another_console_writes_is_followed(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "s.toml")
    writing.log("first")
    writing.recorder.flush()
    clock = ManualClock()
    replay = Replay(Journal(writing.path), clock, Masks())
    running = asyncio.create_task(replay.run())
    await asyncio.sleep(0)
    await go(replay, "end")
    assert playing(replay)
    writing.log("second", after_s=30)
    writing.emit(MarkerPut(c("here")))
    writing.recorder.flush()
    await play(clock, 1.2)
    assert replay.player.position_us == 30 * US_PER_S
    assert last_lines(replay.timeline.logs, LogId("base"), 5, 99) == ["first", "second"]
    assert replay.player.notches() == [(30 * US_PER_S, "marker")]
    writing.close()
    await play(clock, 1.2)
    assert replay.timeline.state.session.closed is not None
    assert not playing(replay)
    running.cancel()


async def test_a_file_that_stands_still_is_given_up(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "s.toml")
    writing.recorder.flush()
    clock = ManualClock()
    replay = Replay(Journal(writing.path), clock, Masks())
    running = asyncio.create_task(replay.run())
    await asyncio.sleep(0)
    await go(replay, "end")
    await play(clock, 80)
    assert playing(replay)
    await play(clock, 20)
    assert not playing(replay)
    running.cancel()


def test_reading_on_goes_block_by_block_over_a_torn_tail(tmp_path: Path) -> None:
    whole = night(tmp_path / "whole.toml").read_bytes()
    path = tmp_path / "s.toml"
    path.write_bytes(whole[:400])
    journal = Journal(path)
    for end in range(401, len(whole) + 1, 37):
        with path.open("ab") as file:
            file.write(whole[path.stat().st_size : end])
        journal.read_on()
    with path.open("ab") as file:
        file.write(whole[path.stat().st_size :])
    journal.read_on()
    assert list(journal.events(bulk=True)) == list(
        Journal(tmp_path / "whole.toml").events(bulk=True)
    )
    assert journal.losses() == []
    assert journal.closed


async def test_after_a_seek_charts_look_back_as_they_did_live(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "s.toml")
    base = c("base")
    for second in range(400):
        figures = ((c("running"), 1.0), (c("queued"), float(second)))
        writing.emit(MetricSeen(base, c("/metrics"), figures), after_s=1)
        writing.emit(TokenSeen(base, c("/metrics"), 60 + second / 100))
    replay = Replay(Journal(writing.close()), ManualClock(), Masks())
    keys = SeriesKey("base", "decode_tok_s"), SeriesKey("base", "queued")
    await go(replay, "goto", to="300")
    for key in keys:
        live = writing.timeline.series.window(key, 180 * US_PER_S, 301 * US_PER_S)
        replayed = replay.timeline.series.window(key, 180 * US_PER_S, 301 * US_PER_S)
        assert replayed == live
        assert len(replayed.value) == 121
    replay.player.advance(310 * US_PER_S)
    newer = replay.timeline.series.window(keys[0], 295 * US_PER_S, 311 * US_PER_S)
    assert list(newer.t_us) == [second * US_PER_S for second in range(295, 311)]
    await go(replay, "start")
    assert len(replay.timeline.series.window(keys[0], 0, 400 * US_PER_S).value) == 0
