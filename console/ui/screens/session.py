"""The session itself: what is recorded, and what was marked, done, noticed and lost.

Owns where its two panes stand; what they say is render's.
"""

from __future__ import annotations

from functools import partial

from console.control.port import Control
from console.model.clock import Clock
from console.model.palette import Role
from console.model.span import Span
from console.render.session import chronicle, facts
from console.ui.panes.text import Text
from console.ui.screens.mode_screen import ModeScreen, stand, tall
from console.ui.sight import Sight
from console.ui.theme import Ink


class Session(ModeScreen, inherit_bindings=False):
    """Facts above, the chronicle below."""

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__(control, clock, ink)
        self.facts = Text(ink, "facts", "Session", focusable=False)
        self.chronicle = Text(ink, "chronicle", "Marked, done, noticed, lost", newest=True)
        scroll = self.chronicle.scroll
        self.moves = {
            "logs.page_up": partial(scroll, pages=-1),
            "logs.page_down": partial(scroll, pages=1),
            "logs.line_up": partial(scroll, lines=-1),
            "logs.line_down": partial(scroll, lines=1),
            "logs.follow": self.chronicle.follow,
            "view.maximise": self.maximise,
        }

    def panes(self) -> tuple[Text, Text]:
        """Facts, then the chronicle."""
        return self.facts, self.chronicle

    def fill(self, sight: Sight) -> None:
        """Hand what was seen to both panes."""
        mode, state = sight.mode, sight.state
        found = facts(state, sight.now_us, mode, self.facts.room)
        tall(self.facts, min(len(found), max(2, self.size.height // 2 - 4)) + 2)
        self.facts.put(found)
        stand(self.facts, self.maximised is None)
        entries = chronicle(state, mode.zone)
        counted = (Span(f"{len(entries):,}", Role.DIM),) if entries else ()
        nothing = ((Span("Nothing yet. A marker (m) names a moment.", Role.DIM),),)
        self.chronicle.put(entries or nothing, counted)
