"""Every verb of the logs by its key, on the dashboard and on the screen of their own."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from console.model.verbs import VERBS
from console.stream.fact import FeedState, GapKind
from console.stream.server_events import LogGap
from console.stream.session_events import MarkerPut
from console.stream.state import Jump
from console.ui.app import ConsoleApp
from console.ui.screens.logs import Logs
from tests.ui.stage import Player, Stage, c, look, press, staged, story, text

GOLDEN = Path(__file__).parent / "golden"
TRACEBACK = (
    "[2026-02-24 17:01:43 TP5] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "scheduler.py", line 2180, in run_scheduler_process',
    "    scheduler.event_loop_overlap()",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 738.00 MiB.",
)


def shown(app: ConsoleApp) -> list[str]:
    """The lines inside the first log's frame, a pointer before one as it stands."""
    lines = text(app).splitlines()
    start = next(n for n, line in enumerate(lines) if "Log" in line and line.startswith("╭"))
    end = next(n for n, line in enumerate(lines) if n > start and line.startswith("╰"))
    return [line[1:-1].rstrip() for line in lines[start + 1 : end]]


def title(app: ConsoleApp) -> str:
    return next(line for line in text(app).splitlines() if "Log" in line and line[0] == "╭")


def said(app: ConsoleApp) -> str:
    return next(line for line in text(app).splitlines() if line.startswith((" ✓", " !")))


def night(stage: Stage | None = None) -> Stage:
    """The story and what went wrong after it."""
    stage = story(stage)
    stage.emit(LogGap(c("kimi-base"), 103, 1, GapKind.LINK, c("link lost 42 s · 0 lines lost")))
    stage.lines("kimi-base", *TRACEBACK)
    for port in (50234, 50300, 50301):
        stage.lines(
            "kimi-base", f'INFO:     10.8.0.5:{port} - "GET /v1/models HTTP/1.1" 401 Unauthorized'
        )
    poll = 'INFO:     127.0.0.1:40000 - "GET /health HTTP/1.1" 200 OK'
    stage.lines("kimi-base", poll, "[2026-02-24 17:01:44 TP0] Draining", poll)
    stage.lines("kimi-tuned", *(f"[2026-02-24 17:01:4{n} TP{n}] shards {n}/163" for n in range(4)))
    return stage


def modal(app: ConsoleApp) -> bool:
    return app.screen.is_modal


async def ended(app: ConsoleApp, group: str) -> None:
    """Wait for what a key began."""
    running = [worker for worker in app.workers if worker.group == group]
    if running:
        await app.workers.wait_for_complete(running)


async def typed(app: ConsoleApp, pilot: object, key: str, words: str) -> None:
    """A key that asks, and the answer."""
    from textual.pilot import Pilot

    assert isinstance(pilot, Pilot)
    await pilot.press(key)
    await pilot.pause()
    await pilot.press(*words, "enter")
    await press(app, pilot)


async def test_a_traceback_and_repeats_are_one_line_each_until_unfolded() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        rows = shown(app)
        assert isinstance(app.screen, Logs)
        raised = " [2026-02-24 17:01:43 TP5] torch.OutOfMemoryError: CUDA out of memory. Tried to"
        assert rows[-5].startswith(raised)
        assert rows[-5].endswith("▸ 4 lines")
        assert rows[-4].endswith("×3")
        assert rows[-6].startswith(" ── link lost 42 s · 0 lines lost ──")
        await press(app, pilot, "F")
        assert shown(app)[-10].endswith("Traceback (most recent call last):")
        assert shown(app)[-7].endswith("Tried to allocate 738.00 MiB.")
        await press(app, pilot, "F")
        assert shown(app) == rows


async def test_a_filter_shows_what_matches_counts_it_and_goes_through_it() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await typed(app, pilot, "/", r"token: 9\d\d")
        assert "/token: 9\\d\\d 12 match" in title(app)
        assert len([row for row in shown(app) if "Decode" in row]) == 12
        assert any("link lost" in row for row in shown(app))
        await press(app, pilot, "n")
        assert "1 of 12 match" in title(app)
        await press(app, pilot, "n")
        assert "2 of 12 match" in title(app)
        assert shown(app)[1].startswith("▸[2026-02-24 17:01:29")
        await press(app, pilot, "N")
        assert "1 of 12 match" in title(app)
        await press(app, pilot, "N")
        assert said(app) == " ! No match above"
        await press(app, pilot, "backspace")
        assert "match" not in title(app)
        assert len([row for row in shown(app) if row]) == 25


async def test_a_highlight_hides_nothing() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        before = shown(app)
        await typed(app, pilot, "*", "outofmemory")
        assert "*outofmemory 2 match" in title(app)
        assert shown(app) == before
        await press(app, pilot, "N")
        assert "2 of 2 match" in title(app)
        assert next(row for row in shown(app) if row.startswith("▸")).endswith("▸ 4 lines")


async def test_case_and_word_count_when_wanted() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await typed(app, pilot, "/", "DECODE|oken")
        assert "100 match" in title(app)
        await press(app, pilot, "W")
        assert said(app) == " ✓ whole words only"
        assert "/DECODE|oken/w 100 match" in title(app)
        await press(app, pilot, "C")
        assert said(app) == " ✓ upper and lower case differ"
        assert "/DECODE|oken/c/w 0 match" in title(app)
        await press(app, pilot, "W")
        assert "/DECODE|oken/c 100 match" in title(app)


async def test_lines_can_be_excluded() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await typed(app, pilot, "!", "decode batch|health")
        assert not any("Decode" in row or "health" in row for row in shown(app))
        assert "!decode batch|health 102 hidden" in title(app)
        await typed(app, pilot, "/", "models")
        assert [row for row in shown(app) if "models" in row][-1].endswith("×3")


async def test_what_is_no_pattern_is_said_and_can_be_mended() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await typed(app, pilot, "/", "(a")
        assert modal(app)
        assert "(a: missing ) at position 2" in text(app)
        await pilot.press(")", "enter")
        await press(app, pilot)
        assert not modal(app)
        assert "/(a) " in title(app)
        await pilot.press("slash")
        await pilot.pause()
        await press(app, pilot, "escape")
        assert "/(a) " in title(app)


async def test_a_pattern_that_backtracks_badly_is_ended_and_said() -> None:
    stage = night()
    stage.lines("kimi-base", "a" * 60_000 + "b")
    async with staged(stage, (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await typed(app, pilot, "/", "(a+)+$")
        assert said(app).startswith(" ! Search ended: /(a+)+$/ backtracks badly: over 0.1 s")
        assert "search stopped" in title(app)
        assert any("Draining" in row for row in shown(app))
        stage.lines("kimi-base", "goes on")
        await look(app, pilot)
        assert shown(app)[-1] == " goes on"


async def test_presets_hide_noise_and_say_how_much() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await press(app, pilot, "u")
        assert said(app) == " ✓ health polls hidden"
        assert "2 hidden" in title(app)
        assert not any("/health" in row for row in shown(app))
        assert any("401" in row for row in shown(app))
        await press(app, pilot, "u")
        await press(app, pilot, "u")
        assert said(app) == " ✓ all noise hidden"
        await press(app, pilot, "u")
        assert said(app) == " ✓ nothing hidden"
        assert "hidden" not in title(app)
        assert any("/health" in row for row in shown(app))


async def test_a_line_is_pointed_at_and_opened() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await press(app, pilot, "K", "K", "K", "K", "K")
        assert "scrolled" in title(app)
        await press(app, pilot, "enter")
        opened = text(app)
        assert modal(app)
        assert "rank           TP5" in opened
        assert "failure        CUDA out of memory: wanted 738 MiB" in opened
        assert "means          a GPU had no memory left for an allocation" in opened
        assert "scheduler.event_loop_overlap()" in opened
        await press(app, pilot, "escape")
        assert not modal(app)
        await press(app, pilot, "J")
        assert next(row for row in shown(app) if row.startswith("▸")).endswith("×3")


async def test_lines_are_selected_and_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.delenv("STY", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await press(app, pilot, "K", "v", "K", "K")
        assert [row[0] for row in shown(app)[-3:]] == ["▸", "▪", "▪"]
        await press(app, pilot, "y")
        await ended(app, "log-copy")
        await look(app, pilot)
        assert said(app) == " ✓ 3 lines to the terminal's clipboard (OSC 52)"
        await press(app, pilot, "v", "v")
        assert [row[0] for row in shown(app)[-3:]] == ["▸", " ", " "]


@pytest.mark.parametrize(
    ("choice", "count", "first"),
    [(1, 25, "17:01:"), (2, 109, "17:00:00"), (3, 114, "17:00:00")],
    ids=["visible", "filtered", "all"],
)
async def test_lines_are_saved_for_their_owner_and_never_over_a_file(
    choice: int, count: int, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    word = ("visible", "filtered", "all")[choice - 1]
    (tmp_path / f"spec-console-kimi-base-{word}.log").write_text("mine")
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await pilot.press("s")
        await pilot.pause()
        await pilot.press(*["right"] * choice, "enter")
        await press(app, pilot)
        await ended(app, "log-save")
        await look(app, pilot)
        path = tmp_path / f"spec-console-kimi-base-{word}-2.log"
        lines = path.read_text().splitlines()
        assert said(app).startswith(f" ✓ {count} lines saved to ")
        assert said(app).endswith(f"/spec-console-kimi-base-{word}-2.log")
        assert len(lines) == count
        assert first in lines[0]
        assert "-- link lost 42 s · 0 lines lost --" in lines
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / f"spec-console-kimi-base-{word}.log").read_text() == "mine"


async def test_long_lines_wrap_and_scroll_sideways() -> None:
    stage = night()
    stage.lines("kimi-base", "x" * 70_000)
    async with staged(stage, (80, 24)) as (app, pilot):
        await press(app, pilot, "2")
        await press(app, pilot, "w")
        rows = shown(app)
        assert rows[-1] == " " + "x" * 75 + "…"
        assert rows[-9:-1] == [" " + "x" * 76] * 8
        await press(app, pilot, "pageup")
        assert not any("xxxx" in row for row in shown(app))
        await press(app, pilot, "w", "L")
        assert shown(app)[0].startswith(" …")
        stage.lines("kimi-base", "more")
        await look(app, pilot)
        assert shown(app)[0].startswith(" …")
        await press(app, pilot, "H")
        assert shown(app)[0].startswith(" [2026")


async def test_times_in_one_zone_and_the_original_beside_them() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await press(app, pilot, "Z")
        rows = shown(app)
        assert said(app) == " ✓ times in UTC; ≈ is when a line came in"
        assert rows[-2].startswith("  17:01:44 [2026-02-24 17:01:44 TP0] Draining")
        assert rows[-1].startswith(" ≈17:01:40 INFO: ")
        await press(app, pilot, "Z")
        assert shown(app)[-1].startswith(" INFO: ")


async def test_going_to_a_time_an_error_and_a_marker() -> None:
    stage = night()
    stage.manual.advance(5)
    stage.emit(MarkerPut(c("before the fall")))
    stage.manual.advance(5)
    stage.lines("kimi-base", *(f"[2026-02-24 17:02:{n:02} TP0] after {n}" for n in range(60)))
    async with staged(stage, (120, 30)) as (app, pilot):
        await press(app, pilot, "2")

        def pointed() -> str:
            return next(row for row in shown(app) if row.startswith("▸"))

        await typed(app, pilot, "t", "17:00:30")
        assert pointed().startswith("▸[2026-02-24 17:00:30 TP0]")
        await typed(app, pilot, "t", "soon")
        assert said(app).startswith(" ! soon is no time such as 17:05")
        await press(app, pilot, "]")
        await ended(app, "log-place")
        await look(app, pilot)
        assert "torch.OutOfMemoryError: CUDA out of memory." in pointed()
        await press(app, pilot, "}")
        assert pointed().endswith("after 0")
        assert said(app) == " ✓ Marker before the fall"
        await press(app, pilot, "}")
        assert said(app) == " ! No marker below"
        await press(app, pilot, "f", "pageup", "{")
        assert pointed().endswith("after 0")
        await press(app, pilot, "[")
        await ended(app, "log-place")
        await look(app, pilot)
        assert pointed().endswith("▸ 4 lines")


async def test_logs_are_merged_by_arrival_with_their_names() -> None:
    stage = night()
    async with staged(stage, (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await press(app, pilot, "&")
        assert said(app) == " ✓ all logs merged by arrival"
        assert "Logs  3 merged by arrival" in title(app)
        rows = shown(app)
        assert rows[-1] == " gpu9/kimi-tuned  TP3 │ [2026-02-24 17:01:43 TP3] shards 3/163"
        assert rows[-5].startswith(' gpu8/kimi-base       │ INFO:     127.0.0.1:40000 - "GET /heal')
        stage.lines("kimi-base", "[2026-02-24 17:01:50 TP0] new")
        await look(app, pilot)
        assert shown(app)[-1] == " gpu8/kimi-base   TP0 │ [2026-02-24 17:01:50 TP0] new"
        await typed(app, pilot, "/", "shards|new")
        assert "5 match" in title(app)
        await press(app, pilot, "&")
        assert said(app) == " ✓ logs side by side"
        head = next(line for line in text(app).splitlines() if "Log" in line and line[0] == "╭")
        assert [name in head for name in ("kimi-base", "kimi-eagle3", "kimi-tuned")] == [True] * 3
        await press(app, pilot, "tab")
        assert app.screen.active is app.screen.beside[1]  # type: ignore[attr-defined]
        await press(app, pilot, "&")
        assert said(app) == " ✓ one log"


async def test_the_dashboard_says_where_logs_are_laid_out() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        await press(app, pilot, "&")
        assert said(app) == " ✓ 2 shows the logs merged or side by side"


async def test_a_replay_that_goes_back_shows_only_what_had_happened() -> None:
    stage = story(Stage(Player()))
    earlier = stage.timeline.state
    night(stage)
    async with staged(stage, (120, 30)) as (app, pilot):
        await press(app, pilot, "2")
        await press(app, pilot, "&")
        assert "shards 3/163" in shown(app)[-1]
        stage.timeline.take(Jump(earlier, stage.timeline.now_us))
        await look(app, pilot)
        assert "torch.OutOfMemoryError" in shown(app)[-1]
        assert not any("shards" in row for row in shown(app))


async def test_every_verb_of_the_logs_has_a_key_and_a_move() -> None:
    async with staged(night(), (120, 30)) as (app, pilot):
        dashboard = app.dashboard.moves
        await press(app, pilot, "2")
        own = app.modes.screen.moves
        for verb in VERBS.values():
            if verb.id.startswith("logs."):
                assert verb.key, verb.id
                assert verb.id in own, verb.id
                assert verb.id in dashboard, verb.id


ODD: list[tuple[str, ...]] = [
    (),
    ("x",) * 50,
    ("y" * 65_536,) * 3,
    ("界" * 200, "e\u0301" * 90, "\t界\tx"),
    ("\x1b[31mred\x1b[0m " * 30, "[bold]x[/]", "\x9b2J"),
]


@pytest.mark.parametrize("size", [(60, 20), (300, 80)], ids=str)
async def test_odd_logs_fit_the_screen_whatever_is_done(size: tuple[int, int]) -> None:
    stage = Stage()
    stage.host("gpu8")
    for number, lines in enumerate(ODD):
        stage.server(f"odd-{number}")
        stage.feed(f"odd-{number}", FeedState.FOLLOWING)
        if lines:
            stage.lines(f"odd-{number}", *lines)
    async with staged(stage, size) as (app, pilot):
        await press(app, pilot, "2")
        for key in [*"KvKwZL", *["down"] * 4, *"KvKwZLuF&w&&", *["up"] * 4, "N"]:
            await pilot.press(key)
            app.follow.look()
            await pilot.pause()
            rows = app.screen._compositor.render_strips(app.size)
            assert len(rows) == size[1]
            assert {row.cell_length for row in rows} == {size[0]}


SCENES: list[tuple[str, Callable[[], Stage], tuple[int, int], tuple[str, ...]]] = [
    ("logs-80x24", night, (80, 24), ("2",)),
    ("logs-120x40", night, (120, 40), ("2", "u", "K", "v", "K")),
    ("logs-merged-120x40", night, (120, 40), ("2", "&")),
    ("logs-wrapped-80x24", night, (80, 24), ("2", "w")),
]


@pytest.mark.parametrize(("name", "scene", "size", "keys"), SCENES, ids=[s[0] for s in SCENES])
async def test_screen(
    name: str, scene: Callable[[], Stage], size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    async with staged(scene(), size) as (app, pilot):
        for key in keys:
            await press(app, pilot, key)
        # The footer names screens that are none of this test's.
        seen = "\n".join(text(app).splitlines()[:-1]) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(seen)
    assert seen == path.read_text()
