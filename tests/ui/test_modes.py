"""The screens a person switches among, and the one of the session."""

from __future__ import annotations

import pytest

from console.model.verbs import VERBS
from console.stream.fact import GapKind, Recording
from console.stream.server_events import LogGap
from console.stream.session_events import (
    EventsDropped,
    MarkerPut,
    NoteWritten,
    Noticed,
    RecordingChanged,
    StepFinished,
    TimeJumped,
)
from console.ui import modes
from console.ui.modes import MODES, Mode
from tests.ui.stage import Player, Stage, look, press, staged, story, text


def eventful(stage: Stage | None = None) -> Stage:
    stage = story(stage)
    from tests.ui.stage import c

    stage.emit(
        MarkerPut(c("before the restart")),
        NoteWritten(c("the 90 came from another night")),
        StepFinished(c("ready"), c("wait"), c("kimi-base"), 0, c("health: /health 200")),
        StepFinished(c("last"), c("assert"), c(""), 1, c("decode_tok_s > 80 does not hold")),
        Noticed(c("kimi-base"), c("warning"), c("6 NCCL variables lost"), c("e")),
        TimeJumped(42_000_000, c("suspended, or the clock was set forward")),
        LogGap(c("kimi-base"), 103, 5, GapKind.LINK, c("link lost 42 s · 5 lines lost"), 5),
        EventsDropped(3, c("the disk was slow")),
        RecordingChanged(Recording.ON, c("sessions/night.toml")),
    )
    return stage


@pytest.fixture
def _two_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the dashboard and the session, whatever other screens there are by now."""
    kept = tuple(mode for mode in MODES if mode.verb in ("mode.dash", "mode.session"))
    gone = Mode("mode.logs", "logs", "console.ui.screens.there_is_none", "None")
    monkeypatch.setattr(modes, "MODES", (kept[0], gone, kept[1]))


def test_every_mode_has_a_verb_in_the_order_of_its_key() -> None:
    assert [VERBS[mode.verb].key for mode in MODES] == list("12345")


@pytest.mark.usefixtures("_two_modes")
async def test_a_mode_without_a_screen_is_not_shown() -> None:
    async with staged(story()) as (app, pilot):
        assert text(app).splitlines()[-1].startswith(" 1 dash 5 session  ")
        await press(app, pilot, "2")
        assert app.modes.current == "mode.dash"
        assert "! Logs: there is no such screen" in text(app)
        await pilot.press("question_mark")
        await pilot.pause()
        assert "The log on the whole screen." not in text(app)


async def test_keys_lead_there_and_back_and_the_selection_is_one_for_all() -> None:
    async with staged(eventful()) as (app, pilot):
        await press(app, pilot, "5")
        assert app.modes.current == "mode.session"
        assert "╭─ Session" in text(app)
        await press(app, pilot, "down", "1")
        assert "╭─ Servers" in text(app) or "▸ Servers" in text(app)
        assert app.dashboard.servers.selected == "kimi-eagle3"
        await press(app, pilot, "5", "h")
        assert " ✓ done" in text(app)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_the_session_tells_what_happened(size: tuple[int, int]) -> None:
    async with staged(eventful(), size) as (app, pilot):
        await press(app, pilot, "5")
        for _ in range(3):
            await press(app, pilot, "pageup")
        shown = text(app)
        for words in (
            "fleet      kimi.toml",
            "origin     live, written by spec-console 0.1.0",
            "began      2026-02-24 17:00:00 UTC",
            "sessions/night.toml",
            "17:01:40  ◆ marker  before the restart",
        ):
            assert words in shown
        lines = shown.splitlines()
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]
        if size[1] >= 40:
            for words in (
                "17:01:40    note    the 90 came from another night",
                "✓ step    wait kimi-base  health: /health 200",
                "✗ step    assert  decode_tok_s > 80 does not hold",
                "! warning kimi-base  6 NCCL variables lost (e)",
                "┊ time    42 s: suspended, or the clock was set forward",
                "┊ log     link lost 42 s · 5 lines lost",
                "lost       3 events not recorded: the disk was slow",
            ):
                assert words in shown


async def test_the_chronicle_stays_at_its_end_until_somebody_scrolls() -> None:
    from tests.ui.stage import c

    stage = story()
    for number in range(40):
        stage.emit(MarkerPut(c(f"mark {number}")))
    async with staged(stage, (80, 24)) as (app, pilot):
        await press(app, pilot, "5")
        assert "mark 39" in text(app)
        await press(app, pilot, "pageup")
        stage.emit(MarkerPut(c("mark 40")))
        await look(app, pilot)
        assert "mark 40" not in text(app)
        assert " below" in text(app)
        await press(app, pilot, "f")
        assert "mark 40" in text(app)
        await press(app, pilot, "z")
        assert "╭─ Session" not in text(app)


async def test_an_empty_session_says_what_to_do() -> None:
    async with staged(Stage()) as (app, pilot):
        await press(app, pilot, "5")
        assert "Nothing yet. A marker (m) names a moment." in text(app)
        assert "nothing is recorded" in text(app)


async def test_a_replay_shows_its_bar_everywhere() -> None:
    async with staged(eventful(Stage(Player()))) as (app, pilot):
        await press(app, pilot, "5")
        assert "REPLAY ▶" in text(app) or "REPLAY" in text(app).splitlines()[-2]


async def test_a_verb_of_another_screen_says_so() -> None:
    async with staged(story()) as (app, pilot):
        await press(app, pilot, "5", "p")
        assert "! Pause the log: not on this screen" in text(app)
        assert "p pause" not in text(app)


async def test_a_theme_is_worn_by_every_screen() -> None:
    async with staged(eventful()) as (app, pilot):
        await press(app, pilot, "5")
        await pilot.press("T")
        await pilot.pause()
        await pilot.press("escape")
        app.theme = "light"
        await look(app, pilot)
        session = app.modes.screen
        assert session.chronicle.ink.theme.name == "light"  # type: ignore[attr-defined]
        await press(app, pilot, "1")
        assert app.dashboard.servers.ink.theme.name == "light"
