"""The first thing a person sees: the dashboard's frames, while the rest is still being loaded.

Imports next to nothing, so that it is painted as early as the toolkit allows.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import Screen
from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span
from console.ui.panes.pane import Line, Pane
from console.ui.theme import Ink


class _Frame(Pane):
    """A frame with its title and a line of text."""

    def __init__(self, ink: Ink, id: str, title: str, text: str = "") -> None:
        super().__init__(ink, id)
        self.title = (Span(title, Role.TITLE),)
        self._text = text

    def row(self, y: int) -> Strip:
        return self.ink.strip((Span(self._text if y == 0 else "", Role.DIM),), self.room)


class Opening(Screen[None], inherit_bindings=False):
    """Frames of the dashboard."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = "Opening #servers { height: 4; }"

    def __init__(self, ink: Ink) -> None:
        super().__init__()
        self._ink = ink

    def compose(self) -> ComposeResult:
        line = Line(self._ink, "header")
        line.put((Span(" spec-console", Role.TITLE),))
        yield line
        yield _Frame(self._ink, "servers", "Servers", "opening …")
        yield _Frame(self._ink, "log", "Log")
        yield Line(self._ink, "keys")
