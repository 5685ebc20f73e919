"""One line of a log, opened: its fields, what it means, all of it and what stands under it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from console.model.span import Spans
from console.ui.theme import Ink, safe

_WIDTH, _FRAME = 100, 6


def room_in(width: int) -> int:
    """Cells for the lines of an opened line on a screen so wide; a scroll bar may stand beside."""
    return max(20, min(_WIDTH, width) - _FRAME)


class Detail(ModalScreen[None]):
    """The opened line."""

    DEFAULT_CSS = """
    Detail { align: center middle; }
    Detail VerticalScroll { width: 100; max-width: 100%; max-height: 90%; height: auto;
        border: round $primary; padding: 0 1; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q", "close", "Close")]

    def __init__(self, ink: Ink, lines: Sequence[Spans]) -> None:
        super().__init__()
        self._ink = ink
        self._lines = lines

    def compose(self) -> ComposeResult:
        text = Text()
        for line in self._lines:
            for span in line:
                text.append(safe(span.text), self._ink.style(span.role))
            text.append("\n")
        text.rstrip()
        with VerticalScroll():
            yield Static(text, markup=False)

    def action_close(self) -> None:
        """Back to the log."""
        self.dismiss(None)
