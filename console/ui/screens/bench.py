"""Both arms on a screen of their own: chart and verdict, every run, and what stands beside.

Owns where the panes stand; what they say is render's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from console.control.port import Control
from console.model.clock import Clock
from console.model.palette import Role
from console.model.span import Span
from console.render.bench_page import beside_page, history_known, runs_page
from console.ui.panes.chart import Chart
from console.ui.panes.header import Header
from console.ui.panes.keys import Keys
from console.ui.panes.notice import Notice
from console.ui.panes.pane import Line, Pane, Resized
from console.ui.panes.replay import Replay
from console.ui.panes.text import Text
from console.ui.panes.verdict import Verdict
from console.ui.sight import Sight
from console.ui.theme import Ink

WIDE = 100
_NOTHING = ((Span("Nothing yet: b measures the selected server.", Role.DIM),),)


class Bench(Screen[None], inherit_bindings=False):
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
        super().__init__()
        self._control = control
        self._clock = clock
        self._sight: Sight | None = None
        self._seen: tuple[object, ...] = ()
        self._filling = False
        self.maximised: Pane | None = None
        self.header = Header(ink, "header")
        self.chart = Chart(ink)
        self.verdict = Verdict(ink)
        self.runs = Text(ink, "runs", "Runs")
        self.beside = Text(ink, "beside", "Cycle, history, circumstances")
        self.above = Horizontal(self.chart, self.verdict, id="above")
        self.below = Horizontal(self.runs, self.beside, id="below")
        self.notice = Notice(ink)
        self.replay = Replay(ink, "replay")
        self.keys = Keys(ink, "keys")
        self.moves: Mapping[str, Callable[[], object]] = {
            "logs.page_up": partial(self._scroll, pages=-1),
            "logs.page_down": partial(self._scroll, pages=1),
            "logs.line_up": partial(self._scroll, lines=-1),
            "logs.line_down": partial(self._scroll, lines=1),
            "view.next": partial(self.focus_next, Pane),
            "view.previous": partial(self.focus_previous, Pane),
            "view.maximise": self.maximise,
        }

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.above
        yield self.below
        yield self.notice
        yield self.replay
        yield self.keys

    def show(self, sight: Sight) -> None:
        """Hand what was seen to every pane."""
        self._sight = sight
        self._arrange()
        self.chart.show(sight)
        self.verdict.show(sight)
        self._fill_texts(sight)
        self.header.show(sight)
        playback = self._control.playback
        self.replay.display = playback is not None
        if playback is not None:
            self.replay.show(sight.now_us, playback)
        self.notice.show(sight.state, (), self._clock.now_us())
        self.keys.show()

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
        self._fill()

    def on_resized(self, resized: Resized) -> None:
        """Some pane has another size: once all have theirs, fill them again."""
        resized.stop()
        if not self._filling:
            self._filling = True
            self.call_later(self._fill)

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
            if pane.display != stands:
                pane.display = stands
        self._stand(self.above, top is None or top in upper)
        self._stand(self.below, top is None or top in lower)
        tall = "1fr" if top in upper else "15" if wide and self.size.height >= 36 else "7"
        if str(self.above.styles.height) != tall:
            self.above.styles.height = tall

    def _stand(self, box: Horizontal, stands: bool) -> None:
        if box.display != stands:
            box.display = stands

    def _fill(self) -> None:
        self._filling = False
        if self._sight is not None:
            self.show(self._sight)
