"""The environment on its screen: the night of the story, at every size, live and changing."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from console.control.port import Outcome
from console.model.exits import Exit
from console.model.span import plain_text
from console.stream.fact import Completeness
from console.stream.server_events import CollectiveSeen, EnvDrifted, EnvRead, ProcessSeen
from console.ui.app import ConsoleApp
from console.ui.panes.text import Text
from console.ui.screens.dialog import Dialog
from console.ui.screens.variables import Variables
from tests.rig.waiting import auntil
from tests.ui.stage import Stage, c, look, press, staged, story, text

SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
ENGINE = {"NCCL_CUMEM_ENABLE": "0"}
BASE = c("kimi-base")


def env(source: str, values: dict[str, str], how: Completeness, why: str = "") -> EnvRead:
    pairs = tuple((c(name), c(value)) for name, value in values.items())
    return EnvRead(BASE, c(source), how, pairs, 4188, c(why))


def read(stage: Stage, operator: dict[str, str]) -> None:
    whole, partly = Completeness.WHOLE, Completeness.PARTLY
    stage.emit(
        env("wanted", SIX, whole, "llring from train_plan_v4.md:212–213"),
        env("launcher", operator, whole),
        env("tracker", operator | ENGINE, whole),
        *(env(f"rank {n}", ENGINE, partly, "part of the block is zeroed") for n in range(8)),
        CollectiveSeen(BASE, c("2.27.7"), c("NCCL"), c("refused: 8 PCIe-only GPUs"), 412),
        ProcessSeen(BASE, 4100),
    )


def night() -> Stage:
    stage = story()
    read(stage, {})
    why = c("container restarted 3 days ago; NCCL_PROTO, NCCL_ALGO and 4 more lost")
    stage.emit(EnvDrifted(BASE, tuple(map(c, SIX)), (), why))
    return stage


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_six_are_lost_at_every_size(size: tuple[int, int]) -> None:
    async with staged(night(), size) as (app, pilot):
        await press(app, pilot, "3")
        shown = text(app)
        lines = shown.splitlines()
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]
        joined = " ".join(" ".join(line.strip("│╭╮╰╯─ ").split()) for line in lines)
        assert "container restarted 3 days ago; NCCL_PROTO, NCCL_ALGO and 4 more lost" in joined
        if size[1] >= 40:
            assert shown.count("✗ lost") == 6
            assert "source: resource_tracker 4188 (whole)" in joined
            assert "Decode's all-reduce goes through NCCL (log line 412" in joined
            assert "for the wanted profile llring from train_plan_v4.md:212–213" in joined
            assert "note NCCL_BUFFSIZE=16777216 NCCL_PROTO=LL" in joined
        else:
            await press(app, pilot, "z" if app.screen.focused else "tab", "z")
            for _ in range(3):
                await press(app, pilot, "pagedown")
            assert "✗ lost" in text(app)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (100, 30)])
async def test_a_low_screen_keeps_some_of_each_and_marks_the_rest(size: tuple[int, int]) -> None:
    async with staged(night(), size) as (app, pilot):
        await press(app, pilot, "3")
        panes = [pane for pane in app.screen.query(Text) if pane.display]
        assert [pane.id for pane in panes] == ["truth", "findings", "matter"]
        for pane in panes:
            assert pane.depth >= 1
            hidden = len(pane._lines) > pane.depth
            assert hidden == ("below" in plain_text(pane.state)), pane.id
        app.screen.set_focus(panes[2])
        await press(app, pilot, "z")
        assert "Who says what" not in text(app)
        assert "(log line 412" in text(app)


async def test_it_follows_what_is_read_and_which_server_is_selected() -> None:
    stage = night()
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "3")
        read(stage, SIX)
        stage.emit(EnvDrifted(BASE, (), (), c("as in the last good run")))
        await look(app, pilot)
        shown = text(app)
        assert shown.count("✓ same") == 6
        assert "container restarted" not in shown
        await press(app, pilot, "down")
        assert "Nothing read yet: e reads it now." in text(app)


async def test_e_reads_it_now() -> None:
    stage = night()
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "3", "e")
        assert stage.control.done[-1][:2] == ("env", "kimi-base")


async def edits(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    """Open the editor and let it be painted."""
    await press(app, pilot, "E")
    await auntil(lambda: isinstance(app.screen, Variables))
    await look(app, pilot)


async def test_the_editor_completes_checks_and_saves_a_profile() -> None:
    stage = night()
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "3")
        await edits(app, pilot)
        await press(app, pilot, "ctrl+r")
        shown = text(app)
        assert "variables for kimi-base" in shown
        assert "NCCL_PROTO=LL" in shown
        assert "NCCL_PROTO  unset → LL" in shown
        await pilot.press(*["down"] * 6, *"cumem_en", "tab", *"2x")
        await look(app, pilot)
        shown = text(app)
        assert "NCCL_CUMEM_ENABLE=2x" in shown
        assert "NCCL_CUMEM_ENABLE  0 → 2x" in shown
        await pilot.press("escape")
        await look(app, pilot)
        assert "not saved: esc again leaves" in text(app)
        await pilot.press("ctrl+s")
        await auntil(lambda: isinstance(app.screen, Dialog))
        await look(app, pilot)
        await pilot.press(*"tuned", "enter")
        await auntil(lambda: stage.control.done)
        verb, server, given = stage.control.done[-1]
        assert (verb, server, given["name"]) == ("profile", "kimi-base", "tuned")
        assert str(given["env"]).splitlines()[0] == "NCCL_PROTO=LL"
        assert "NCCL_CUMEM_ENABLE=2x" in str(given["env"])


async def test_leaving_the_editor_saves_nothing() -> None:
    stage = night()
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "3")
        await edits(app, pilot)
        await pilot.press("escape")
        await auntil(lambda: not isinstance(app.screen, Variables))
        await look(app, pilot)
        assert "Who says what" in text(app)
        await edits(app, pilot)
        await pilot.press("q", "escape", "escape")
        await auntil(lambda: not isinstance(app.screen, Variables))
        await look(app, pilot)
        assert "Who says what" in text(app)
        assert stage.control.done == []


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_the_form_searches_sets_and_leaves_out(size: tuple[int, int]) -> None:
    stage = night()
    async with staged(stage, size) as (app, pilot):
        await press(app, pilot, "3")
        await edits(app, pilot)
        shown = text(app)
        assert "▸ NCCL_PROTO" in shown
        assert "6 set" in shown
        await pilot.press(*"buffsi")
        await look(app, pilot)
        rows = [line for line in text(app).splitlines() if "▸" in line]
        assert "▸ NCCL_BUFFSIZ" in rows[0]
        assert "16777216" in rows[0] or size[0] < 80
        await pilot.press("enter", *["backspace"] * 8, *"16M")
        await look(app, pilot)
        assert "M is dropped; NCCL uses 16" in " ".join(text(app).split()) or size[0] < 120
        await pilot.press("escape")
        await look(app, pilot)
        assert "16M" not in text(app)
        before = text(app)
        await pilot.press("ctrl+n")
        await look(app, pilot)
        assert text(app) != before or size[0] >= 120
        await pilot.press("ctrl+p")
        await pilot.press("enter", *["backspace"] * 8, *"4194304", "enter")
        await pilot.press(*["backspace"] * 6, *"nthreads", "ctrl+o")
        await look(app, pilot)
        assert "5 set" in text(app)
        await pilot.press("ctrl+r")
        await look(app, pilot)
        shown = text(app)
        assert "NCCL_BUFFSIZE=4194304" in shown
        assert "NCCL_NTHREADS=" not in shown
        await pilot.press("ctrl+s")
        await auntil(lambda: isinstance(app.screen, Dialog))


async def test_the_form_completes_values_and_takes_unknown_names() -> None:
    stage = night()
    async with staged(stage, (120, 40)) as (app, pilot):
        await press(app, pilot, "3")
        await edits(app, pilot)
        await pilot.press(*"p2p_level", "enter", *["backspace"] * 3, "P", "H", "tab", "enter")
        await look(app, pilot)
        assert "NCCL_P2P_LEVEL" in text(app)
        assert "PHB" in text(app)
        await pilot.press(*["backspace"] * 9, *"my_own")
        await look(app, pilot)
        assert "NCCL_MY_OWN" in text(app)
        assert "unknown to NCCL" in text(app)
        await pilot.press("enter", "1", "enter")
        await look(app, pilot)
        assert "no variable NCCL is known to read" in " ".join(text(app).split())


async def test_it_compares_with_every_profile() -> None:
    stage = night()
    stage.control.outcome = Outcome(Exit.OK, c("2"), {"plain": "NCCL_PROTO=Simple\n"})
    async with staged(stage, (120, 40)) as (app, pilot):
        await press(app, pilot, "3")
        await edits(app, pilot)
        assert "Against what is in effect" in text(app)
        await pilot.press("ctrl+t")
        await look(app, pilot)
        shown = text(app)
        assert "Against profile plain" in shown
        assert "NCCL_PROTO  Simple → LL" in shown
        await pilot.press("ctrl+t")
        await look(app, pilot)
        assert "Against what is in effect" in text(app)


async def test_a_first_level_shows_what_the_box_says_before_it_is_saved() -> None:
    stage = night()
    stage.control.outcome = Outcome(Exit.OK, c("x"), {}, [c("ACS: active on 3 of 14 bridges")])
    async with staged(stage, (120, 40)) as (app, pilot):
        await press(app, pilot, "3")
        await edits(app, pilot)
        await pilot.press(*"p2p_level", "enter", *["backspace"] * 3, *"PHB", "enter", "ctrl+s")
        await auntil(lambda: isinstance(app.screen, Dialog))
        await look(app, pilot)
        shown = text(app)
        assert "NCCL_P2P_LEVEL=PHB is new on this box" in shown
        assert "ACS: active on 3 of 14 bridges" in shown
        assert stage.control.done[-1][:2] == ("environment.fabric", "kimi-base")
        await pilot.press("right", "enter")
        await auntil(lambda: "Name of the profile" in text(app))


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_a_server_of_which_nothing_was_read_has_one_frame(size: tuple[int, int]) -> None:
    async with staged(story(), size) as (app, pilot):
        await press(app, pilot, "3")
        shown = text(app)
        assert "Nothing read yet: e reads it now." in shown
        assert "Findings" not in shown
        assert shown.count("╭") == 1
