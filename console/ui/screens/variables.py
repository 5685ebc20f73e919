"""The editor of a profile: variables as text at the left, what NCCL makes of them at the right.

Owns the keys of the editor and what is asked before it is left; saving is the control's. Changes
nothing on a host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import TextArea

from console.model.palette import Role
from console.model.span import Span, Spans
from console.nccl.rules import Machine
from console.nccl.version import Version
from console.render.editing import check_lines, completions, diff_lines, hint_lines, text_of
from console.render.spans import fitted
from console.ui.panes.pane import Line
from console.ui.panes.text import Text
from console.ui.theme import Ink

_KEYS: Spans = tuple(
    part
    for key, word in (
        ("tab", "complete"),
        ("^s", "save as a profile"),
        ("esc", "leave"),
        ("^z", "undo"),
    )
    for part in (Span(f" {key}", Role.KEY), Span(f" {word} ", Role.DIM))
)


class Variables(ModalScreen[str | None]):
    """The text that is to be saved, or None.

    Args:
        env: what it begins with.
        effect: what is in effect, to compare with.
    """

    DEFAULT_CSS = """
    Variables #above { height: 1fr; }
    Variables #edit { width: 2fr; border: round $primary; padding: 0; }
    Variables #said { width: 3fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", priority=True),
        Binding("ctrl+s", "save", "Save", priority=True),
        Binding("tab", "complete", "Complete", priority=True),
    ]

    def __init__(
        self,
        ink: Ink,
        server: str,
        env: Mapping[str, str],
        effect: Mapping[str, str],
        version: Version,
        machine: Machine,
    ) -> None:
        super().__init__()
        self._ink = ink
        self._effect = dict(effect)
        self._version = version
        self._machine = machine
        self._first = text_of(env)
        self._leaving = False
        self.edit = TextArea(self._first, id="edit", show_line_numbers=False, soft_wrap=False)
        self.said = Text(ink, "said", "What NCCL makes of it", focusable=False)
        self.head = Line(ink, "header")
        self.foot = Line(ink, "keys")
        title = (Span(" spec-console", Role.TITLE), Span(f"  variables for {server}", Role.DIM))
        self.head.put(title)
        self.foot.put(_KEYS)

    def compose(self) -> ComposeResult:
        yield self.head
        with Horizontal(id="above"):
            yield self.edit
            yield self.said
        yield self.foot

    def on_mount(self) -> None:
        self.edit.focus()
        self.call_after_refresh(self._tell)

    def on_text_area_changed(self) -> None:
        self._tell()

    def on_text_area_selection_changed(self) -> None:
        self._tell()

    def on_resized(self) -> None:
        self._tell()

    def action_complete(self) -> None:
        """Take the first completion of the line at whose end the cursor is."""
        words = completions(self._line, self._version)
        row, column = self.edit.cursor_location
        end = len(self.edit.document.get_line(row))
        if words and column == end:
            self.edit.replace(words[0], (row, 0), (row, end), maintain_selection_offset=False)
            self.edit.move_cursor((row, len(words[0])))

    def action_save(self) -> None:
        """Give the text to whoever opened the editor."""
        self.dismiss(self.edit.text)

    def action_leave(self) -> None:
        """Leave; where something was typed, only when asked twice."""
        if self.edit.text == self._first or self._leaving:
            self.dismiss(None)
            return
        self._leaving = True
        self.foot.put((Span(" ! ", Role.WARNING), Span("not saved: esc again leaves, ^s saves")))

    @property
    def _line(self) -> str:
        row, column = self.edit.cursor_location
        return self.edit.document.get_line(row)[:column]

    def _tell(self) -> None:
        """Hints of the line, findings of the text, what differs from what is in effect."""
        room = self.said.room
        if room < 8:
            return
        if self._leaving and self.edit.text != self._first:
            self._leaving = False
            self.foot.put(_KEYS)
        row, _ = self.edit.cursor_location
        text = self.edit.text
        self.said.put(
            (
                *hint_lines(self.edit.document.get_line(row), room, self._version),
                (),
                fitted((Span("Against what is in effect", Role.TITLE),), room),
                *diff_lines(text, self._effect, room),
                (),
                fitted((Span("Findings", Role.TITLE),), room),
                *check_lines(text, room, self._version, self._machine),
            ),
            (Span(f"NCCL {self._version}", Role.DIM),),
        )
