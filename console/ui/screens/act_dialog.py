"""The question before something on a host is changed: everything a person needs, Cancel first.

Owns that it can be read to its end and that no key held down or pressed too early confirms it.
"""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Button, Static

from console.model.ask import Question
from console.model.clock import Clock
from console.ui.screens.dialog import Dialog
from console.ui.theme import safe

READ_S = 1.0
"""How long it is shown before anything but the safe answer counts."""


class ActDialog(Dialog):
    """A deliberate question."""

    DEFAULT_CSS = """
    ActDialog > Vertical { width: 110; max-height: 100%; }
    ActDialog VerticalScroll { height: auto; }
    ActDialog #detail { max-height: 400; }
    ActDialog Input, ActDialog Input:focus { border: none; height: 1; padding: 0; }
    ActDialog Input { background: $panel; }
    """

    def __init__(self, question: Question, clock: Clock) -> None:
        super().__init__(question)
        self._clock = clock
        self._readable = False

    def _detail(self) -> ComposeResult:
        with VerticalScroll():
            lines = "\n".join(safe(line) for line in self.question.detail)
            yield Static(Text(lines), markup=False, id="detail")

    def on_mount(self) -> None:
        """Focus the safe answer; the others open a little later."""
        super().on_mount()
        for button in self._others():
            button.disabled = True
        self.run_worker(self._open(), group="reading")

    async def _open(self) -> None:
        await self._clock.sleep(READ_S)
        self._readable = True
        for button in self._others():
            button.disabled = False

    def on_resize(self) -> None:
        """The lines to read give way to the answers: those are in view on any screen."""
        self.query_one(VerticalScroll).styles.max_height = None
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        box, lines = self.query_one(Vertical), self.query_one(VerticalScroll)
        over = sum(child.outer_size.height for child in box.children) - box.size.height
        if over > 0:
            lines.styles.max_height = max(3, lines.size.height - over)

    def _others(self) -> list[Button]:
        return [button for button in self.query(Button) if button.id != "choice-0"]

    def _finish(self, place: int) -> None:
        if place == 0 or self._readable:
            super()._finish(place)


def dialog_for(question: Question, clock: Clock) -> Dialog:
    """The dialog that a question wants."""
    return ActDialog(question, clock) if question.deliberate else Dialog(question)
