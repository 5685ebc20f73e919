"""Logs laid together: nothing of one hides in another, and what is not there is said."""

from __future__ import annotations

from console.model.failure import Failure
from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.stream.fact import FeedState
from console.stream.logs import Ring
from console.stream.server_events import LogAdvanced, LogFeedChanged
from console.ui.panes.log_merged import BEGIN_LINES, MERGED, Merged
from tests.ui.stage import Stage, c, look, press, staged
from tests.ui.test_logs_screen import TRACEBACK, night, shown, title

POLL = 'INFO:     127.0.0.1:40000 - "GET /health HTTP/1.1" 200 OK'


def feed(ring: Ring, log: str, first: int, count: int, t_us: int) -> LogId:
    lines = tuple(clean(f"{log} {n}", Masks()) for n in range(first, first + count))
    ring.take(LogAdvanced(Clean(log), first, count, lines=lines, t_us=t_us))
    return LogId(log)


def texts(merged: Merged) -> list[str]:
    chunks = merged.ring.chunks(MERGED, 0, merged.end)
    return [str(line) for chunk in chunks for line in chunk.lines]


def test_what_merging_leaves_out_is_said_where_each_log_begins() -> None:
    ring, merged = Ring(most_lines=BEGIN_LINES + 7), Merged()
    long = feed(ring, "long", 0, 1000, 1)
    for place in range(1, 22):
        feed(ring, "long", 1000 * place, 1000, 10 * place)
    short = feed(ring, "short", 0, 2, 215)
    end = 22_000
    merged.take(ring, {long: end, short: 2})
    held = ring.reach(long)[0]
    assert held == 2000
    found = texts(merged)
    assert found[0] == "2,000 are no longer held"
    assert found[1:3] == ["long 2000", "long 2001"]
    assert found[-2:] == ["short 0", "short 1"]
    assert len(found) == 1 + BEGIN_LINES + 2

    again = Merged()
    feed(ring, "short", 2, BEGIN_LINES + 4, 300)
    again.take(ring, {short: BEGIN_LINES + 6})
    assert texts(again)[:2] == [
        "6 earlier lines are left out here; the log alone shows them",
        "short 6",
    ]


def test_what_came_and_went_between_two_looks_is_said() -> None:
    ring, merged = Ring(most_lines=10), Merged()
    log = feed(ring, "base", 0, 5, 1)
    merged.take(ring, {log: 5})
    for first in range(5, 30, 5):
        feed(ring, "base", first, 5, first)
    merged.take(ring, {log: 30})
    found = texts(merged)
    assert found[:5] == [f"base {n}" for n in range(5)]
    assert found[5] == "15 are no longer held"
    assert found[6:] == [f"base {n}" for n in range(20, 30)]


async def test_the_same_line_of_two_servers_is_two_lines() -> None:
    stage = Stage()
    stage.host("gpu8")
    for name in ("one", "two"):
        stage.server(name)
    for second in range(3):
        stage.manual.advance(1)
        for name in ("one", "two"):
            stage.lines(name, f"[2026-02-24 17:05:0{second} TP{second}] Draining", POLL)
    async with staged(stage, (100, 20)) as (app, pilot):
        await press(app, pilot, "2", "&")
        rows = [row for row in shown(app) if row]
        assert len(rows) == 12
        assert not any("×" in row for row in rows)
        assert rows[:3] == [
            " one TP0 │ [2026-02-24 17:05:00 TP0] Draining",
            f" one     │ {POLL}",
            " two TP0 │ [2026-02-24 17:05:00 TP0] Draining",
        ]


async def test_tracebacks_written_at_once_stand_each_under_its_own_log() -> None:
    stage = Stage()
    stage.host("gpu8")
    for name in ("one", "two"):
        stage.server(name)
    for line in TRACEBACK:
        stage.lines("one", line)
        stage.lines("two", line)
    async with staged(stage, (120, 20)) as (app, pilot):
        await press(app, pilot, "2", "&")
        rows = [row for row in shown(app) if row]
        assert [row[:9] for row in rows] == [" one TP5 ", " two TP5 "]
        assert [row.endswith("▸ 4 lines") for row in rows] == [True, True]


async def test_how_many_logs_are_not_read_stands_in_the_title() -> None:
    stage = night()
    async with staged(stage, (120, 30)) as (app, pilot):
        await press(app, pilot, "2", "&")
        assert " following · " in title(app)
        lost = LogFeedChanged(c("kimi-base"), FeedState.CUT, Failure.LINK_LOST, c("no keepalive"))
        stage.emit(lost)
        await look(app, pilot)
        assert " 1 of 3 link lost · " in title(app)
        stage.feed("kimi-tuned", FeedState.MISSING)
        await look(app, pilot)
        assert " 2 of 3 not read · " in title(app)
