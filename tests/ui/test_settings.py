"""What settings change on the screen: keys, zone, ASCII."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.span import width
from console.render.standings import SHAPES
from console.store.preferences import Settings, When
from console.ui.ascii import ascii_text
from console.ui.terminal import draws_ascii
from tests.ui.stage import press, staged, story, text

CONSOLE = Path(__file__).parents[2] / "console"


async def test_a_keymap_changes_keys_footer_and_help() -> None:
    stage = story()
    stage.settings = Settings(keymap={"health": "y", "view.help": "f1"})
    async with staged(stage, (200, 70)) as (app, pilot):
        footer = text(app).splitlines()[-1]
        assert "y ask health" in footer
        assert "f1 help" in footer
        await press(app, pilot, "h")
        assert stage.control.done == []
        await press(app, pilot, "y")
        assert [verb for verb, _, _ in stage.control.done] == ["health"]
        await press(app, pilot, "f1")
        assert "  y           Ask the health path of a server once." in text(app)


async def test_two_verbs_swap_their_keys() -> None:
    stage = story()
    stage.settings = Settings(keymap={"health": "p", "logs.pause": "h"})
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "p")
        assert [verb for verb, _, _ in stage.control.done] == ["health"]
        await press(app, pilot, "h")
        assert "paused" in text(app)


async def test_a_verb_without_a_key_can_be_given_one() -> None:
    stage = story()
    stage.settings = Settings(keymap={"tail": "Y"})
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "p")
        assert "paused" in text(app)
        await press(app, pilot, "Y")
        assert "following" in text(app)


async def test_the_clock_is_in_the_zone_of_the_settings() -> None:
    stage = story()
    stage.settings = Settings(zone="Asia/Tokyo")
    async with staged(stage) as (app, pilot):
        assert "02:01:40 JST" in text(app).splitlines()[0]
        await press(app, pilot, "5")
        assert "2026-02-25 02:00:00 JST" in text(app)


@pytest.mark.parametrize("size", [(60, 20), (120, 40)])
async def test_ascii_draws_the_same_screen_cell_for_cell(size: tuple[int, int]) -> None:
    async with staged(story(), size) as (app, _):
        expected = text(app)
    stage = story()
    stage.settings = replace(Settings(), ascii=When.YES)
    async with staged(stage, size) as (app, pilot):
        shown = text(app)
        assert shown.isascii()
        assert shown == "\n".join(ascii_text(line) for line in expected.split("\n"))
        assert "+- > Servers -" in shown or "+- Servers -" in shown
        for keys in ("?", "escape", "ctrl+p", "escape", "m"):
            await press(app, pilot, keys)
            assert text(app).isascii()


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs", "M"])))
def test_ascii_text_is_ascii_and_as_wide(written: str) -> None:
    shown = ascii_text(written)
    assert shown.isascii()
    assert len(shown) == width(written)


def test_what_the_screen_draws_with_has_a_likeness() -> None:
    """No sign of the console's own becomes the sign of what is not known."""
    written = "".join(
        node.value
        for room in ("render", "ui")
        for path in (CONSOLE / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    signs = {char for char in written if not char.isascii() and char != "\N{REPLACEMENT CHARACTER}"}
    assert signs
    assert [sign for sign in sorted(signs) if "?" in ascii_text(sign)] == []


def test_standings_differ_in_ascii_too() -> None:
    shapes = [ascii_text(shape) for shape, _ in SHAPES.values()]
    assert len(set(shapes)) == len(shapes)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, False),
        ({"LANG": "en_US.UTF-8"}, False),
        ({"LANG": "de_DE.utf8"}, False),
        ({"LANG": "en_US.ISO-8859-1"}, True),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, True),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, True),
        ({"LC_CTYPE": "C.UTF-8"}, False),
        ({"LC_ALL": "C.UTF-8", "LANG": "C"}, False),
    ],
)
def test_ascii_is_drawn_where_the_locale_is_not_utf_8(
    environ: dict[str, str], expected: bool
) -> None:
    assert draws_ascii(When.AUTO, environ) is expected
    assert draws_ascii(When.YES, environ)
    assert not draws_ascii(When.NO, environ)
