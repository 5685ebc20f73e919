"""What the comparison of both arms came to, or that there is none."""

from __future__ import annotations

from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.results import verdict_lines
from console.stream.run_events import VerdictReached
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink


class Verdict(Pane):
    """The newest verdict."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "verdict")
        self.title = (Span("Verdict", Role.TITLE),)
        self._verdicts: tuple[VerdictReached, ...] | None = None
        self._wide = 0
        self._lines: tuple[Spans, ...] = ()

    @property
    def wanted(self) -> int:
        """How many lines it has to show."""
        return max(1, len(self._lines))

    def show(self, sight: Sight) -> None:
        if sight.state.verdicts is self._verdicts and self.room == self._wide:
            return
        self._verdicts, self._wide = sight.state.verdicts, self.room
        self._lines = verdict_lines(sight.state, self.room)
        self.refresh_rows()

    def row(self, y: int) -> Strip:
        return self.ink.strip(self._lines[y] if y < len(self._lines) else (), self.room)
