"""One line at the bottom of the screen where a pattern is typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from console.ui.theme import safe


class Bar(ModalScreen[str | None]):
    """Asks for a pattern, the one in use offered; what is no pattern is said and can be mended.

    Args:
        wrong: why a text is no pattern; empty when it is one.
    """

    DEFAULT_CSS = """
    Bar { align: left bottom; background: transparent; }
    Bar > Horizontal { height: 1; width: 100%; background: $surface; }
    Bar Static { width: auto; height: 1; padding: 0 1; }
    Bar Input { width: 1fr; height: 1; border: none; padding: 0; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "decline", "Cancel")]

    def __init__(self, title: str, value: str, wrong: Callable[[str], str]) -> None:
        super().__init__()
        self._title = title
        self._value = value
        self._wrong = wrong

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(Text(self._title, "bold"), markup=False)
            yield Input(self._value, id="pattern", compact=True)
            yield Static(Text("↵ search  esc leave", "dim"), markup=False, id="hint")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, submitted: Input.Submitted) -> None:
        wrong = self._wrong(submitted.value)
        if wrong:
            self.query_one("#hint", Static).update(Text(safe(wrong)[:60], "bold"))
            return
        self.dismiss(submitted.value)

    def action_decline(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None)
