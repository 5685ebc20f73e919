"""The Ask port of the screen: one question at a time, each in a dialog.

Questions asked before the screen is up wait; when it goes away they count as declined. Imports no
toolkit, so that services can be given it before the screen is loaded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from console.model.ask import Question

Answered = Callable[[str | None], None]
Show = Callable[[Question, Answered], None]
Tell = Callable[[str, bool | None], None]


class Dialogs:
    """Asks a person through dialogs.

    `attach` gives it the screen; without one every question waits.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[Question, asyncio.Future[str | None]]] = deque()
        self._open: asyncio.Future[str | None] | None = None
        self._show: Show | None = None
        self._tell: Tell | None = None

    async def ask(self, question: Question) -> str | None:
        """The answer, or None when the person declined or the screen went away."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        self._next()
        return await answer

    def tell(self, text: str, good: bool | None) -> None:
        """Show what was found between two questions, or with None what is looked for; nobody hears
        it without a screen."""
        if self._tell is not None:
            self._tell(text, good)

    def attach(self, show: Show, tell: Tell | None = None) -> None:
        """From now on questions are shown with this, and what is told between them."""
        self._show, self._tell = show, tell
        self._next()

    def close(self) -> None:
        """The screen is gone: every open question counts as declined."""
        self._show = None
        pending = [self._open, *(answer for _, answer in self._waiting)]
        self._waiting.clear()
        self._open = None
        for answer in pending:
            if answer is not None and not answer.done():
                answer.set_result(None)

    def _next(self) -> None:
        if self._show is None or self._open is not None or not self._waiting:
            return
        question, self._open = self._waiting.popleft()
        self._show(question, self._answered)

    def _answered(self, answer: str | None) -> None:
        asked, self._open = self._open, None
        if asked is not None and not asked.done():
            asked.set_result(answer)
        self._next()
