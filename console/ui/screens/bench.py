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
from console.ui.panes.pane import Pane
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
        self._upper: Pane = self.verdict
        self._lower: Pane = self.runs
        self.above = Horizontal(self.chart, self.verdict, id="above")
        self.below = Horizontal(self.runs, self.beside, id="below")
        self.moves = {
            "logs.page_up": partial(self._scroll, pages=-1),
            "logs.page_down": partial(self._scroll, pages=1),
            "logs.line_up": partial(self._scroll, lines=-1),
            "logs.line_down": partial(self._scroll, lines=1),
            **self.between_panes(),
            "view.next": partial(self._step, 1),
            "view.previous": partial(self._step, -1),
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
        rooms = (self.runs.room, self.beside.room)
        seen = (state.benches, state.assumptions, history_known(state), *rooms, second)
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

    def _step(self, places: int) -> None:
        """Focus the next pane, which then stands where there is room for one of a row only."""
        order: tuple[Pane, ...] = (self.chart, self.verdict, self.runs, self.beside)
        at = order.index(self.focused) if self.focused in order else -1
        pane = order[(at + places) % len(order)]
        if pane in (self.chart, self.verdict):
            self._upper = pane
        else:
            self._lower = pane
        if self.maximised is not None:
            self.maximised = pane
        self.again()
        pane.focus()

    def _arrange(self) -> None:
        """All four where there is room; on a narrow screen one above and one below, those that
        were focused last, or whatever was maximised."""
        top, wide = self.maximised, self.size.width >= WIDE
        upper, lower = (self.chart, self.verdict), (self.runs, self.beside)
        for pane in (*upper, *lower):
            stand(pane, pane is top if top is not None else wide or pane in self._narrow)
        stand(self.above, top is None or top in upper)
        stand(self.below, top is None or top in lower)
        roomy = self.size.height >= 36 if wide else self._upper is self.chart
        half, third = self.size.height // 2, self.size.height // 3
        tall(self.above, None if top in upper else min(max(15, third), half) if roomy else 7)

    @property
    def _narrow(self) -> tuple[Pane, Pane]:
        return self._upper, self._lower
