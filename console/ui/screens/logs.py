"""The logs alone on the screen: the selected server's, all of them merged, or some side by side.

Owns which of the three is shown; what a log pane does is the pane's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from console.control.port import Control
from console.model.clock import Clock
from console.ui.panes.header import Header
from console.ui.panes.keys import Keys
from console.ui.panes.log import Log
from console.ui.panes.log_keys import log_moves
from console.ui.panes.log_merged import MergedLog
from console.ui.panes.notice import Notice
from console.ui.panes.pane import Line, Pane, Resized
from console.ui.panes.replay import Replay
from console.ui.sight import Sight
from console.ui.theme import Ink

MOST_BESIDE = 4
_LEAST_WIDE = 40
_LAYOUTS = ("one log", "all logs merged by arrival", "logs side by side")


class Logs(Screen[None], inherit_bindings=False):
    """The logs."""

    DEFAULT_CSS = """
    Logs #panes { height: 1fr; }
    Logs #panes > Log { width: 1fr; }
    """

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__()
        self._control = control
        self._clock = clock
        self._sight: Sight | None = None
        self._filling = False
        self.layout_shown = 0
        self.header = Header(ink, "header")
        self.one = Log(ink, clock, "log")
        self.merged = MergedLog(ink, clock)
        self.beside = [Log(ink, clock, f"beside-{place}") for place in range(MOST_BESIDE)]
        self.panes = Horizontal(self.one, self.merged, *self.beside, id="panes")
        self.notice = Notice(ink)
        self.replay = Replay(ink, "replay")
        self.keys = Keys(ink, "keys")
        self.moves: Mapping[str, Callable[[], object]] = {
            **log_moves(lambda: self.active),
            "logs.layout": self.lay_out,
            "view.next": partial(self.focus_next, Pane),
            "view.previous": partial(self.focus_previous, Pane),
        }

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.panes
        yield self.notice
        yield self.replay
        yield self.keys

    def on_mount(self) -> None:
        self._stand(())

    @property
    def active(self) -> Log:
        """The pane that verbs act on: the focused one, else the first that is shown."""
        focused = self.focused
        if isinstance(focused, Log) and focused.display:
            return focused
        return (self.one, self.merged, self.beside[0])[self.layout_shown]

    def lay_out(self) -> None:
        """One log, all merged, or side by side: the next of the three."""
        self.layout_shown = (self.layout_shown + 1) % len(_LAYOUTS)
        self.say(_LAYOUTS[self.layout_shown], good=True)
        self._fill()
        self.active.focus()

    def show(self, sight: Sight) -> None:
        """Hand what was seen to every pane in sight."""
        self._sight = sight
        names = self._beside(sight)
        self._stand(names)
        match self.layout_shown:
            case 0:
                self.one.show(sight)
            case 1:
                self.merged.show(sight)
            case _:
                for pane, name in zip(self.beside, names, strict=False):
                    pane.show(replace(sight, server=name))
        self.header.show(sight)
        playback = self._control.playback
        self.replay.display = playback is not None
        if playback is not None:
            self.replay.show(sight.now_us, playback)
        self.notice.show(sight.state, (), self._clock.now_us())
        # A line that came and went would move what is read.
        self.notice.display = True
        self.keys.show()

    def wear(self, ink: Ink) -> None:
        """Change the theme of every pane."""
        for widget in (*self.query(Pane), *self.query(Line)):
            widget.wear(ink)

    def say(self, text: str, good: bool) -> None:
        """Tell a person how what was asked for has ended."""
        self.notice.say(text, good, self._clock.now_us())

    def on_resized(self, resized: Resized) -> None:
        """Some pane has another size: once all have theirs, fill them again."""
        resized.stop()
        if not self._filling:
            self._filling = True
            self.call_later(self._fill)

    def _beside(self, sight: Sight) -> tuple[str, ...]:
        """The servers whose logs fit beside each other: the selected one and those after it."""
        names = [name for name in sight.state.servers if name in sight.state.logs]
        fit = max(1, min(MOST_BESIDE, self.size.width // _LEAST_WIDE))
        at = names.index(sight.server) if sight.server in names else 0
        start = max(0, min(at, len(names) - fit))
        return tuple(names[start : start + fit])

    def _stand(self, names: tuple[str, ...]) -> None:
        """Show the panes of the layout, one at least of those side by side."""
        shown = [self.layout_shown == 0, self.layout_shown == 1]
        shown += [self.layout_shown == 2 and n < max(1, len(names)) for n in range(MOST_BESIDE)]
        for pane, stands in zip((self.one, self.merged, *self.beside), shown, strict=True):
            if pane.display != stands:
                pane.display = stands

    def _fill(self) -> None:
        self._filling = False
        if self._sight is not None:
            self.show(self._sight)
