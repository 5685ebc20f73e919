"""What the comparison of both arms came to, how far a benchmark is, or that there is neither."""

from __future__ import annotations

from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.results import progress_lines, verdict_lines
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink

_KEY: Spans = (Span("c", Role.KEY), Span(" compare", Role.DIM))


class Verdict(Pane):
    """The newest verdict, below what is being measured."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "verdict")
        self.title = (Span("Verdict", Role.TITLE),)
        self.state = _KEY
        self._shown: tuple[object, int] = (None, -1)
        self._verdict: tuple[Spans, ...] = ()
        self._lines: tuple[Spans, ...] = ()

    @property
    def wanted(self) -> int:
        """How many lines it has to show."""
        return max(1, len(self._lines))

    def show(self, sight: Sight) -> None:
        shown = (sight.state.verdicts, self.room)
        if shown[0] is not self._shown[0] or shown[1] != self._shown[1]:
            self._shown = shown
            self._verdict = verdict_lines(sight.state, self.room)
        going = progress_lines(sight.state, sight.now_us, self.room)
        verdict = self._verdict if sight.state.verdicts or not going else ()
        lines = (*going, *verdict)
        if lines != self._lines:
            self._lines = lines
            self.refresh_rows()

    def row(self, y: int) -> Strip:
        return self.ink.strip(self._lines[y] if y < len(self._lines) else (), self.room)
