"""The form of the editor of variables: a search over the catalogue, the rows, one value at a time.

Owns which variable is chosen and what is typed for it. Every change is made in the text it was
given and handed to whoever holds that; it judges no value.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from console.model.palette import Role
from console.model.span import Span
from console.nccl.version import Version
from console.render.editing import completions, values_of
from console.render.env_form import FormRow, form_lines, form_rows, with_value, without
from console.ui.panes.text import Text
from console.ui.theme import Ink


class EnvForm(Vertical):
    """Search, rows and value over a text."""

    class Changed(Message):
        """Another text, another variable, or another value that is being typed."""

    DEFAULT_CSS = """
    EnvForm Input, EnvForm Input:focus { height: 1; border: none; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "Complete", priority=True),
        Binding("ctrl+o", "leave_out", "Unset", priority=True),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "move(-10)", show=False),
        Binding("pagedown", "move(10)", show=False),
    ]

    def __init__(self, ink: Ink, version: Version, text: str) -> None:
        super().__init__(id="form")
        self.text = text
        self._version = version
        self._cursor = 0
        self._rows: list[FormRow] = []
        self.search = Input(placeholder="search: a name, or what it is about", id="search")
        self.table = Text(ink, "table", "Variables", focusable=False)
        self.value = Input(id="value")
        self.value.display = False

    def compose(self) -> ComposeResult:
        yield self.search
        yield self.table
        yield self.value

    @property
    def row(self) -> FormRow | None:
        """The chosen variable."""
        return self._rows[self._cursor] if self._cursor < len(self._rows) else None

    @property
    def typing(self) -> bool:
        """Whether a value is being typed."""
        return bool(self.value.display)

    @property
    def line(self) -> str:
        """The chosen variable as a line, with what is typed for it."""
        typed = self.value.value if self.typing else ""
        return f"{self.row.name}={typed}" if self.row is not None else ""

    @property
    def judged(self) -> str:
        """The text as it would be with what is being typed."""
        if self.typing and self.row is not None:
            return with_value(self.text, self.row.name, self.value.value)
        return self.text

    def fill(self) -> None:
        """Make the rows anew; while a value is typed they stay as they are."""
        if not self.typing:
            self._rows = form_rows(self.text, self.search.value, self._version)
            self._cursor = max(0, min(self._cursor, len(self._rows) - 1))
        if self.table.room >= 8:
            lines = form_lines(self._rows, self._cursor, self.table.room, self.table.depth)
            held = f"{len(values_of(self.judged))} set"
            self.table.put(lines, (Span(held, Role.DIM),))

    def back(self) -> None:
        """Out of the value, whatever was typed."""
        self.value.display = False
        self.search.focus()

    def on_input_changed(self, changed: Input.Changed) -> None:
        if changed.input is self.search:
            self._cursor = 0
        self.post_message(self.Changed())

    def on_input_submitted(self, submitted: Input.Submitted) -> None:
        """Enter: from the search to the chosen variable's value, from there back with it."""
        row = self.row
        if row is None:
            return
        if submitted.input is self.search:
            self.value.placeholder = f"value of {row.name}"
            self.value.value = row.value or ""
            self.value.display = True
            self.value.focus()
        else:
            self.text = self.judged
            self.back()
        self.post_message(self.Changed())

    def action_move(self, by: int) -> None:
        """Choose another variable."""
        if not self.typing:
            self._cursor = max(0, min(self._cursor + by, len(self._rows) - 1))
            self.post_message(self.Changed())

    def action_leave_out(self) -> None:
        """Take the chosen variable out of the text."""
        if not self.typing and self.row is not None:
            self.text = without(self.text, self.row.name)
            self.post_message(self.Changed())

    def action_complete(self) -> None:
        """Take the first completion of what is typed."""
        if self.row is None:
            return
        if not self.typing:
            self.search.value = self.row.name
            return
        words = completions(self.line, self._version)
        if words:
            self.value.value = words[0].partition("=")[2]
            self.value.cursor_position = len(self.value.value)
