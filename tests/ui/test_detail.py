"""The pane of a server's detail: what it shows, how it scrolls, that it keeps still."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from console.model.text import Clean
from console.render.header import Mode
from console.store.theme import load_theme
from console.stream.server_events import ArgsSeen
from console.ui.panes.detail import Detail
from console.ui.sight import Sight
from console.ui.theme import Ink
from tests.ui.stage import Stage, press, staged, story, text


class Bare(App[None]):
    """Nothing but the pane."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage
        self.pane = Detail(Ink(load_theme("dark")))

    def compose(self) -> ComposeResult:
        yield self.pane

    def look(self, server: str = "kimi-base") -> None:
        timeline = self.stage.timeline
        sight = Sight(
            timeline.state, timeline.now_us, timeline.logs, timeline.series, Mode(), server
        )
        self.pane.show(sight)

    def lines(self) -> list[str]:
        strips = self.screen._compositor.render_strips(self.size)
        return [strip.text.rstrip() for strip in strips]


@asynccontextmanager
async def bare(
    stage: Stage, size: tuple[int, int] = (100, 24)
) -> AsyncIterator[tuple[Bare, Pilot[Any]]]:
    app = Bare(stage)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        app.look()
        await pilot.pause()
        yield app, pilot


async def test_it_shows_the_selected_server() -> None:
    async with bare(story()) as (app, pilot):
        lines = app.lines()
        assert "Detail  kimi-base" in lines[0]
        assert lines[1].startswith("│ standing       ◆ generating")
        assert any("decode         62.0 tok/s" in line for line in lines)
        app.look("kimi-tuned")
        await pilot.pause()
        lines = app.lines()
        assert "Detail  kimi-tuned" in lines[0]
        assert any("74/163 45%" in line for line in lines)


async def test_it_scrolls_by_lines_and_pages_and_says_where_it_is() -> None:
    stage = story()
    pairs = tuple((Clean(name), Clean("1")) for name in ("tp_size", "dp_size", "dtype"))
    stage.emit(ArgsSeen(Clean("kimi-base"), pairs))
    async with bare(stage, (100, 10)) as (app, pilot):
        first = app.lines()
        assert "1–8 of " in first[0]
        app.pane.scroll_lines(2)
        await pilot.pause()
        assert app.lines()[1:7] == first[3:9]
        app.pane.scroll_pages(9)
        await pilot.pause()
        assert any("3 arguments" in line for line in app.lines())
        app.pane.scroll_pages(-9)
        await pilot.pause()
        assert app.lines() == first
        app.look("kimi-tuned")
        app.look("kimi-base")
        await pilot.pause()
        assert app.lines() == first


async def test_the_same_facts_in_the_same_second_are_not_drawn_again() -> None:
    stage = story()
    async with bare(stage) as (app, _):
        before = app.pane._lines
        stage.manual.advance(0.4)
        app.look()
        assert app.pane._lines is before
        stage.manual.advance(1)
        app.look()
        assert app.pane._lines is not before


async def test_a_key_puts_it_in_place_of_the_log_and_back() -> None:
    async with staged(story(), (120, 40)) as (app, pilot):
        assert "Log  kimi-base" in text(app)
        await press(app, pilot, "D")
        shown = text(app)
        assert "Detail  kimi-base" in shown
        assert "decode         62.0 tok/s" in shown
        assert "Log  kimi-base" not in shown
        await press(app, pilot, "down")
        assert "Detail  kimi-eagle3" in text(app)
        await press(app, pilot, "pagedown", "pageup", "shift+down")
        assert "Detail  kimi-eagle3" in text(app)
        await press(app, pilot, "D")
        shown = text(app)
        assert "Log  kimi-eagle3" in shown
        assert "Detail" not in shown


async def test_a_small_screen_scrolls_it() -> None:
    async with staged(story(), (80, 24)) as (app, pilot):
        await press(app, pilot, "D")
        before = text(app)
        assert "1–" in before
        await press(app, pilot, "pagedown")
        after = text(app)
        assert after != before
        await press(app, pilot, "pageup")
        assert text(app).splitlines()[8:18] == before.splitlines()[8:18]
