"""Sizes, themes, colours and panes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.color import Color

from console.model.palette import Role
from console.store.folders import bundled
from console.store.theme import Pen, load_theme, pen_of, read_theme, theme_names
from console.store.toml import BadFile
from tests.ui.stage import Stage, c, look, press, staged, story, text

NAMES = ("colour-blind-safe", "dark", "high-contrast", "light", "sixteen")


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` (WCAG 2.2)."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_themes_that_come_along() -> None:
    assert theme_names() == NAMES


@pytest.mark.parametrize("name", [name for name in NAMES if name != "sixteen"])
def test_every_role_can_be_read(name: str) -> None:
    theme = load_theme(name)
    least = 7.0 if name == "high-contrast" else 4.5
    for ground in ("background", "surface", "selected"):
        for role in Role:
            pen = theme.pens[role]
            found = contrast(pen.colour, theme.ground[ground])
            assert found >= least, (role, ground, round(found, 2))


def test_sixteen_uses_names_only() -> None:
    theme = load_theme("sixteen")
    assert theme.ansi
    for pen in theme.pens.values():
        assert pen.colour == "default" or Color.parse(pen.colour).number in range(16)


def test_a_pen_is_colour_and_attributes() -> None:
    assert pen_of("#7fd48a bold") == Pen("#7fd48a", frozenset({"bold"}))
    assert pen_of("bright_red") == Pen("bright_red")
    assert pen_of("default dim") == Pen("default", frozenset({"dim"}))
    for wrong in ("", "#7fd48", "reddish", "#7fd48a blink", "bold"):
        assert pen_of(wrong) is None


def test_a_bad_file_is_told_with_file_line_key_and_value(tmp_path: Path) -> None:
    good = (bundled("themes") / "dark.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(re.sub('warning = "#[0-9a-f]+"', 'warning = "yelow"', good, count=1))
    line = path.read_text().splitlines().index('warning = "yelow"') + 1
    with pytest.raises(BadFile) as caught:
        read_theme(path)
    (problem,) = caught.value.problems
    assert str(problem).startswith(f'{path}:{line}:1: warning: "yelow" is no colour')
    path.write_text(good.replace("[log]", "[logs]"))
    with pytest.raises(BadFile) as caught:
        read_theme(path)
    assert "[log] is missing" in str(caught.value)
    assert 'unknown key "logs"' in str(caught.value)
    path.write_text(good.replace("theme/1", "theme/9"))
    with pytest.raises(BadFile, match='"theme/1" was expected, not "theme/9"'):
        read_theme(path)


def test_an_unknown_theme_names_the_nearest() -> None:
    with pytest.raises(BadFile, match='no theme "darc"'):
        load_theme("darc")


@pytest.mark.parametrize("name", NAMES)
async def test_a_theme_changes_colours_only(name: str) -> None:
    async with staged(story(), (80, 24)) as (app, _):
        expected = text(app)
    async with staged(story(), (80, 24), name) as (app, _):
        assert text(app) == expected


async def test_a_theme_is_chosen_and_worn() -> None:
    async with staged(story(), (80, 24)) as (app, pilot):
        before = app.dashboard.log_pane.ink.style(Role.TEXT)
        await pilot.press("T")
        await pilot.pause()
        assert set(app.available_themes) == set(NAMES)
        await pilot.press("escape")
        app.theme = "light"
        await look(app, pilot)
        after = app.dashboard.log_pane.ink.style(Role.TEXT)
        assert before != after
        assert str(load_theme("light").pens[Role.TEXT].colour) in str(after)


async def test_without_colour_shape_and_word_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    async with staged(story(), (80, 24)) as (app, _):
        expected = text(app)
    monkeypatch.setenv("NO_COLOR", "1")
    async with staged(story(), (80, 24)) as (app, _):
        assert text(app) == expected
        colours = {
            style.color.triplet
            for strip in app.screen._compositor.render_strips(app.size)
            for _, style, _ in strip
            if style is not None and style.color is not None and style.color.triplet is not None
        }
        assert all(len(set(triplet)) == 1 for triplet in colours)


async def test_small_says_so_and_goes_on() -> None:
    stage = story()
    async with staged(stage, (120, 40)) as (app, pilot):
        before = text(app)
        await pilot.resize_terminal(40, 10)
        await look(app, pilot)
        assert "! 40x10 is small: 60x20 shows all" in text(app)
        stage.lines("kimi-base", "[2026-02-24 17:01:50 TP0] still here")
        await press(app, pilot, "down", "up", "f")
        assert "still here" in text(app)
        await pilot.resize_terminal(120, 40)
        await look(app, pilot)
        assert "is small" not in text(app)
        assert before.splitlines()[:10] == text(app).splitlines()[:10]
        assert "still here" in text(app)


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (20, 4), (61, 20), (300, 80)])
async def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    async with staged(story(), size) as (app, _):
        lines = text(app).split("\n")
        assert len(lines) == size[1]
        assert all(len(line) <= size[0] for line in lines)


async def test_tab_goes_round_the_panes_and_z_gives_one_the_screen() -> None:
    async with staged(story(), (120, 40)) as (app, pilot):
        seen = []
        for _ in range(4):
            assert app.focused is not None
            seen.append(app.focused.id)
            await press(app, pilot, "tab")
        assert seen == ["servers", "chart", "verdict", "log"]
        assert app.focused is app.dashboard.servers
        await press(app, pilot, "shift+tab", "z")
        assert "Servers" not in text(app)
        assert app.dashboard.log_pane.size.height == 38
        await press(app, pilot, "z")
        assert "Servers" in text(app)


async def test_colours_in_names_are_left_out() -> None:
    stage = Stage()
    stage.host("gpu8", "gpu8")
    stage.server(c("\x1b[31mred\x1b[0m"))
    async with staged(stage, (80, 24)) as (app, _):
        assert "▶ red " in text(app)
        assert "Log  red" in text(app)
        assert "\ufffd" not in text(app)


async def test_colours_of_the_server_are_kept_in_its_log() -> None:
    async with staged(story(), (80, 24)) as (app, _):
        first = next(
            segment
            for strip in app.screen._compositor.render_strips(app.size)
            for segment in strip
            if segment.text == "INFO"
        )
        assert first.style is not None
        assert first.style.color is not None
        assert first.style.color.triplet == app.ansi_theme.ansi_colors[2]
