from __future__ import annotations

import pytest
from textual.binding import Binding
from textual.widgets import Input, OptionList, Static

from console.control.port import Outcome
from console.model.exits import Exit
from console.model.text import Clean
from console.model.verb import Need
from console.model.verbs import VERBS
from console.render.keys import key_names
from console.stream.fact import Completeness, Standing
from console.stream.server_events import EnvRead
from console.ui.palette import VerbCommands
from tests.rig.waiting import auntil
from tests.ui.stage import Control, Player, Stage, asked, c, look, press, staged, story, text


def test_every_binding_carries_the_id_of_its_verb() -> None:
    from console.ui.app import ConsoleApp

    bound = {b.id: b for b in ConsoleApp.BINDINGS if isinstance(b, Binding)}
    assert set(bound) == {verb.id for verb in VERBS.values() if verb.key}
    assert all(bound[verb].action == f"verb('{verb}')" for verb in bound)


def test_no_key_stands_for_two_verbs() -> None:
    keys = [key for verb in VERBS.values() for key in verb.key.split(",") if key]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("keys", "verb"),
    [
        ("space", "replay.toggle"),
        (">", "replay.faster"),
        ("<", "replay.slower"),
        ("right", "replay.forward"),
        ("left", "replay.back"),
        (".", "replay.next"),
        (",", "replay.previous"),
        ("home", "replay.start"),
        ("end", "replay.end"),
    ],
)
async def test_replay_keys_do_their_verbs(keys: str, verb: str) -> None:
    stage = story(Stage(Player()))
    async with staged(stage) as (app, pilot):
        await press(app, pilot, keys)
        assert stage.control.done == [(verb, "kimi-base", {})]


async def test_goto_asks_for_a_time() -> None:
    stage = story(Stage(Player()))
    async with staged(stage) as (app, pilot):
        await pilot.press("g")
        await pilot.pause()
        await pilot.press(*"12:41")
        await press(app, pilot, "enter")
        assert stage.control.done == [("replay.goto", "kimi-base", {"at_us": 761_000_000})]


async def test_goto_refuses_what_is_no_time() -> None:
    stage = story(Stage(Player()))
    async with staged(stage) as (app, pilot):
        await pilot.press("g")
        await pilot.pause()
        await pilot.press(*"soon")
        await press(app, pilot, "enter")
        assert stage.control.done == []
        assert "! soon is no time such as 12:41" in text(app)


async def test_a_verb_of_the_selected_server_and_what_it_came_to() -> None:
    stage = story()
    stage.control.outcome = Outcome(Exit.UNREACHABLE, Clean("kimi-eagle3: connection refused"))
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "down", "h")
        assert stage.control.done == [("health", "kimi-eagle3", {})]
        assert " ! kimi-eagle3: connection refused" in text(app)
        stage.manual.advance(60)
        await look(app, pilot)
        assert " ! kimi-eagle3: connection refused" not in text(app)


async def test_a_marker_is_asked_for_its_name() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        await pilot.press("m")
        await pilot.pause()
        await pilot.press(*"before", "enter")
        await press(app, pilot)
        assert stage.control.done == [("marker", "kimi-base", {"name": "before"})]


async def test_a_declined_question_does_nothing() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        await pilot.press("m")
        await pilot.pause()
        await press(app, pilot, "escape")
        assert stage.control.done == []
        assert not app.screen.is_modal


async def test_a_refused_key_says_why() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "space")
        assert " ! Play or pause: only in a replay" in text(app)
        assert stage.control.done == []
        assert app.check_action("verb", ("replay.toggle",)) is None
        assert app.check_action("verb", ("health",)) is True


async def test_the_palette_lists_every_verb_with_its_keys() -> None:
    async with staged(story()) as (app, pilot):
        await pilot.press("ctrl+p")
        options = app.screen.query_one(OptionList).options
        verbs = [verb for verb in VERBS.values() if app.modes.is_shown(verb.id)]
        while len(options) < len(verbs):
            await pilot.pause(0.01)
            options = app.screen.query_one(OptionList).options
        found = [str(option.prompt).split("\n")[0] for option in options]
        for verb in verbs:
            keys = key_names(verb.key)
            assert (f"{verb.title}   {keys}" if keys else verb.title) in found
        assert len(found) == len(verbs)


async def test_the_palette_tells_refused_verbs_and_runs_the_chosen_one() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        hits = [hit async for hit in VerbCommands(app.screen).search("play or pause")]
        assert hits[0].help == "Play or pause the replay. Not now: only in a replay"
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"ask health now")
        await pilot.pause(0.3)
        await pilot.press("enter")
        await press(app, pilot)
        assert [verb for verb, _, _ in stage.control.done] == ["health"]


async def test_help_lists_every_key_and_why_one_is_refused() -> None:
    async with staged(story(), (120, 60)) as (app, pilot):
        await pilot.press("?")
        await pilot.pause()
        told = " ".join(str(app.screen.query_one(Static).render()).split())
        for verb in VERBS.values():
            if verb.key and app.modes.is_shown(verb.id):
                assert key_names(verb.key) in told
                assert verb.help in told
        assert told.count("(only in a replay)") == sum(
            verb.need is Need.REPLAY for verb in VERBS.values()
        )
        await pilot.press("escape")
        await pilot.pause()
        assert not app.screen.is_modal


async def test_the_footer_names_only_keys_that_work() -> None:
    async with staged(story(), (200, 50)) as (app, _):
        assert "m mark" in text(app).splitlines()[-1]
    async with staged(story(Stage(Player())), (200, 50)) as (app, _):
        assert "m mark" not in text(app).splitlines()[-1]


async def test_quit_ends_with_success() -> None:
    async with staged(story()) as (app, pilot):
        await pilot.press("q")
        await pilot.pause()
        assert app.return_code == 0


async def test_a_secret_is_masked_and_answered() -> None:
    from console.model.ask import Question

    async with staged(story()) as (app, pilot):
        question = Question("gpu8", "Password of root", ("first line", "[bold]second[/]"), True)
        answer = app.run_worker(app.dialogs.ask(question))
        await asked(app, pilot)
        assert isinstance(app.focused, Input)
        await pilot.press(*"hunter2")
        assert "hunter2" not in text(app)
        assert "•••••••" in text(app)
        assert "[bold]second[/]" in text(app)
        await pilot.press("enter")
        assert await answer.wait() == "hunter2"


async def test_a_confirmation_has_cancel_focused_and_wants_the_name_typed() -> None:
    from console.model.ask import Question

    async with staged(story()) as (app, pilot):
        question = Question("kimi-base", "Restart it?", must_type="kimi-base")
        answer = app.run_worker(app.dialogs.ask(question))
        await asked(app, pilot)
        assert app.focused is app.screen.query_one("#choice-0")
        await pilot.press("enter")
        assert await answer.wait() is None
        answer = app.run_worker(app.dialogs.ask(question))
        await asked(app, pilot)
        await pilot.press("shift+tab", *"kimi", "enter")
        await pilot.pause()
        assert app.screen.is_modal
        await pilot.press(*"-base", "enter")
        assert await answer.wait() == "kimi-base"


async def test_a_choice_returns_its_word_and_questions_come_one_at_a_time() -> None:
    from console.model.ask import Question

    async with staged(story()) as (app, pilot):
        first = app.run_worker(app.dialogs.ask(Question("a", "one?", choices=("no", "yes"))))
        second = app.run_worker(app.dialogs.ask(Question("b", "two?", choices=("no", "yes"))))
        await asked(app, pilot)
        await pilot.press("right", "enter")
        assert await first.wait() == "yes"
        await asked(app, pilot)
        await pilot.press("enter")
        assert await second.wait() == "no"


async def test_what_is_imported_is_kept_as_a_profile_of_the_selected_server() -> None:
    stage = story()
    values: dict[str, str | int | float] = {"env": "NCCL_PROTO=LL NCCL_ALGO=Ring", "count": 2}
    lines = (c("NCCL_PROTO=LL"), c("NCCL_ALGO=Ring"))
    stage.control.outcome = Outcome(Exit.OK, c("2 variables from plan.md"), values, lines)
    async with staged(stage) as (app, pilot):
        await pilot.press("I")
        await asked(app, pilot)
        await pilot.press(*"plan.md", "enter")
        await auntil(lambda: "Name of the profile" in text(app))
        assert "NCCL_ALGO=Ring" in text(app)
        await pilot.press(*"llring", "enter")
        await auntil(lambda: len(stage.control.done) == 2)
    assert stage.control.done == [
        ("plan", "kimi-base", {"file": "plan.md"}),
        ("profile", "kimi-base", {"name": "llring", "env": values["env"], "origin": "plan.md"}),
    ]


async def test_of_several_documents_a_person_names_one() -> None:
    stage = story()
    lines = (c("gpu8:/data/plan.md  NCCL_PROTO"), c("gpu8:/data/run.sh  NCCL_ALGO"))
    stage.control.outcome = Outcome(Exit.STEP, c("2 files set variables there"), {}, lines)
    async with staged(stage) as (app, pilot):
        await pilot.press("I")
        await asked(app, pilot)
        await pilot.press(*"gpu8:/data", "enter")
        await auntil(lambda: "2 files set variables there" in text(app))
        assert "2  gpu8:/data/run.sh  NCCL_ALGO" in text(app)
        await pilot.press("2", "enter")
        await auntil(lambda: len(stage.control.done) == 2)
        await asked(app, pilot)
        stage.control.outcome = Outcome(Exit.STEP, c("cannot be read"))
        await press(app, pilot, "enter")
        await auntil(lambda: "cannot be read" in text(app))
    assert [given["file"] for _, _, given in stage.control.done] == [
        "gpu8:/data",
        "gpu8:/data/run.sh",
        "gpu8:/data/plan.md",
    ]


async def test_enter_opens_what_has_the_focus_and_a_line_only_while_it_is_pointed_at() -> None:
    async with staged(story()) as (app, pilot):

        def stands() -> str:
            return type(app.screen).__name__

        await press(app, pilot, "shift+down", "enter")
        assert app.screen.is_modal, "the line pointed at"
        await press(app, pilot, "escape")
        await press(app, pilot, "tab", "shift+tab", "enter")
        assert (stands(), app.dashboard.detailed) == ("Dashboard", True), "the server in detail"
        await press(app, pilot, "enter")
        assert (stands(), app.dashboard.detailed) == ("Dashboard", False)
        await press(app, pilot, "tab", "enter")
        assert stands() == "Bench", "behind the chart stands the page of benchmarks"


def _everything(_control: Control, _verb: str, _server: str = "") -> str | None:
    """Unlocked."""
    return None


async def test_swap_has_a_key_and_starts_the_arm_that_is_not_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        monkeypatch.setattr(Control, "can", _everything)
        await pilot.press("a")
        await asked(app, pilot)
        assert "swap kimi-eagle3" in text(app)
        await press(app, pilot, "ctrl+s")
        assert [(verb, server) for verb, server, _ in stage.control.done] == [
            ("swap", "kimi-eagle3")
        ]


async def test_a_step_that_must_be_unlocked_first_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.server("base", standing=Standing.IDLE)
    pair = ((c("NCCL_PROTO"), c("LL")),)
    stage.emit(EnvRead(c("base"), c("wanted"), Completeness.WHOLE, pair))
    stage.emit(EnvRead(c("base"), c("launcher"), Completeness.WHOLE, (), 1234))
    async with staged(stage) as (app, pilot):
        assert "U r  restart it with its profile" in text(app)
        monkeypatch.setattr(Control, "can", _everything)
        stage.manual.advance(1)
        await look(app, pilot)
        assert "U r" not in text(app)
