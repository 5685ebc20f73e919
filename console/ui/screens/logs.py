"""The logs alone on the screen: the selected server's, all of them merged, or some side by side.

Owns which of the three is shown; what a log pane does is the pane's.
"""

from __future__ import annotations

from dataclasses import replace

from textual.containers import Horizontal

from console.control.port import Control
from console.model.clock import Clock
from console.ui.panes.log import Log
from console.ui.panes.log_keys import log_moves
from console.ui.panes.log_merged import MergedLog
from console.ui.screens.mode_screen import ModeScreen, stand
from console.ui.sight import Sight
from console.ui.theme import Ink

MOST_BESIDE = 4
_LEAST_WIDE = 40
_LAYOUTS = ("one log", "all logs merged by arrival", "logs side by side")


class Logs(ModeScreen, inherit_bindings=False):
    """The logs."""

    DEFAULT_CSS = """
    Logs #panes { height: 1fr; }
    Logs #panes > Log { width: 1fr; }
    """

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__(control, clock, ink)
        self.layout_shown = 0
        self.one = Log(ink, clock, "log")
        self.merged = MergedLog(ink, clock)
        self.beside = [Log(ink, clock, f"beside-{place}") for place in range(MOST_BESIDE)]
        moves = {**log_moves(lambda: self.active), **self.between_panes()}
        del moves["view.maximise"]  # a log alone is one of the layouts
        self.moves = {**moves, "logs.layout": self.lay_out}

    def panes(self) -> tuple[Horizontal]:
        """All layouts in one row; those that are not shown take no room."""
        return (Horizontal(self.one, self.merged, *self.beside, id="panes"),)

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
        self.again()
        self.active.focus()

    def fill(self, sight: Sight) -> None:
        """Hand what was seen to every pane in sight."""
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

    def show(self, sight: Sight) -> None:
        """As everywhere; but a line that came and went would move what is read."""
        super().show(sight)
        self.notice.display = True

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
            stand(pane, stands)
