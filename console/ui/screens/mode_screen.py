"""What the screen of every mode is: a header, panes, and below them notice, replay bar and keys.

Owns the way of a look at the stream through them, which pane has all the room, and that all are
filled again once each has its new size. Which panes stand where is the mode's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from console.control.port import Control
from console.model.clock import Clock
from console.model.span import Spans
from console.ui.panes.header import Header
from console.ui.panes.keys import Keys
from console.ui.panes.notice import Notice
from console.ui.panes.pane import Line, Pane, Resized
from console.ui.panes.replay import Replay
from console.ui.sight import Sight
from console.ui.theme import Ink

Moves = Mapping[str, Callable[[], object]]


class ModeScreen(Screen[None], inherit_bindings=False):
    """The screen of a mode. Subclasses give `panes` and fill them.

    Attributes:
        moves: what it does itself, by verb; verbs that only move some other screen are refused.
        maximised: the pane that has all the room, if one has.
    """

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__()
        self.sight: Sight | None = None
        self.maximised: Pane | None = None
        self.header = Header(ink, "header")
        self.notice = Notice(ink)
        self.keys = Keys(ink, "keys")
        self.moves: Moves = {}
        self._control = control
        self._clock = clock
        self._replay = Replay(ink, "replay")
        self._filling = False

    def panes(self) -> Iterable[Widget]:
        """What stands between header and foot."""
        raise NotImplementedError

    def fill(self, sight: Sight) -> None:
        """Put the panes where they belong at this size and hand them what was seen."""
        raise NotImplementedError

    def standing(self) -> Spans:
        """What is said above the keys for as long as it is so."""
        return ()

    def compose(self) -> ComposeResult:
        yield self.header
        yield from self.panes()
        yield self.notice
        yield self._replay
        yield self.keys

    def show(self, sight: Sight) -> None:
        """Hand what was seen to every pane; `sight.server` is the selected server."""
        self.sight = sight
        self.fill(sight)
        self.header.show(sight)
        playback = self._control.playback
        self._replay.display = playback is not None
        if playback is not None:
            self._replay.show(sight.now_us, playback)
        self.notice.show(sight, self.standing(), self._clock.now_us())
        self.keys.show()

    def again(self) -> None:
        """Show what was seen last, as the screen is now."""
        self._filling = False
        if self.sight is not None:
            self.show(self.sight)

    def wear(self, ink: Ink) -> None:
        """Change the theme of every pane."""
        for widget in (*self.query(Pane), *self.query(Line)):
            widget.wear(ink)

    def say(self, text: str, good: bool) -> None:
        """Tell a person how what was asked for has ended."""
        self.notice.say(text, good, self._clock.now_us())

    def maximise(self) -> None:
        """Give the focused pane the whole screen, or put it back."""
        focused = self.focused
        self.maximised = focused if self.maximised is None and isinstance(focused, Pane) else None
        self.again()

    def on_resized(self, resized: Resized) -> None:
        """Some pane has another size: once all have theirs, fill them again."""
        resized.stop()
        if not self._filling:
            self._filling = True
            self.call_later(self.again)

    def between_panes(self) -> Moves:
        """The moves of every screen with more than one pane."""
        return {
            "view.next": partial(self.focus_next, Pane),
            "view.previous": partial(self.focus_previous, Pane),
            "view.maximise": self.maximise,
        }


def stand(widget: Widget, stands: bool) -> None:
    """Show it or hide it; nothing is laid out anew when it is so already."""
    if widget.display != stands:
        widget.display = stands


def tall(widget: Widget, height: int | None) -> None:
    """Make it so many lines high, or let it take what is left."""
    wanted = "1fr" if height is None else str(height)
    if str(widget.styles.height) != wanted:
        widget.styles.height = wanted
