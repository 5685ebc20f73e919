"""The screen of a first run: what the console is for, and what was found while a person answers.

Questions appear over its middle, so it keeps to its top and its foot.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import Screen

from console.model.palette import Role
from console.model.span import Span, Spans
from console.ui.panes.pane import Line
from console.ui.panes.text import Text
from console.ui.theme import Ink

_WORDS: tuple[Spans, ...] = (
    (Span("Does speculative decoding beat my baseline,", Role.STRONG),),
    (Span("on this box, as it is configured right now?", Role.STRONG),),
)
_KEYS: Spans = tuple(
    part
    for key, word in (("tab", "choose"), ("↵", "answer"), ("esc", "back"))
    for part in (Span(f" {key}", Role.KEY), Span(f" {word} ", Role.DIM))
)


_MARKS = {
    True: Span("✓ ", Role.GOOD),
    False: Span("! ", Role.WARNING),
    None: Span("◔ ", Role.STARTING),
}


class Welcome(Screen[None], inherit_bindings=False):
    """Words above, findings below."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = "Welcome #words { height: 4; } Welcome #found { height: 1fr; }"

    def __init__(self, ink: Ink) -> None:
        super().__init__()
        self._ink = ink
        self._found: list[Spans] = []
        self.found = Text(ink, "found", "Found so far", newest=True, focusable=False)

    def compose(self) -> ComposeResult:
        line = Line(self._ink, "header")
        line.put((Span(" spec-console", Role.TITLE), Span("  first run", Role.DIM)))
        words = Text(self._ink, "words", "Welcome", focusable=False)
        words.put(_WORDS)
        foot = Line(self._ink, "keys")
        foot.put(_KEYS)
        yield line
        yield words
        yield self.found
        yield foot

    def tell(self, text: str, good: bool | None) -> None:
        """One more thing was found, or with None is looked for."""
        mark = _MARKS[good]
        self._found.append((mark, Span(text)))
        self.found.put(tuple(self._found))
