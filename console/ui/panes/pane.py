"""The ground of all panes: a frame with its title at the left and its state at the right.

Lines are drawn one by one from spans; nothing is ever parsed as markup. A pane repaints only lines
that changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.spans import cells, fitted
from console.ui.theme import Ink

if TYPE_CHECKING:
    from console.ui.sight import Sight


LEAST_TITLE = 14
"""Cells that a title keeps beside the state of its pane."""


class Resized(Message):
    """A pane or a line has another size: what it shows must be put to width again."""


class Pane(Widget, can_focus=True):
    """A framed pane. Subclasses draw `row` and, in `show`, say what changed."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Pane { height: 1fr; }"

    def __init__(self, ink: Ink, id: str) -> None:
        super().__init__(id=id)
        self.ink = ink
        self.title: Spans = ()
        self.state: Spans = ()

    @property
    def room(self) -> int:
        """Cells inside the frame, a space at each side left out."""
        return max(0, self.size.width - 4)

    @property
    def depth(self) -> int:
        """Lines inside the frame."""
        return max(0, self.size.height - 2)

    def show(self, sight: Sight) -> None:
        """Take what is to be shown; refresh what differs from before."""
        raise NotImplementedError

    def row(self, y: int) -> Strip:
        """The line at `y` inside the frame, `room` cells wide."""
        raise NotImplementedError

    def wear(self, ink: Ink) -> None:
        """Change the theme."""
        self.ink = ink
        self.refresh()

    def entitle(self, title: Spans, state: Spans = ()) -> None:
        """Set what stands in the frame's top line."""
        if (title, state) != (self.title, self.state):
            self.title, self.state = title, state
            self.refresh(Region(0, 0, self.size.width, 1))

    def refresh_rows(self, first: int = 0, count: int | None = None) -> None:
        """Repaint lines inside the frame, all from `first` on when no count is given."""
        depth = self.depth - first if count is None else count
        if depth > 0 and self.room > 0:
            self.refresh(Region(2, first + 1, self.room, depth))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_resize(self) -> None:
        self.post_message(Resized())

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        edge = self.ink.focus if self.has_focus else self.ink.border
        if width < 4:
            return self.ink.blank(width)
        if y == 0:
            return self._head(width, edge)
        if y >= height - 1:
            return Strip([Segment("╰" + "─" * (width - 2) + "╯", edge)], width)
        inner = self.row(y - 1)
        return Strip(
            [
                Segment("│ ", edge),
                *inner.adjust_cell_length(width - 4, self.ink.ground),
                Segment(" │", edge),
            ],
            width,
        )

    def _head(self, width: int, edge: Style) -> Strip:
        room = width - 4
        title: Spans = (Span("▸ " if self.has_focus else "", Role.KEY), *self.title)
        # What it does or how much there is says more than the end of a long name.
        state = self.state if cells(self.state) + LEAST_TITLE + 4 <= room else ()
        rest = room - 2 - (cells(state) + 2 if state else 0)
        title = title if cells(title) <= rest else fitted(title, max(0, rest))
        line = room - cells(title) - 2 - (cells(state) + 2 if state else 0)
        ink = self.ink
        parts = [Segment("╭─ ", edge), *ink.segments(title), Segment(" ", edge)]
        parts.append(Segment("─" * max(0, line), edge))
        if state:
            parts += [Segment(" ", edge), *ink.segments(state), Segment(" ", edge)]
        parts.append(Segment("─╮", edge))
        return Strip(parts).adjust_cell_length(width, edge)


class Line(Widget):
    """One or more unframed lines across the screen."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Line { height: 1; }"

    def __init__(self, ink: Ink, id: str) -> None:
        super().__init__(id=id)
        self.ink = ink
        self.spans: Spans = ()

    def wear(self, ink: Ink) -> None:
        """Change the theme."""
        self.ink = ink
        self.refresh()

    def put(self, spans: Spans) -> None:
        """Show these spans."""
        if spans != self.spans:
            self.spans = spans
            self.refresh()

    def on_resize(self) -> None:
        self.post_message(Resized())

    def render_line(self, y: int) -> Strip:
        return self.ink.strip(self.spans if y == 0 else (), self.size.width)
