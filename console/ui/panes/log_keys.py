"""The verbs of a log pane: what each does, for whatever screen the pane stands on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from console.render.pattern import NotAPattern
from console.ui.panes.log import Log
from console.ui.panes.log_acts import Acts
from console.ui.panes.log_bar import Bar
from console.ui.panes.log_going import Going

Moves = dict[str, Callable[[], object]]


def log_moves(active: Callable[[], Log]) -> Moves:
    """The moves by verb, each for the pane that is active when it is done."""

    def move(verb: str) -> None:
        LogKeys(active()).moves[verb]()

    return {verb: partial(move, verb) for verb in LogKeys(active()).moves}


class LogKeys:
    """One pane's verbs."""

    def __init__(self, pane: Log) -> None:
        self._pane = pane
        self._acts = Acts(pane)

    @property
    def moves(self) -> Moves:
        """What each verb does."""
        pane, acts, going = self._pane, self._acts, Going(self._pane)
        page = max(1, pane.depth - 1)
        return {
            "logs.follow": self.follow,
            "logs.pause": self.pause,
            "logs.page_up": partial(pane.scroll_lines, -page),
            "logs.page_down": partial(pane.scroll_lines, page),
            "logs.line_up": partial(self.point, -1),
            "logs.line_down": partial(self.point, 1),
            "logs.left": partial(pane.scroll_cells, -1),
            "logs.right": partial(pane.scroll_cells, 1),
            "logs.filter": partial(self.ask, "include", "Show only"),
            "logs.exclude": partial(self.ask, "exclude", "Hide"),
            "logs.highlight": partial(self.ask, "mark", "Mark"),
            "logs.case": partial(self.toggle, "case"),
            "logs.word": partial(self.toggle, "word"),
            "logs.clear": self.clear,
            "logs.next_match": partial(going.next_match, 1),
            "logs.previous_match": partial(going.next_match, -1),
            "logs.quiet": self.quiet,
            "logs.fold": self.fold,
            "logs.wrap": self.wrap,
            "logs.zone": self.zone,
            "logs.time": going.go_to_time,
            "logs.next_error": partial(going.next_error, 1),
            "logs.previous_error": partial(going.next_error, -1),
            "logs.next_marker": partial(going.next_marker, 1),
            "logs.previous_marker": partial(going.next_marker, -1),
            "logs.open": acts.open,
            "logs.select": acts.select,
            "logs.copy": acts.copy,
            "logs.save": acts.save,
            "logs.layout": partial(acts.say, "2 shows the logs merged or side by side"),
        }

    def follow(self) -> None:
        """Go to the newest line and stay there."""
        self._pane.cursor.drop()
        self._pane.window.follow()
        self._pane.again()

    def pause(self) -> None:
        """Hold still, or let go again."""
        self._pane.window.pause()
        self._pane.again()

    def point(self, step: int) -> None:
        """Point at the line below, or above when negative."""
        self._pane.cursor.move(step, self._pane.depth)
        self._pane.again()

    def ask(self, what: str, title: str) -> None:
        """Ask for a pattern, the one in use offered; an empty one ends it."""
        find = self._pane.find
        held = getattr(find.wanted, what)
        bar = Bar(f"{title} /", held.text if held is not None else "", self._wrong)
        self._pane.app.push_screen(bar, partial(self._asked, what))

    def _wrong(self, text: str) -> str:
        try:
            self._pane.find.pattern(text)
        except NotAPattern as error:
            return str(error)
        return ""

    def _asked(self, what: str, text: str | None) -> None:
        if text is not None:
            self._pane.find.want(**{what: self._pane.find.pattern(text)})
            self._sift()

    def toggle(self, what: str) -> None:
        """Let case, or whole words, count from now on, or no longer."""
        find = self._pane.find
        find.toggle(case=what == "case", word=what == "word")
        case = "upper and lower case differ" if find.case else "case does not matter"
        word = "whole words only" if find.word else "anywhere in a word"
        self._acts.say(case if what == "case" else word)
        self._sift()

    def clear(self) -> None:
        """Show everything again."""
        self._pane.find.clear()
        self._pane.cursor.drop()
        self._sift()

    def quiet(self) -> None:
        """Hide the next group of noise."""
        self._acts.say(self._pane.find.next_preset())
        self._sift()

    def fold(self) -> None:
        """Fold tracebacks and repeats, or show every line."""
        find = self._pane.find
        find.want(fold=not find.wanted.fold)
        self._acts.say("tracebacks and repeats are folded" if find.wanted.fold else "every line")
        self._sift()

    def wrap(self) -> None:
        """Let long lines go on in further rows, or cut them."""
        pane = self._pane
        pane.rows.wrap = not pane.rows.wrap
        pane.window.rest()
        pane.again(anew=True)

    def zone(self) -> None:
        """Lead each line with its time in the screen's zone, or not."""
        times = self._pane.times
        times.shown = not times.shown
        told = f"times in {times.zone}; ≈ is when a line came in" if times.shown else "as written"
        self._acts.say(told)
        self._pane.again(anew=True)

    def _sift(self) -> None:
        self._pane.window.rest()
        self._pane.again(anew=True)
