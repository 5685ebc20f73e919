"""The form before a launch: what is filled in is handed on, what cannot be meant is not."""

from __future__ import annotations

from textual.widgets import TextArea

from console.model.mask import MASKED
from console.stream.environment import WANTED
from console.stream.fact import Completeness
from console.stream.server_events import EnvRead
from tests.ui.stage import Control, Stage, c, look, press, staged, story, text


class Unlocked(Control):
    """Every verb is allowed."""

    def can(self, verb: str, server: str = "") -> str | None:
        del verb, server
        return None


def stage(*values: tuple[str, str]) -> Stage:
    made = story()
    made.control = Unlocked(made.timeline)
    if values:
        pairs = tuple((c(name), c(value)) for name, value in values)
        made.emit(EnvRead(c("kimi-base"), WANTED, Completeness.WHOLE, pairs, None, c("llring")))
    return made


async def test_the_wanted_profile_is_filled_in_and_handed_on_with_what_was_ticked() -> None:
    made = stage(("NCCL_PROTO", "LL"), ("A", "one two"), ("HF_TOKEN", MASKED))
    async with staged(made, (80, 24)) as (app, pilot):
        await press(app, pilot, "r")
        shown = text(app)
        assert "restart kimi-base" in shown
        assert "These are the profile llring" in shown
        assert "NCCL_PROTO=LL A='one two'" in shown
        assert "HF_TOKEN" not in shown
        await pilot.press("tab", "space", "tab", "tab", "space", "tab", "space", "tab", "tab")
        await press(app, pilot, "enter")
        given = {
            "env": "NCCL_PROTO=LL 'A=one two'", "see": "ranks", "on_fail": "rollback",
            "method": "tmux",
        }  # fmt: skip
        assert made.control.done == [("restart", "kimi-base", given)]


async def test_the_other_arm_begins_with_what_its_slot_is_wanted_to_have() -> None:
    made = stage(("NCCL_PROTO", "LL"))
    async with staged(made) as (app, pilot):
        await press(app, pilot, "a")
        shown = text(app)
        assert "swap kimi-eagle3" in shown
        assert "These are the profile llring, wanted for kimi-base" in shown
        await press(app, pilot, "ctrl+s")
        assert made.control.done == [("swap", "kimi-eagle3", {"env": "NCCL_PROTO=LL"})]


async def test_nothing_filled_in_is_the_recipe_as_it_is() -> None:
    made = stage()
    async with staged(made) as (app, pilot):
        await press(app, pilot, "r")
        await press(app, pilot, "ctrl+s")
        assert made.control.done == [("restart", "kimi-base", {})]


async def test_what_is_no_variable_is_told_and_stays_in_the_form() -> None:
    made = stage()
    async with staged(made) as (app, pilot):
        await press(app, pilot, "r")
        await pilot.press(*"NCCL PROTO=LL")
        await press(app, pilot, "ctrl+s")
        assert 'NAME=VALUE or -NAME was expected, not "NCCL"' in text(app)
        app.screen.query_one("#env", TextArea).text = "-NCCL_PROTO\nNCCL_ALGO=Ring"
        await press(app, pilot, "ctrl+s")
        given = {"env": "-NCCL_PROTO NCCL_ALGO=Ring"}
        assert made.control.done == [("restart", "kimi-base", given)]


async def test_leaving_does_nothing() -> None:
    made = stage()
    async with staged(made) as (app, pilot):
        for key in ("escape", "enter"):
            await press(app, pilot, "r")
            await pilot.press(*(["tab"] * 5 if key == "enter" else []))
            await press(app, pilot, key)
            assert not app.screen.is_modal
        assert made.control.done == []


async def test_a_locked_console_names_the_key_that_unlocks() -> None:
    made = story()
    async with staged(made) as (app, pilot):
        await pilot.press("r")
        await look(app, pilot)
        assert "Restart: read-only (U)" in text(app)
        await press(app, pilot, "U")
        assert made.control.done == [("unlock", "kimi-base", {})]
