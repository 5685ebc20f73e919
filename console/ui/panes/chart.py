"""Baseline and speculative beside each other: the runs of this session, or that there are none."""

from __future__ import annotations

from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.results import bench_lines
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink


class Chart(Pane):
    """The runs."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "chart")
        self.title = (Span("Baseline and speculative", Role.TITLE),)
        self._benches: object = None
        self._lines: tuple[Spans, ...] = ()

    @property
    def wanted(self) -> int:
        """How many lines it has to show."""
        return max(1, len(self._lines))

    def show(self, sight: Sight) -> None:
        if sight.state.benches is self._benches:
            return
        self._benches = sight.state.benches
        self._lines = bench_lines(sight.state)
        self.refresh_rows()

    def row(self, y: int) -> Strip:
        return self.ink.strip(self._lines[y] if y < len(self._lines) else (), self.room)
