"""The editor of a profile: a form over the catalogue, or the text itself, what NCCL makes of it
beside it.

Owns the keys of the editor and what is asked before it is left; saving is the control's. Changes
nothing on a host.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
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
from console.ui.panes.env_form import EnvForm
from console.ui.panes.pane import Line
from console.ui.panes.text import Text
from console.ui.theme import Ink

EFFECT = "what is in effect"
Sets = Callable[[], Awaitable[Mapping[str, Mapping[str, str]]]]


def _keys(*pairs: tuple[str, str]) -> Spans:
    return tuple(
        part
        for key, word in pairs
        for part in (Span(f" {key}", Role.KEY), Span(f" {word} ", Role.DIM))
    )


_ENDS, _MORE = (("^s", "save"), ("esc", "leave")), (("^t", "compare"), ("^n", "more"))
_FORM = _keys(("↑↓ enter", "set"), ("^o", "unset"), *_ENDS, ("^r", "text"), *_MORE)
_VALUE = _keys(("tab", "complete"), ("enter", "take"), ("esc", "back"))
_RAW = _keys(("tab", "complete"), *_ENDS, ("^z", "undo"), ("^r", "form"), *_MORE)


class Variables(ModalScreen[str | None]):
    """The text that is to be saved, or None. Form and text are two views of it.

    Args:
        env: what it begins with.
        effect: what is in effect, to compare with.
        sets: gives the profiles by name, to compare with as well.
    """

    DEFAULT_CSS = """
    Variables #above { height: 1fr; }
    Variables #form { width: 1fr; }
    Variables #edit { width: 1fr; border: round $primary; padding: 0; }
    Variables #said { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", priority=True),
        Binding("ctrl+s", "save", "Save", priority=True),
        Binding("tab", "complete", "Complete", priority=True),
        Binding("ctrl+r", "turn", "Form or text", priority=True),
        Binding("ctrl+t", "compare", "Compare with", priority=True),
        Binding("ctrl+n", "more(1)", "More", priority=True),
        Binding("ctrl+p", "more(-1)", show=False, priority=True),
    ]

    def __init__(
        self,
        ink: Ink,
        server: str,
        env: Mapping[str, str],
        effect: Mapping[str, str],
        version: Version,
        machine: Machine,
        sets: Sets | None = None,
    ) -> None:
        super().__init__()
        self._version = version
        self._machine = machine
        self._sets = sets
        self._against: dict[str, Mapping[str, str]] = {EFFECT: dict(effect)}
        self._shown = EFFECT
        self._first = text_of(env)
        self._leaving = False
        self.edit = TextArea(self._first, id="edit", show_line_numbers=False, soft_wrap=False)
        self.edit.display = False
        self.form = EnvForm(ink, version, self._first)
        self.said = Text(ink, "said", "What NCCL makes of it", focusable=False)
        self.head = Line(ink, "header")
        self.foot = Line(ink, "keys")
        title = (Span(" spec-console", Role.TITLE), Span(f"  variables for {server}", Role.DIM))
        self.head.put(title)

    def compose(self) -> ComposeResult:
        yield self.head
        with Horizontal(id="above"):
            yield self.form
            yield self.edit
            yield self.said
        yield self.foot

    def on_mount(self) -> None:
        self.form.search.focus()
        self.call_after_refresh(self._tell)

    def on_text_area_changed(self) -> None:
        self._tell()

    def on_text_area_selection_changed(self) -> None:
        self._tell()

    def on_resized(self) -> None:
        self._tell()

    def on_env_form_changed(self) -> None:
        if self.edit.text != self.form.text:
            self.edit.text = self.form.text
        self._tell()

    def action_more(self, pages: int) -> None:
        """Read on in what NCCL makes of it."""
        self.said.scroll(pages=pages)

    def action_turn(self) -> None:
        """The form or the text; both are the same variables."""
        raw = not self.edit.display
        self.edit.display, self.form.display = raw, not raw
        if raw:
            self.edit.focus()
        else:
            self.form.text = self.edit.text
            self.form.back()
        self._tell()

    async def action_compare(self) -> None:
        """Compare with the next: what is in effect, then each profile."""
        if self._sets is not None:
            self._against |= await self._sets()
            self._sets = None
        names = list(self._against)
        self._shown = names[(names.index(self._shown) + 1) % len(names)]
        self._tell()

    def action_complete(self) -> None:
        """Take the first completion of the line at whose end the cursor is."""
        if not self.edit.display:
            self.form.action_complete()
            return
        row, column = self.edit.cursor_location
        line = self.edit.document.get_line(row)
        words = completions(line[:column], self._version)
        if words and column == len(line):
            end = (row, len(line))
            self.edit.replace(words[0], (row, 0), end, maintain_selection_offset=False)
            self.edit.move_cursor((row, len(words[0])))

    def action_save(self) -> None:
        """Give the text to whoever opened the editor."""
        self.dismiss(self.edit.text)

    def action_leave(self) -> None:
        """Out of a value; out of the editor, and where something was changed, only asked twice."""
        if self.form.typing and not self.edit.display:
            self.form.back()
            self._tell()
        elif self.edit.text == self._first or self._leaving:
            self.dismiss(None)
        else:
            self._leaving = True
            self.foot.put(
                (Span(" ! ", Role.WARNING), Span("not saved: esc again leaves, ^s saves"))
            )

    def _tell(self) -> None:
        """Hints and findings of the line, what differs from what is compared with, the rest."""
        self._leaving = self._leaving and self.edit.text == self._first
        raw, form = self.edit.display, self.form
        self.foot.put(_RAW if raw else _VALUE if form.typing else _FORM)
        if raw:
            text = self.edit.text
            line = self.edit.document.get_line(self.edit.cursor_location[0])
        else:
            form.fill()
            text, line = form.judged, form.line
        room = self.said.room
        if room < 8:
            return
        own, others = check_lines(text, line, room, self._version, self._machine)
        self.said.put(
            (
                *hint_lines(line, room, self._version),
                *own,
                (),
                fitted((Span(f"Against {self._shown}", Role.TITLE),), room),
                *diff_lines(text, self._against[self._shown], room),
                (),
                fitted((Span("Findings", Role.TITLE),), room),
                *others,
            ),
            (Span(f"NCCL {self._version}", Role.DIM),),
        )
