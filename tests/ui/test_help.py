"""The help of each pane: what it is, its keys, what its words mean."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from console.model.verbs import VERBS
from console.render.guide import PAGES, page_of, verbs_of
from console.render.standings import SHAPES
from console.ui.app import ConsoleApp
from console.ui.modes import MODES
from console.ui.panes.pane import Pane
from tests.ui.stage import press, staged, story, text


async def told(app: ConsoleApp, pilot: Pilot[Any]) -> str:
    """What the help says in the focused pane, on one line; leaves it again."""
    await pilot.press("?")
    await pilot.pause()
    found = " ".join(str(app.screen.query_one(Static).render()).split())
    await press(app, pilot, "escape")
    return found


@pytest.mark.parametrize("mode", [mode.verb for mode in MODES])
async def test_every_pane_that_can_be_focused_has_a_page_of_its_own(mode: str) -> None:
    async with staged(story()) as (app, pilot):
        await press(app, pilot, VERBS[mode].key)
        panes = [pane for pane in app.screen.query(Pane) if pane.can_focus]
        assert panes
        for pane in panes:
            page = page_of(pane.id or "")
            assert page is not None, f"render/guide.py has no page for {pane.id}"
            app.screen.set_focus(pane)
            if pane.display:
                shown = await told(app, pilot)
                assert shown.startswith(f"{page.title} esc closes")
                assert page.about in shown


def test_pages_name_verbs_that_there_are() -> None:
    for page in PAGES.values():
        for verb in page.verbs:
            assert verb in VERBS or any(known.startswith(verb) for known in VERBS), verb
            assert verb in VERBS or verb.endswith("."), verb
        assert len(verbs_of(page, VERBS)) == len(set(verbs_of(page, VERBS)))


def test_every_standing_is_explained() -> None:
    words = dict(PAGES["servers"].words)
    for standing, (shape, _) in SHAPES.items():
        assert words[f"{shape} {standing.value}"]


async def test_keys_of_the_pane_come_first_and_none_is_told_twice() -> None:
    async with staged(story(), (120, 60)) as (app, pilot):
        await press(app, pilot, "2")
        shown = await told(app, pilot)
    own, rest = shown.split("All other keys")
    assert VERBS["logs.filter"].help in own
    assert VERBS["health"].help not in own
    assert VERBS["logs.filter"].help not in rest
    assert VERBS["health"].help in rest


async def test_help_is_read_to_its_end_by_keys() -> None:
    async with staged(story(), (60, 20)) as (app, pilot):
        await pilot.press("?")
        await pilot.pause()
        assert "Leave the console." not in text(app)
        await pilot.press("j")
        await pilot.press("end")
        await pilot.pause()
        assert "Leave the console." in text(app)
        await press(app, pilot, "question_mark")
        assert not app.screen.is_modal
