"""Every verb a person may ask for is reached by keys alone: by its own, or through the palette."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from textual.command import CommandList
from textual.pilot import Pilot

from console.model.verb import Need
from console.model.verbs import VERBS
from console.ui.app import ConsoleApp
from console.ui.modes import MODES
from tests.ui.stage import Player, Stage, press, staged, story

KEYED = [verb for verb in VERBS.values() if verb.key]
NAMED = [verb for verb in VERBS.values() if not verb.key and verb.on_screen]


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The verbs that keys ended in; none of them is carried out."""
    found: list[str] = []
    monkeypatch.setattr(ConsoleApp, "action_verb", lambda _, verb: found.append(verb))
    return found


def names(options: CommandList) -> list[str]:
    """What was found, in its order."""
    return [str(option.prompt).split("\n")[0] for option in options.options]


def lists(options: CommandList, title: str) -> bool:
    return title in names(options)


async def met(pilot: Pilot[Any], holds: Callable[[], bool]) -> None:
    """Wait for the screen to be so."""
    for _ in range(500):
        if holds():
            return
        await pilot.pause(0.01)
    raise AssertionError("the screen never came to be so")


@pytest.mark.parametrize("player", [None, Player()], ids=["live", "replay"])
async def test_every_key_ends_in_its_verb(player: Player | None, done: list[str]) -> None:
    async with staged(story(Stage(player))) as (_, pilot):
        for verb in KEYED:
            for key in verb.key.split(","):
                await pilot.press(key)
                assert done == [verb.id], key
                done.clear()


async def test_every_verb_without_a_key_is_found_by_its_name(done: list[str]) -> None:
    async with staged(story()) as (app, pilot):
        for verb in NAMED:
            app.action_command_palette()
            await pilot.pause()
            await pilot.press(*verb.title)
            options = app.screen.query_one(CommandList)
            await met(pilot, partial(lists, options, verb.title))
            await pilot.press(*["down"] * names(options).index(verb.title), "enter")
            await met(pilot, lambda: bool(done))
            assert done == [verb.id]
            done.clear()


def test_every_verb_has_one_of_the_two_ways() -> None:
    in_scripts = {"wait", "assert", "repeat"}
    by_the_editor = {"environment.fabric", "environment.profiles"}
    hidden = {verb.id for verb in VERBS.values() if not verb.on_screen}
    assert hidden == in_scripts | by_the_editor
    assert {verb.id for verb in (*KEYED, *NAMED)} == set(VERBS) - hidden


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.word)
async def test_every_move_of_a_screen_is_made_by_its_key(mode: object) -> None:
    verb = mode.verb  # type: ignore[attr-defined]
    async with staged(story(), (100, 30)) as (app, pilot):
        await press(app, pilot, VERBS[verb].key)
        for move in app.modes.screen.moves:
            assert app.refusal(move) is None or VERBS[move].need is not Need.NOTHING
            for key in VERBS[move].key.split(",")[:1]:
                await pilot.press(key or "f24")
                await pilot.pause()
                if app.screen.is_modal:
                    await pilot.press("escape")
                    await pilot.pause()
            assert app.defect is None
            assert app.modes.current == verb
