"""The line above the footer: what a person just asked for came to, else what is wrong now."""

from __future__ import annotations

from console.model.span import Spans
from console.render.notices import problem, said_spans
from console.ui.panes.pane import Line
from console.ui.sight import Sight
from console.ui.theme import Ink

SAID_US = 8_000_000
"""How long an answer stands before the line goes back to what is wrong."""


class Notice(Line):
    """One line; it takes no room when there is nothing to say."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "notice")
        self.display = False
        self._said: Spans = ()
        self._until_us = 0

    def say(self, text: str, good: bool, clock_us: int) -> None:
        """Show an answer for a while; `clock_us` is the time of the person, not of the session."""
        self._said = said_spans(text, good)
        self._until_us = clock_us + SAID_US
        self._settle(self._said)

    def show(self, sight: Sight, standing: Spans, clock_us: int) -> None:
        """Show the answer while it is fresh, else `standing` (too small a screen), else trouble."""
        if clock_us >= self._until_us:
            self._said = ()
        self._settle(self._said or standing or problem(sight.state, sight.now_us))

    def _settle(self, spans: Spans) -> None:
        self.put(spans)
        if self.display != bool(spans):
            self.display = bool(spans)
