"""The question before an act: safe first, readable to its end, deaf to keys pressed too early."""

from __future__ import annotations

import asyncio

import pytest
from textual import events
from textual.widgets import Button, Input

from console.model.ask import Question
from tests.rig.waiting import auntil
from tests.ui.stage import staged, story, text

DETAIL = (
    "runs now: kimi-base: process 4101 and 9 below it",
    "  - NCCL_PROTO=LL",
    "  + NCCL_PROTO=LL128",
    *(f"line {n}" for n in range(80)),
    "to undo: what runs now is kept on the host as a recipe",
)


def question(name: str | None) -> Question:
    return Question(
        "kimi-base", "restart kimi-base", DETAIL, must_type=name,
        choices=("Cancel", "Restart"), deliberate=True,
    )  # fmt: skip


async def test_a_key_held_down_cancels_and_one_pressed_too_early_confirms_nothing() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        answer = app.run_worker(app.dialogs.ask(question(None)))
        await pilot.pause()
        assert app.focused is app.screen.query_one("#choice-0")
        await pilot.press("enter", "enter", "enter")
        assert await answer.wait() == "Cancel"

        answer = app.run_worker(app.dialogs.ask(question(None)))
        await pilot.pause()
        await pilot.press("right", "enter")
        await pilot.click("#choice-1")
        await pilot.pause()
        assert app.screen.query_one("#choice-1", Button).disabled
        assert app.screen.is_modal
        stage.manual.advance(1)
        await auntil(lambda: not app.screen.query_one("#choice-1", Button).disabled)
        await pilot.click("#choice-1")
        assert await answer.wait() == "Restart"


async def test_the_name_is_typed_and_every_line_can_be_read() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        answer = app.run_worker(app.dialogs.ask(question("kimi-base")))
        await pilot.pause()
        shown = text(app)
        for words in (
            "restart kimi-base",
            "- NCCL_PROTO=LL",
            "+ NCCL_PROTO=LL128",
            "Type kimi-base",
        ):
            assert words in shown
        assert "to undo" not in shown
        await pilot.press("shift+tab", "shift+tab", "end")
        await auntil(lambda: "to undo: what runs now is kept" in text(app))
        await pilot.press("tab", "tab")
        assert app.focused is app.screen.query_one("#choice-0")
        await pilot.press(*"kimi-base", "enter")
        await pilot.pause()
        assert app.screen.is_modal
        assert app.screen.query_one("#answer", Input).value == "kimi-base"
        assert {"kimi-base", "Cancel"} <= {*text(app).replace("│", " ").split()}
        stage.manual.advance(1)
        await auntil(lambda: not app.screen.query_one("#choice-1", Button).disabled)
        await pilot.press("enter")
        assert await answer.wait() == "Restart"


@pytest.mark.parametrize("at_once", [9, 4, 2, 1])
async def test_a_name_that_comes_at_once_keeps_its_letters_and_their_order(at_once: int) -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        answer = app.run_worker(app.dialogs.ask(question("kimi-base")))
        await auntil(lambda: "Type kimi-base" in text(app))
        stage.manual.advance(1)
        await auntil(lambda: not app.screen.query_one("#choice-1", Button).disabled)
        for place, letter in enumerate("kimi-base", 1):
            app.post_message(events.Key("minus" if letter == "-" else letter, letter))
            if place % at_once == 0:
                await asyncio.sleep(0)
        await pilot.press("enter")
        assert await answer.wait() == "Restart"


async def test_a_name_that_is_pasted_goes_to_the_field() -> None:
    async with staged(story()) as (app, pilot):
        app.run_worker(app.dialogs.ask(question("kimi-base")))
        await auntil(lambda: "Type kimi-base" in text(app))
        app.post_message(events.Paste("kimi-base"))
        field = app.screen.query_one("#answer", Input)
        await auntil(lambda: field.value == "kimi-base")
        await pilot.pause()
        assert app.focused is field


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 20)])
@pytest.mark.parametrize("name", [None, "kimi-base"])
async def test_the_answers_are_in_view_however_much_there_is_to_read(
    size: tuple[int, int], name: str | None
) -> None:
    async with staged(story(), size) as (app, pilot):
        app.run_worker(app.dialogs.ask(question(name)))
        await auntil(lambda: "Cancel" in text(app))
        await pilot.pause()
        shown = text(app)
        assert "Cancel" in shown
        assert "Restart" in shown
        assert "runs now: kimi-base: process 4101" in shown
        assert ("Type kimi-base to go on." in shown) is (name is not None)
        assert app.focused is app.screen.query_one("#choice-0")
        await pilot.press("space", "b", "q")
        await pilot.pause()
        assert app.screen.is_modal
