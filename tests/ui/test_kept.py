"""Selection, screen, layout and filters survive a restart."""

from __future__ import annotations

from console.store.folders import state_folder
from console.store.layout import load_layout, save_layout
from tests.ui.stage import Player, Stage, press, staged, story, text


async def test_the_screen_comes_back_as_it_was_left() -> None:
    async with staged(story()) as (app, pilot):
        await press(app, pilot, "down", "shift+tab", "z")
        find = app.dashboard.log_pane.find
        find.want(exclude=find.pattern("Decode"))
        await press(app, pilot, "5", "q")
    async with staged(story()) as (app, pilot):
        assert app.modes.current == "mode.session"
        assert app.dashboard.servers.selected == "kimi-eagle3"
        await press(app, pilot, "1")
        assert app.dashboard.maximised is app.dashboard.log_pane
        assert "Servers" not in text(app)
        await press(app, pilot, "up")
        assert "Decode batch" not in text(app)
        assert "ibv_create_qp" in text(app)
        exclude = app.dashboard.log_pane.find.wanted.exclude
        assert exclude is not None
        assert exclude.text == "Decode"


async def test_filters_of_the_log_screen_come_back_there() -> None:
    async with staged(story()) as (app, pilot):
        await press(app, pilot, "2")
        find = app.modes.screen.one.find  # type: ignore[attr-defined]
        find.want(include=find.pattern("OutOfMemory"))
        await press(app, pilot, "q")
    async with staged(story()) as (app, _):
        assert app.modes.current == "mode.logs"
        assert "OutOfMemory" in text(app)
        assert "Decode batch" not in text(app)


async def test_what_means_nothing_any_more_is_left_out() -> None:
    gone: dict[str, str | int | bool] = {
        "server": "long gone", "mode": "mode.none", "maximised": "none", "include": "(",
        "quiet": 99, "fold": "perhaps",
    }  # fmt: skip
    save_layout("kimi.toml", gone)
    async with staged(story()) as (app, _):
        assert app.modes.current == "mode.dash"
        assert app.dashboard.servers.selected == "kimi-base"
        assert app.dashboard.maximised is None
        assert app.dashboard.log_pane.find.wanted.include is None
        assert "Decode batch" in text(app)


async def test_a_file_that_cannot_be_read_is_told_and_left_alone() -> None:
    path = state_folder() / "ui.toml"
    path.write_text("mine")
    async with staged(story()) as (app, pilot):
        assert " ! the layout is not remembered: " in text(app)
        await press(app, pilot, "down", "q")
    assert path.read_text() == "mine"


async def test_a_replay_neither_recalls_nor_remembers() -> None:
    save_layout("kimi.toml", {"server": "kimi-tuned", "mode": "mode.session"})
    async with staged(story(Stage(Player()))) as (app, pilot):
        assert app.modes.current == "mode.dash"
        assert app.dashboard.servers.selected == "kimi-base"
        await press(app, pilot, "down", "q")
    assert load_layout("kimi.toml")["server"] == "kimi-tuned"
