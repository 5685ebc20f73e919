"""The line a person points at in a log, and the stretch that is selected from it."""

from __future__ import annotations

from console.ui.window import Line, Window


class Cursor:
    """A place in a window, by line number; None while nobody points."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self.number: int | None = None
        self.anchor: int | None = None

    @property
    def line(self) -> Line | None:
        """The line pointed at, while it is in view."""
        return next((one for one in self._window.lines if one.number == self.number), None)

    def selected(self, number: int) -> bool:
        """Whether a line is in the selection."""
        first, last = self.stretch
        return first <= number <= last

    @property
    def stretch(self) -> tuple[int, int]:
        """The first and last number selected; (0, -1) for none."""
        if self.anchor is None or self.number is None:
            return 0, -1
        return min(self.anchor, self.number), max(self.anchor, self.number)

    def move(self, step: int, height: int) -> None:
        """To the line above or below; the window goes along at its edges."""
        window = self._window
        if not window.lines:
            return
        numbers = [line.number for line in window.lines]
        if self.number not in numbers:
            window.following = False
            self.number = numbers[0] if step > 0 and not window.following else numbers[-1]
            return
        place = numbers.index(self.number) + step
        if not 0 <= place < len(numbers):
            window.scroll(step, height)
            window.following = False
            place = 0 if step < 0 else len(window.lines) - 1
        window.following = False
        self.number = window.lines[place].number

    def select(self) -> bool:
        """Begin a selection at the cursor, or end it; whether one is open now."""
        if self.anchor is not None:
            self.anchor = None
        elif self.number is not None:
            self.anchor = self.number
        return self.anchor is not None

    def drop(self) -> None:
        """Point at nothing."""
        self.number = self.anchor = None
