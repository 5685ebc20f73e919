"""A question to a person: text, secret or choice, the safe answer preselected.

A secret is masked while typed and kept nowhere.
"""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from console.model.ask import Question
from console.ui.theme import safe

CANCEL = "Cancel"


class Answer(Button):
    """One of the answers; what is typed on it is meant for the field, where a name is asked for."""

    def post_message(self, message: Message) -> bool:
        """Hand on what is typed before it is in any queue, so that keys keep their order."""
        dialog = self.screen if _typed(message) else None
        if isinstance(dialog, Dialog) and dialog.question.must_type is not None:
            field = dialog.query_one("#answer", Input)
            dialog.set_focus(field)
            return field.post_message(message)
        return super().post_message(message)


def _typed(message: Message) -> bool:
    """Whether it is text, and no key that an answer obeys."""
    if isinstance(message, events.Key):
        return message.is_printable and message.key != "space"
    return isinstance(message, events.Paste)


class Dialog(ModalScreen[str | None]):
    """One question."""

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog.low { align: center bottom; }
    Dialog.low > Vertical { margin-bottom: 2; }
    Dialog > Vertical { width: 72; max-width: 100%; height: auto; max-height: 90%;
        border: round $primary; padding: 0 1; background: $surface; }
    Dialog Static { height: auto; }
    Dialog #detail { max-height: 12; }
    Dialog Horizontal { height: auto; align-horizontal: right; }
    Dialog Button { margin-left: 1; min-width: 10; }
    Dialog Button:focus { text-style: bold reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "decline", "Cancel"),
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
    ]

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.question = question

    def compose(self) -> ComposeResult:
        asked = self.question
        with Vertical():
            head = Text(safe(asked.subject), "bold")
            head.append(f"\n{safe(asked.text)}", "none")
            yield Static(head, markup=False)
            if asked.detail:
                yield from self._detail()
            if asked.must_type is not None:
                typed = Text(f"Type {safe(asked.must_type)} to go on.")
                yield Static(typed, markup=False)
            if self._wants_text:
                # What is offered is selected, so that typing takes its place.
                offered = asked.offered
                yield Input(
                    offered, password=asked.secret, id="answer", select_on_focus=bool(offered)
                )
            with Horizontal():
                for place, choice in enumerate(asked.choices or (CANCEL, "OK")):
                    yield Answer(Text(safe(choice)), id=f"choice-{place}", compact=True)

    def _detail(self) -> ComposeResult:
        lines = "\n".join(safe(line) for line in self.question.detail)
        yield Static(Text(lines), markup=False, id="detail")

    def on_mount(self) -> None:
        """Focus the safe answer; only where nothing but text is asked, the field for it."""
        confirms = self.question.must_type is not None or self.question.choices
        first = "#choice-0" if confirms else "#answer"
        # At once: nothing else may have a key that was pressed early.
        self.set_focus(self.query_one(first))

    def on_input_submitted(self) -> None:
        self._finish(1)

    def on_button_pressed(self, pressed: Button.Pressed) -> None:
        self._finish(int((pressed.button.id or "choice-0").rpartition("-")[2]))

    def action_decline(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)

    @property
    def _wants_text(self) -> bool:
        asked = self.question
        return asked.secret or asked.must_type is not None or not asked.choices

    def _finish(self, place: int) -> None:
        asked = self.question
        if place == 0:
            self.dismiss(asked.choices[0] if asked.choices else None)
            return
        typed = self.query_one("#answer", Input).value if self._wants_text else ""
        if asked.must_type is not None and typed != asked.must_type:
            self.query_one("#answer", Input).focus()
            return
        self.dismiss(asked.choices[place] if asked.choices else typed)
