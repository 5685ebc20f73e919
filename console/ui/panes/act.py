"""The act under way, or how the last one ended: in place of the results as long as it matters."""

from __future__ import annotations

from textual.strip import Strip

from console.model.span import Spans
from console.render.acts import act_lines, act_title, shown_act
from console.stream.state import Act as Shown
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink

MOST = 7
"""Lines at most."""


class Act(Pane, can_focus=False):
    """One act."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "act")
        self.act: Shown | None = None
        self._lines: tuple[Spans, ...] = ()

    @property
    def wanted(self) -> int:
        """How many lines it has to show."""
        return len(self._lines)

    def look(self, sight: Sight, room: int, most: int) -> None:
        """Take what there is, before it is known how high the pane may be."""
        self.act = shown_act(sight.state, sight.now_us)
        if self.act is None:
            return
        self.entitle(*act_title(self.act))
        lines = act_lines(sight.state, self.act, sight.now_us, room, most)
        if lines != self._lines:
            self._lines = lines
            self.refresh_rows()

    def show(self, sight: Sight) -> None:
        self.look(sight, self.room, max(1, self.depth))

    def row(self, y: int) -> Strip:
        return self.ink.strip(self._lines[y] if y < len(self._lines) else (), self.room)
