"""A framed pane of lines that are given to it, scrolled by lines and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.strip import Strip

from console.model.palette import Role
from console.model.span import Span, Spans
from console.ui.panes.pane import Pane
from console.ui.theme import Ink

if TYPE_CHECKING:
    from console.ui.sight import Sight


class Text(Pane):
    """Lines.

    Args:
        newest: the end is what a person wants to see; it stays in view until somebody scrolls.
    """

    def __init__(
        self, ink: Ink, id: str, title: str, *, newest: bool = False, focusable: bool = True
    ) -> None:
        super().__init__(ink, id)
        self.can_focus = focusable
        self._newest = newest
        self._named = (Span(title, Role.TITLE),)
        self._following = newest
        self._first = 0
        self._lines: Sequence[Spans] = ()
        self._state: Spans = ()
        self._about: Spans = ()
        self.title = self._named

    def show(self, sight: Sight) -> None:
        """Nothing of its own: whoever owns it puts its lines."""

    def put(self, lines: Sequence[Spans], state: Spans = (), about: str = "") -> None:
        """Show these lines; in the frame `about` follows the title, `state` stands at the right."""
        before = (self._lines, self._first)
        self._lines, self._state = lines, state
        self._about = (Span(about, Role.DIM),) if about else ()
        self._settle()
        if before != (self._lines, self._first):
            self.refresh_rows()

    def scroll(self, *, lines: int = 0, pages: int = 0) -> None:
        """Move down by so much, up when negative."""
        self._first += lines + pages * max(1, self.depth - 1)
        self._following = self._newest and self._first >= self._last
        self._settle()
        self.refresh_rows()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._following = True
        self._settle()
        self.refresh_rows()

    def on_resize(self) -> None:
        """As much more or less is hidden; what is shown is put to width by whoever put it."""
        self._settle()
        super().on_resize()

    def row(self, y: int) -> Strip:
        place = self._first + y
        return self.ink.strip(self._lines[place] if place < len(self._lines) else (), self.room)

    @property
    def _last(self) -> int:
        return max(0, len(self._lines) - self.depth)

    def _settle(self) -> None:
        self._first = self._last if self._following else min(max(0, self._first), self._last)
        below = len(self._lines) - self._first - self.depth
        hidden = []
        if self._first:
            hidden.append(f"{self._first:,} above")
        if below > 0:
            hidden.append(f"{below:,} below")
        more = (Span(" · ".join(hidden), Role.DIM),) if hidden else self._state
        self.entitle((*self._named, *self._about), more)
