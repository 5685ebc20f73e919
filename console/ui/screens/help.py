"""What the keys do: every verb of the table, refused ones with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from console.model.palette import Role
from console.model.verb import VERBS
from console.render.keys import key_names
from console.ui.theme import Ink

_GROUPS = (
    ("", "Ask and record"),
    ("servers.", "Servers"),
    ("logs.", "Log"),
    ("replay.", "Replay"),
    ("view.", "Screen"),
)


class Help(ModalScreen[None]):
    """The list of keys."""

    DEFAULT_CSS = """
    Help { align: center middle; }
    Help VerticalScroll { width: 78; max-width: 100%; max-height: 90%; height: auto;
        border: round $primary; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q", "close", "Close")]

    def __init__(self, ink: Ink, refusal: Callable[[str], str | None]) -> None:
        super().__init__()
        self._ink = ink
        self._refusal = refusal

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(self._text(), markup=False)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

    def _text(self) -> Text:
        style = self._ink.style
        text = Text("Keys", style(Role.TITLE))
        text.append("   esc closes; ^p finds everything by name\n", style(Role.DIM))
        for prefix, title in _GROUPS:
            text.append(f"\n{title}\n", style(Role.STRONG))
            for verb in VERBS.values():
                if (
                    not verb.key
                    or not verb.id.startswith(prefix)
                    or (not prefix and "." in verb.id)
                ):
                    continue
                refusal = self._refusal(verb.id)
                role = Role.TEXT if refusal is None else Role.DIM
                key = Role.KEY if refusal is None else Role.DIM
                text.append(f"  {key_names(verb.key):<12}", style(key))
                text.append(verb.help, style(role))
                text.append("\n" if refusal is None else f"  ({refusal})\n", style(Role.DIM))
        text.rstrip()
        return text
