"""Both arms on a screen of their own: chart and verdict, every run, and what stands beside.

Owns where the panes stand; what they say is render's.
"""

from __future__ import annotations

from functools import partial

from textual.containers import Horizontal

from console.control.port import Control
from console.model.clock import Clock
from console.model.palette import Role
from console.model.span import Span
from console.render.bench_page import beside_page, history_known, runs_page
from console.ui.panes.chart import Chart
from console.ui.panes.text import Text
from console.ui.panes.verdict import Verdict
from console.ui.screens.mode_screen import ModeScreen, stand, tall
from console.ui.sight import Sight
from console.ui.theme import Ink

WIDE = 100
_NOTHING = ((Span("Nothing yet: b measures the selected server.", Role.DIM),),)


class Bench(ModeScreen, inherit_bindings=False):
    """The benchmarks."""

    DEFAULT_CSS = """
    Bench #above { height: 15; }
    Bench #chart { width: 3fr; }
    Bench #verdict { width: 2fr; }
    Bench #below { height: 1fr; }
    Bench #runs { width: 3fr; }
    Bench #beside { width: 2fr; }
    """

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__(control, clock, ink)
        self._seen: tuple[object, ...] = ()
        self.chart = Chart(ink)
        self.verdict = Verdict(ink)
        self.runs = Text(ink, "runs", "Runs")
        self.beside = Text(ink, "beside", "Cycle, history, circumstances")
        self.above = Horizontal(self.chart, self.verdict, id="above")
        self.below = Horizontal(self.runs, self.beside, id="below")
        self.moves = {
            "logs.page_up": partial(self._scroll, pages=-1),
            "logs.page_down": partial(self._scroll, pages=1),
            "logs.line_up": partial(self._scroll, lines=-1),
            "logs.line_down": partial(self._scroll, lines=1),
            **self.between_panes(),
        }

    def panes(self) -> tuple[Horizontal, Horizontal]:
        """Chart and verdict above, runs and what stands beside them below."""
        return self.above, self.below

    def fill(self, sight: Sight) -> None:
        """Hand what was seen to every pane."""
        self._arrange()
        self.chart.show(sight)
        self.verdict.show(sight)
        self._fill_texts(sight)

    def _fill_texts(self, sight: Sight) -> None:
        """The pages, made anew only when something in them changed or is being measured."""
        state = sight.state
        running = any(bench.finished is None for bench in state.benches.values())
        second = sight.now_us // 1_000_000 if running else 0
        seen = (state.benches, state.assumptions, history_known(state), self.size.width, second)
        kept = len(self._seen) == len(seen) and all(
            new is old or (isinstance(new, int) and new == old)
            for new, old in zip(seen, self._seen, strict=True)
        )
        if not kept:
            self._seen = seen
            self.runs.put(runs_page(state, self.runs.room))
            beside = beside_page(state, sight.series, sight.now_us, self.beside.room)
            self.beside.put(beside or _NOTHING)

    def _scroll(self, *, lines: int = 0, pages: int = 0) -> None:
        pane = self.runs if self.focused is self.runs else self.beside
        pane.scroll(lines=lines, pages=pages)

    def _arrange(self) -> None:
        """All four where there is room; on a narrow screen the verdict and the runs, or whatever
        was maximised."""
        top, wide = self.maximised, self.size.width >= WIDE
        upper, lower = (self.chart, self.verdict), (self.runs, self.beside)
        for pane in (*upper, *lower):
            stands = pane is top if top is not None else wide or pane in (self.verdict, self.runs)
            stand(pane, stands)
        stand(self.above, top is None or top in upper)
        stand(self.below, top is None or top in lower)
        high = 15 if wide and self.size.height >= 36 else 7
        tall(self.above, None if top in upper else high)
