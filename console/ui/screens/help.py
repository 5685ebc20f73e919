"""The help: what the focused pane is, its keys, what its words mean; then every other key.

Refused verbs stand there with the reason. Every word about a pane is render's.
"""

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
from console.model.span import width
from console.model.verb import Verb
from console.model.verbs import VERBS
from console.render.guide import Page, verbs_of
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

_WIDTH, _FRAME, _KEYS, _WORD = 78, 7, 14, 20
"""Cells of the whole box, of its frame with the scroll bar, and of the columns at the left."""


def _group(verb: Verb) -> str:
    return next((prefix for prefix, _ in _GROUPS if prefix and verb.id.startswith(prefix)), "")


class Help(ModalScreen[None]):
    """The help of one pane.

    Args:
        page: of the focused pane; None with none in focus.
        keys: keys by verb, as they are now.
        refusal: why a verb does nothing now.
    """

    DEFAULT_CSS = """
    Help { align: center middle; }
    Help VerticalScroll { width: 78; max-width: 100%; max-height: 100%; height: auto;
        border: round $primary; padding: 0 1; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "close", "Close"),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def __init__(
        self,
        ink: Ink,
        page: Page | None,
        keys: Mapping[str, str],
        refusal: Callable[[str], str | None],
    ) -> None:
        super().__init__()
        self._ink = ink
        self._page = page
        self._keys = keys
        self._refusal = refusal

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(self._text(), markup=False)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

    def action_scroll(self, step: int) -> None:
        """Move by a line."""
        self.query_one(VerticalScroll).scroll_relative(y=step, animate=False)

    @property
    def _room(self) -> int:
        return min(_WIDTH, self.app.size.width) - _FRAME

    def _text(self) -> Text:
        text = Text()
        page = self._page
        own = self._own(text, page) if page is not None else set()
        self._head(text, "All other keys" if own else "Keys", "esc closes, ^p finds by name")
        for prefix, title in _GROUPS:
            rest = [
                verb
                for verb in VERBS.values()
                if _group(verb) == prefix and self._keys.get(verb.id) and verb.id not in own
            ]
            if rest:
                text.append(f"\n{title}\n", self._ink.style(Role.STRONG))
            for verb in rest:
                self._add(text, verb)
        text.rstrip()
        return text

    def _own(self, text: Text, page: Page) -> set[str]:
        """The pane's part; which verbs it names."""
        self._head(text, page.title, "esc closes, ↓ shows more")
        for line in wrapped(page.about, self._room):
            text.append(f"{line}\n", self._ink.style(Role.TEXT))
        verbs = [VERBS[verb] for verb in verbs_of(page, self._keys)]
        if verbs:
            text.append("\nIts keys\n", self._ink.style(Role.STRONG))
        for verb in verbs:
            self._add(text, verb)
        if page.words:
            text.append("\nIts words and signs\n", self._ink.style(Role.STRONG))
        for word, meaning in page.words:
            self._put(text, word, meaning, _WORD, Role.NOTE, Role.TEXT)
        text.append("\n")
        return {verb.id for verb in verbs}

    def _head(self, text: Text, title: str, hint: str) -> None:
        text.append(title, self._ink.style(Role.TITLE))
        text.append(f"   {hint}\n", self._ink.style(Role.DIM))

    def _add(self, text: Text, verb: Verb) -> None:
        """The keys of a verb and its help; of one without a key, its name in the palette."""
        refusal = self._refusal(verb.id)
        told = verb.help if refusal is None else f"{verb.help} ({refusal})"
        keys = key_names(self._keys[verb.id])
        if not keys:
            keys, told = key_names(self._keys["view.palette"]), f"{verb.title}: {told}"
        roles = (Role.DIM, Role.DIM) if refusal else (Role.KEY, Role.TEXT)
        self._put(text, keys, told, _KEYS, *roles)

    def _put(
        self, text: Text, head: str, told: str, column: int, head_role: Role, role: Role
    ) -> None:
        """A head, then what is told in lines that begin under one another."""
        style = self._ink.style
        for place, line in enumerate(wrapped(told, max(20, self._room - column))):
            shown = head if place == 0 else ""
            text.append(f"  {shown}{' ' * (column - 2 - width(shown))}", style(head_role))
            if place == 0 and width(shown) > column - 3:
                text.append(" ")
            text.append(f"{line}\n", style(role))
