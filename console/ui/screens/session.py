"""The session itself: what is recorded, and what was marked, done, noticed and lost.

Owns where its two panes stand; what they say is render's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from textual.app import ComposeResult
from textual.screen import Screen

from console.control.port import Control
from console.model.clock import Clock
from console.model.palette import Role
from console.model.span import Span
from console.render.session import chronicle, facts
from console.ui.panes.header import Header
from console.ui.panes.keys import Keys
from console.ui.panes.notice import Notice
from console.ui.panes.pane import Line, Pane, Resized
from console.ui.panes.replay import Replay
from console.ui.panes.text import Text
from console.ui.sight import Sight
from console.ui.theme import Ink


class Session(Screen[None], inherit_bindings=False):
    """Facts above, the chronicle below."""

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__()
        self._control = control
        self._clock = clock
        self._sight: Sight | None = None
        self._filling = False
        self.maximised = False
        self.header = Header(ink, "header")
        self.facts = Text(ink, "facts", "Session", focusable=False)
        self.chronicle = Text(ink, "chronicle", "Marked, done, noticed, lost", newest=True)
        self.notice = Notice(ink)
        self.replay = Replay(ink, "replay")
        self.keys = Keys(ink, "keys")
        scroll = self.chronicle.scroll
        self.moves: Mapping[str, Callable[[], object]] = {
            "logs.page_up": partial(scroll, pages=-1),
            "logs.page_down": partial(scroll, pages=1),
            "logs.line_up": partial(scroll, lines=-1),
            "logs.line_down": partial(scroll, lines=1),
            "logs.follow": self.chronicle.follow,
            "view.maximise": self.maximise,
        }

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.facts
        yield self.chronicle
        yield self.notice
        yield self.replay
        yield self.keys

    def show(self, sight: Sight) -> None:
        """Hand what was seen to every pane."""
        self._sight = sight
        mode, state = sight.mode, sight.state
        found = facts(state, sight.now_us, mode, self.facts.room)
        height = min(len(found), max(2, self.size.height // 2 - 4)) + 2
        if str(self.facts.styles.height) != str(height):
            self.facts.styles.height = height
        self.facts.put(found)
        self.facts.display = not self.maximised
        entries = chronicle(state, mode.zone)
        counted = (Span(f"{len(entries):,}", Role.DIM),) if entries else ()
        nothing = ((Span("Nothing yet. A marker (m) names a moment.", Role.DIM),),)
        self.chronicle.put(entries or nothing, counted)
        self.header.show(sight)
        playback = self._control.playback
        self.replay.display = playback is not None
        if playback is not None:
            self.replay.show(sight.now_us, playback)
        self.notice.show(state, (), self._clock.now_us())
        self.keys.show()

    def wear(self, ink: Ink) -> None:
        """Change the theme of every pane."""
        for widget in (*self.query(Pane), *self.query(Line)):
            widget.wear(ink)

    def say(self, text: str, good: bool) -> None:
        """Tell a person how what was asked for has ended."""
        self.notice.say(text, good, self._clock.now_us())

    def maximise(self) -> None:
        """Give the chronicle the whole screen, or put it back."""
        self.maximised = not self.maximised
        self._fill()

    def on_resized(self, resized: Resized) -> None:
        """Some pane has another size: once all have theirs, fill them again."""
        resized.stop()
        if not self._filling:
            self._filling = True
            self.call_later(self._fill)

    def _fill(self) -> None:
        self._filling = False
        if self._sight is not None:
            self.show(self._sight)
