"""Baseline and speculative beside each other: the runs of this session, or that there are none.

Drawn anew only when a benchmark, an assumption or the pane's size changed.
"""

from __future__ import annotations

from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.bench_charts import runs_chart
from console.render.charts import LEAST_HEIGHT, LEAST_WIDTH, loaded
from console.render.results import bench_lines
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from console.ui.theme import Ink

DRAWN_LINES = 11
_KEY: Spans = (Span("b", Role.KEY), Span(" bench", Role.DIM))


class Chart(Pane):
    """The runs."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(ink, "chart")
        self.title = (Span("Baseline and speculative", Role.TITLE),)
        self.state = _KEY
        self._drawn: tuple[object, ...] = ()
        self._lines: tuple[Spans, ...] = ()
        self._runs = False

    @property
    def wanted(self) -> int:
        """How many lines it has to show."""
        return DRAWN_LINES if self._runs else max(1, len(self._lines))

    def show(self, sight: Sight) -> None:
        state = sight.state
        key = (state.benches, state.assumptions, self.room, self.depth, loaded())
        if len(key) == len(self._drawn) and all(
            new is old or (isinstance(new, int) and new == old)
            for new, old in zip(key, self._drawn, strict=True)
        ):
            return
        self._drawn = key
        self._runs = any(bench.runs for bench in state.benches.values())
        self._lines = bench_lines(state)
        fits = self.room >= LEAST_WIDTH and self.depth >= LEAST_HEIGHT + 3
        if self._runs and fits and loaded():
            self._lines = runs_chart(state, self.room, self.depth)
        elif self._runs and fits:
            self.run_worker(_load, thread=True, group="charts", exclusive=True)
        self.refresh_rows()

    def row(self, y: int) -> Strip:
        return self.ink.strip(self._lines[y] if y < len(self._lines) else (), self.room)


def _load() -> None:
    """What draws takes 0.1 s to load: not while a person waits for a key."""
    from console.render.charts import load

    load()
