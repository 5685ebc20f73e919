"""What the keys do: every verb that has one, refused ones with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from console.model.palette import Role
from console.model.verb import VERBS, Verb
from console.render.keys import key_names
from console.render.spans import wrapped
from console.ui.theme import Ink

_GROUPS = (
    ("mode.", "Screens"),
    ("", "Ask and record"),
    ("servers.", "Servers"),
    ("logs.", "Log"),
    ("replay.", "Replay"),
    ("view.", "Screen"),
)

_WIDTH, _FRAME, _KEYS = 78, 6, 14
"""Cells of the whole box, of its frame with the scroll bar, and of the column of keys."""


def _group(verb: Verb) -> str:
    return next((prefix for prefix, _ in _GROUPS if prefix and verb.id.startswith(prefix)), "")


class Help(ModalScreen[None]):
    """The list of keys."""

    DEFAULT_CSS = """
    Help { align: center middle; }
    Help VerticalScroll { width: 78; max-width: 100%; max-height: 90%; height: auto;
        border: round $primary; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q", "close", "Close")]

    def __init__(
        self, ink: Ink, keys: Mapping[str, str], refusal: Callable[[str], str | None]
    ) -> None:
        super().__init__()
        self._ink = ink
        self._keys = keys
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
                if _group(verb) == prefix and self._keys.get(verb.id):
                    self._add(text, verb)
        text.rstrip()
        return text

    def _add(self, text: Text, verb: Verb) -> None:
        """The keys, then the help in lines that begin under one another."""
        style, refusal = self._ink.style, self._refusal(verb.id)
        told = verb.help if refusal is None else f"{verb.help} ({refusal})"
        keys = key_names(self._keys[verb.id])
        room = min(_WIDTH, self.app.size.width) - _FRAME - _KEYS
        for place, line in enumerate(wrapped(told, max(20, room))):
            head = f"  {keys if place == 0 else '':<{_KEYS - 2}}"
            text.append(head, style(Role.DIM if refusal else Role.KEY))
            text.append(f"{line}\n", style(Role.DIM if refusal else Role.TEXT))
