"""The first screen: servers, what was measured, the selected server's log or its detail.

Owns where panes stand at which size and which server is selected; draws nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Size
from textual.screen import Screen

from console.control.port import Control
from console.model.clock import Clock
from console.model.palette import Role
from console.model.span import Span
from console.stream.state import State
from console.ui.panes.chart import Chart
from console.ui.panes.detail import Detail
from console.ui.panes.header import Header
from console.ui.panes.keys import Keys
from console.ui.panes.log import Log
from console.ui.panes.log_keys import LogKeys, log_moves
from console.ui.panes.notice import Notice
from console.ui.panes.pane import Line, Pane, Resized
from console.ui.panes.replay import Replay
from console.ui.panes.servers import Servers
from console.ui.panes.verdict import Verdict
from console.ui.sight import Sight
from console.ui.theme import Ink

SMALLEST = Size(60, 20)


class Dashboard(Screen[None], inherit_bindings=False):
    """The dashboard."""

    DEFAULT_CSS = """
    Dashboard { layout: vertical; }
    Dashboard #results { height: 3; }
    Dashboard #chart { width: 3fr; }
    Dashboard #verdict { width: 2fr; }
    """

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__()
        self._control = control
        self._clock = clock
        self._state = State()
        self._sight: Sight | None = None
        self._filling = False
        self.maximised: Pane | None = None
        self.header = Header(ink, "header")
        self.servers = Servers(ink)
        self.chart = Chart(ink)
        self.verdict = Verdict(ink)
        self.log_pane = Log(ink, clock)
        self.detail = Detail(ink)
        self.detailed = False
        self.notice = Notice(ink)
        self.replay = Replay(ink, "replay")
        self.keys = Keys(ink, "keys")
        self.results = Horizontal(self.chart, self.verdict, id="results")
        self.moves: Mapping[str, Callable[[], object]] = self._moves()

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.servers
        yield self.results
        yield self.log_pane
        yield self.detail
        yield self.notice
        yield self.replay
        yield self.keys

    def show(self, sight: Sight) -> None:
        """Hand what was seen to every pane."""
        self._sight, self._state = sight, sight.state
        self.chart.show(sight)
        self.verdict.show(sight)
        self._arrange()
        self.servers.show(sight)
        chosen = replace(sight, server=self.servers.selected)
        self.header.show(chosen)
        (self.detail if self.detailed else self.log_pane).show(chosen)
        playback = self._control.playback
        if playback is not None:
            self.replay.show(sight.now_us, playback)
        self.notice.show(sight.state, self._too_small(), self._clock.now_us())
        self.keys.show()

    def wear(self, ink: Ink) -> None:
        """Change the theme of every pane."""
        for pane in self.query(Pane):
            pane.wear(ink)
        for line in self.query(Line):
            line.wear(ink)

    def say(self, text: str, good: bool) -> None:
        """Tell a person how what was asked for has ended."""
        self.notice.say(text, good, self._clock.now_us())

    def maximise(self) -> None:
        """Give the focused pane the whole screen, or put it back."""
        focused = self.focused
        if self.maximised is None and isinstance(focused, Pane):
            self.maximised = focused
        else:
            self.maximised = None
        self._arrange()

    def toggle_detail(self) -> None:
        """Show a server's detail in place of its log and of the results, or no longer."""
        self.detailed = not self.detailed
        low = self.detail if self.detailed else self.log_pane
        if self.maximised not in (None, self.servers):
            self.maximised = low
        if self.focused in (self.detail, self.log_pane):
            low.focus()
        self._arrange()
        if self._sight is not None:
            self.show(self._sight)

    def on_resize(self) -> None:
        self._arrange()

    def on_resized(self, resized: Resized) -> None:
        """Some pane has another size: once all have theirs, fill them again."""
        resized.stop()
        if not self._filling and self._sight is not None:
            self._filling = True
            self.call_later(self._fill)

    def _fill(self) -> None:
        self._filling = False
        if self._sight is not None:
            self.show(self._sight)

    def _moves(self) -> Mapping[str, Callable[[], object]]:
        log, servers = self.log_pane, self.servers
        of_log = log_moves(lambda: log)

        def scroll(verb: str, by: Callable[[int], None], step: int) -> None:
            if self.detailed:
                by(step)
            else:
                of_log[verb]()

        detail = self.detail
        return {
            "tail": LogKeys(log).follow,
            "servers.up": partial(servers.move, -1),
            "servers.down": partial(servers.move, 1),
            **of_log,
            "logs.page_up": partial(scroll, "logs.page_up", detail.scroll_pages, -1),
            "logs.page_down": partial(scroll, "logs.page_down", detail.scroll_pages, 1),
            "logs.line_up": partial(scroll, "logs.line_up", detail.scroll_lines, -1),
            "logs.line_down": partial(scroll, "logs.line_down", detail.scroll_lines, 1),
            "view.detail": self.toggle_detail,
            "view.maximise": self.maximise,
            "view.next": partial(self.focus_next, Pane),
            "view.previous": partial(self.focus_previous, Pane),
        }

    def _arrange(self) -> None:
        """Heights for this size: rows of servers first, the log takes what is left."""
        size = self.size
        top = self.maximised
        self._stand(self.servers, top in (None, self.servers))
        low: Pane = self.detail if self.detailed else self.log_pane
        other: Pane = self.log_pane if self.detailed else self.detail
        self._stand(low, top in (None, low))
        self._stand(other, False)
        results = (
            size.height >= SMALLEST.height
            and not self.detailed
            and top not in (self.servers, self.log_pane)
        )
        self._stand(self.results, results)
        self._stand(self.chart, top is self.chart or (top is None and size.width >= 100))
        self._stand(self.verdict, top in (None, self.verdict))
        self._stand(self.replay, self._control.playback is not None)
        rows = max(1, len(self._state.servers))
        if top is None:
            most = max(1, size.height // 3 - 3)
            self._tall(self.servers, min(rows, most) + 3)
            lines = max(self.chart.wanted, self.verdict.wanted)
            self._tall(self.results, min(lines, 13 if size.height >= 40 else 2) + 2)
        else:
            self._tall(self.servers, None)
            self._tall(self.results, None)

    def _stand(self, widget: Pane | Line | Horizontal, stands: bool) -> None:
        if widget.display != stands:
            widget.display = stands

    def _tall(self, widget: Pane | Horizontal, height: int | None) -> None:
        wanted = "1fr" if height is None else str(height)
        if str(widget.styles.height) != wanted:
            widget.styles.height = wanted

    def _too_small(self) -> tuple[Span, ...]:
        size = self.size
        if size.width >= SMALLEST.width and size.height >= SMALLEST.height:
            return ()
        told = f" {size.width}x{size.height} is small: 60x20 shows all"
        return (Span(" !", Role.WARNING), Span(told))
