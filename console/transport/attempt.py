"""One attempt to connect: its deadline, and the questions during which that stands still.

Owns that a person's time does not count. Knows no kind of connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from console.model.ask import Ask, Question
from console.model.clock import Pace
from console.model.failure import Failure, WireError


class Attempt:
    """An attempt; it asks a person like any Ask.

    Attributes:
        asked: whether a person answered a question in it.
    """

    def __init__(self, ask: Ask, pace: Pace) -> None:
        self.asked = False
        self._ask = ask
        self._deadline_s = pace.connect_deadline_s
        self._deadline = asyncio.Timeout(None)

    @asynccontextmanager
    async def within(self) -> AsyncIterator[None]:
        """The body has to end within the deadline.

        Raises:
            WireError: TIMEOUT.
        """
        try:
            async with asyncio.timeout(self._deadline_s) as self._deadline:
                yield
        except TimeoutError:
            why = f"no connection within {self._deadline_s:g} s"
            raise WireError(Failure.TIMEOUT, why) from None

    async def ask(self, question: Question) -> str | None:
        """Ask with the deadline stopped meanwhile; None when the person declined.

        Raises:
            NobodyToAsk: there is no person.
        """
        self._deadline.reschedule(None)
        try:
            answer = await self._ask.ask(question)
            self.asked = True
            return answer
        finally:
            self._deadline.reschedule(asyncio.get_running_loop().time() + self._deadline_s)
