"""What every act on a log pane needs: telling and asking a person, and the wanted lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from console.model.ask import Question
from console.model.span import fit_end, width
from console.ui.panes.log import Log
from console.ui.window import Source

if TYPE_CHECKING:
    from console.ui.screens.mode_screen import ModeScreen

_SAID = 3
"""Cells before what a person is told."""


class Asks:
    """What acts on a pane share.

    Args:
        pane: the pane acted on.
    """

    def __init__(self, pane: Log) -> None:
        self.pane = pane

    def say(self, text: str, good: bool = True) -> None:
        """Tell a person."""
        cast("ModeScreen", self.pane.screen).say(text, good)

    def say_where(self, text: str, path: str) -> None:
        """Tell a person a path in a text; cut in front where the screen is too narrow for it."""
        room = self.pane.app.size.width - _SAID - width(text) + width(path)
        self.say(text.replace(path, fit_end(path, room)))

    def ask(self, question: Question, done: Callable[[str | None], None]) -> None:
        """Ask a person."""
        from console.ui.screens.dialog import Dialog

        self.pane.app.push_screen(Dialog(question), done)

    def source(self) -> Source | None:
        """The lines that are wanted of the log in view."""
        pane, sight = self.pane, self.pane.sight
        if sight is None:
            return None
        logs, log, end = pane.where(sight)
        return pane.find.source(logs, log, end, end)
