"""The screens a person switches among, in one table; a mode whose screen is not there is not shown.

A screen is made when it is first wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from console.model.text import plain
from console.model.verbs import VERBS
from console.store.layout import Kept, load_layout, save_layout
from console.store.toml import BadFile
from console.ui.kept import of_dashboard, of_log, to_dashboard, to_log
from console.ui.screens.dashboard import Dashboard
from console.ui.screens.logs import Logs

if TYPE_CHECKING:
    from textual.app import App

    from console.control.port import Control
    from console.model.clock import Clock
    from console.ui.screens.mode_screen import ModeScreen
    from console.ui.sight import Sight
    from console.ui.theme import Ink


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode: the verb that leads there, its word in the footer, where its screen is."""

    verb: str
    word: str
    module: str
    screen: str

    def make(self, control: Control, clock: Clock, ink: Ink) -> ModeScreen:
        """Its screen, new."""
        made = getattr(import_module(self.module), self.screen)
        return cast("ModeScreen", made(control, clock, ink))


DASH, LOGS = "mode.dash", "mode.logs"
_EVERYWHERE = ("servers.up", "servers.down")
"""Moves of the dashboard that every mode has: the selection is one for all."""

_SCREENS = "console.ui.screens"
MODES = (
    Mode(DASH, "dash", f"{_SCREENS}.dashboard", "Dashboard"),
    Mode(LOGS, "logs", f"{_SCREENS}.logs", "Logs"),
    Mode("mode.environment", "env", f"{_SCREENS}.environment", "Environment"),
    Mode("mode.bench", "bench", f"{_SCREENS}.bench", "Bench"),
    Mode("mode.session", "session", f"{_SCREENS}.session", "Session"),
)


class Modes:
    """Which screen is shown, which are made, and what a verb moves on it."""

    def __init__(self, app: App[None], control: Control, clock: Clock, ink: Ink) -> None:
        self.present = {mode.verb: mode for mode in MODES if find_spec(mode.module) is not None}
        self.dashboard = Dashboard(control, clock, ink)
        self.current = DASH
        self._made: dict[str, ModeScreen] = {}
        self._app = app
        self._control = control
        self._clock = clock
        self._ink = ink
        self._fleet = ""
        self._kept: Kept = {}
        self._add(DASH, self.dashboard)

    @property
    def screen(self) -> ModeScreen:
        """The one that is shown."""
        return self._made[self.current]

    async def go(self, verb: str) -> None:
        """To the screen of a mode, made when it is first wanted."""
        if verb not in self._made:
            self._add(verb, self.present[verb].make(self._control, self._clock, self._ink))
        self.current = verb
        await self._app.switch_mode(verb)

    def show(self, sight: Sight) -> None:
        """Show what was seen; the dashboard says which server is selected."""
        if self.current == DASH:
            self.dashboard.show(sight)
        else:
            self.screen.show(replace(sight, server=self.dashboard.servers.selected))

    def say(self, text: str, good: bool) -> None:
        """Tell a person how what was asked for has ended."""
        self.screen.say(text, good)

    def wear(self, ink: Ink) -> None:
        """Change the theme of every screen there is."""
        self._ink = ink
        for screen in self._made.values():
            screen.wear(ink)

    def move(self, verb: str) -> Callable[[], object] | None:
        """What a verb that only moves the screen does in this mode."""
        own = self.screen.moves.get(verb)
        return self.dashboard.moves.get(verb) if own is None and verb in _EVERYWHERE else own

    def refusal(self, verb: str) -> str | None:
        """Why a verb does nothing on this screen; None when it does, or moves no screen."""
        if verb.startswith("mode."):
            return None if verb in self.present else "there is no such screen"
        moves = any(verb in screen.moves for screen in self._made.values())
        return "not on this screen" if moves and self.move(verb) is None else None

    def is_shown(self, verb: str) -> bool:
        """Whether a person is told of a verb at all: not of a screen that there is not."""
        return VERBS[verb].on_screen and (not verb.startswith("mode.") or verb in self.present)

    def recall(self) -> str:
        """Leave the screens as they were left last time; what hindered it, in one line.

        Not in a replay: what a night is about is in the session.
        """
        opened = self._control.timeline.state.session.opened
        if opened is None or self._control.playback is not None:
            return ""
        try:
            self._kept = load_layout(plain(opened.fleet))
        except (BadFile, OSError) as error:
            return f"the layout is not remembered: {error}"
        self._fleet = plain(opened.fleet)
        to_dashboard(self.dashboard, self._kept)
        return ""

    @property
    def wanted(self) -> str:
        """The mode that was left last time."""
        verb = str(self._kept.get("mode", DASH))
        return verb if verb in self.present else DASH

    def remember(self) -> str:
        """Keep how the screens are left; what hindered it, in one line."""
        if not self._fleet:
            return ""
        logs = self._made.get(LOGS) if self.current == LOGS else None
        own = of_log(logs.one) if isinstance(logs, Logs) else {}
        kept = {**of_dashboard(self.dashboard), **own, "mode": self.current}
        try:
            save_layout(self._fleet, kept)
        except (BadFile, OSError) as error:
            return f"the layout is not remembered: {error}"
        return ""

    def _add(self, verb: str, screen: ModeScreen) -> None:
        self._made[verb] = screen
        if isinstance(screen, Logs):
            to_log(screen.one, self._kept)
        self._app.add_mode(verb, lambda: screen)
