"""The first screen: servers, what was measured, the selected server's log or its detail.

Owns where panes stand at which size and which server is selected; draws nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.containers import Horizontal
from textual.geometry import Size
from textual.widget import Widget

from console.control.port import Control
from console.model.clock import Clock
from console.model.palette import Role
from console.model.span import Span, Spans
from console.stream.state import State
from console.ui.panes.act import Act
from console.ui.panes.chart import Chart
from console.ui.panes.detail import Detail
from console.ui.panes.log import Log
from console.ui.panes.log_keys import LogKeys, log_moves
from console.ui.panes.pane import Pane
from console.ui.panes.servers import Servers
from console.ui.panes.verdict import Verdict
from console.ui.screens.mode_screen import ModeScreen, Moves, stand, tall
from console.ui.sight import Sight
from console.ui.theme import Ink

if TYPE_CHECKING:
    from console.ui.app import ConsoleApp

SMALLEST = Size(60, 20)
_ACT = {True: 7, False: 4}
"""Lines of an act where the screen is high, and where it is not."""


class Dashboard(ModeScreen, inherit_bindings=False):
    """The dashboard."""

    DEFAULT_CSS = """
    Dashboard { layout: vertical; }
    Dashboard #results { height: 3; }
    Dashboard #chart { width: 3fr; }
    Dashboard #verdict { width: 2fr; }
    """

    def __init__(self, control: Control, clock: Clock, ink: Ink) -> None:
        super().__init__(control, clock, ink)
        self._state = State()
        self.servers = Servers(ink)
        self.chart = Chart(ink)
        self.verdict = Verdict(ink, advises=True)
        self.act = Act(ink)
        self.log_pane = Log(ink, clock)
        self.detail = Detail(ink)
        self.detailed = False
        self.results = Horizontal(self.chart, self.verdict, id="results")
        self.moves = self._moves()

    def panes(self) -> tuple[Widget, ...]:
        """Servers above, then what was measured or done, the log or the detail at the foot."""
        return self.servers, self.results, self.act, self.log_pane, self.detail

    def fill(self, sight: Sight) -> None:
        """Hand what was seen to every pane."""
        self._state = sight.state
        self.servers.show(sight)
        chosen = replace(sight, server=self.servers.selected)
        self.chart.show(chosen)
        self.verdict.show(chosen)
        self.act.look(chosen, max(1, self.size.width - 4), _ACT[self.size.height >= 32])
        self._arrange()
        (self.detail if self.detailed else self.log_pane).show(chosen)

    def toggle_detail(self) -> None:
        """Show a server's detail in place of its log and of the results, or no longer."""
        self.detailed = not self.detailed
        low = self.detail if self.detailed else self.log_pane
        if self.maximised not in (None, self.servers):
            self.maximised = low
        if self.focused in (self.detail, self.log_pane):
            low.focus()
        self._arrange()
        self.again()

    def on_resize(self) -> None:
        self._arrange()

    def _moves(self) -> Moves:
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
            "logs.open": partial(self._open, of_log["logs.open"]),
            "logs.page_up": partial(scroll, "logs.page_up", detail.scroll_pages, -1),
            "logs.page_down": partial(scroll, "logs.page_down", detail.scroll_pages, 1),
            "logs.line_up": partial(scroll, "logs.line_up", detail.scroll_lines, -1),
            "logs.line_down": partial(scroll, "logs.line_down", detail.scroll_lines, 1),
            "view.detail": self.toggle_detail,
            **self.between_panes(),
            "view.next": partial(self._turn, self.focus_next),
            "view.previous": partial(self._turn, self.focus_previous),
        }

    def _open(self, line: Callable[[], object]) -> None:
        """The log line pointed at; else what stands behind the focused pane."""
        if self.log_pane.cursor.number is not None:
            line()
        elif self.focused is self.servers:
            self.toggle_detail()
        elif self.focused in (self.chart, self.verdict):
            cast("ConsoleApp", self.app).action_verb("mode.bench")
        else:
            line()

    def _turn(self, to: Callable[[type[Pane]], object]) -> None:
        """To another pane; a line of the log is no longer pointed at where that is not the log."""
        to(Pane)
        if self.focused is not self.log_pane and self.log_pane.cursor.number is not None:
            self.log_pane.cursor.drop()
            self.log_pane.again()

    def _arrange(self) -> None:
        """Heights for this size: rows of servers first, the log takes what is left."""
        size = self.size
        top = self.maximised
        stand(self.servers, top in (None, self.servers))
        low: Pane = self.detail if self.detailed else self.log_pane
        other: Pane = self.log_pane if self.detailed else self.detail
        stand(low, top in (None, low))
        stand(other, False)
        results = (
            size.height >= SMALLEST.height
            and not self.detailed
            and top not in (self.servers, self.log_pane)
        )
        acts = self.act.act is not None and top is None
        stand(self.act, acts)
        stand(self.results, results and (not acts or size.height >= 40))
        stand(self.chart, top is self.chart or (top is None and size.width >= 100))
        stand(self.verdict, top in (None, self.verdict))
        rows = max(1, len(self._state.servers))
        if top is None:
            most = max(1, size.height // 3 - 3)
            tall(self.servers, min(rows, most) + 3)
            lines = max(self.chart.wanted, self.verdict.wanted)
            tall(self.results, min(lines, _results_lines(size.height)) + 2)
            tall(self.act, self.act.wanted + 2)
        else:
            tall(self.servers, None)
            tall(self.results, None)

    def standing(self) -> Spans:
        """That the screen is too small to show all."""
        size = self.size
        if size.width >= SMALLEST.width and size.height >= SMALLEST.height:
            return ()
        told = f" {size.width}x{size.height} is small: 60x20 shows all"
        return (Span(" !", Role.WARNING), Span(told))


def _results_lines(height: int) -> int:
    """Lines for what was measured on a screen so high: the log keeps the greater part."""
    return max(13, height // 4) if height >= 40 else max(2, (height - 18) // 3)
