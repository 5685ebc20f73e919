"""The Ask port at a terminal that cannot be drawn on: a question in lines, its answer a line.

The empty answer is the safe one. A secret is not shown while it is typed and kept nowhere.
"""

from __future__ import annotations

import asyncio
import getpass
import sys
import threading
from collections.abc import Callable
from typing import TextIO

from console.model.ask import Question
from console.model.text import Clean, plain

Read = Callable[[bool], str]


def read_line(secret: bool) -> str:
    """What a person types; empty at the end of the input."""
    if secret:
        try:
            return getpass.getpass("", stream=sys.stderr)
        except EOFError:
            return ""
    return sys.stdin.readline()


class Prompts:
    """Asks one question at a time.

    Attributes:
        asking: a question waits for its answer: nothing else should be written meanwhile.

    Args:
        out: where questions are written.
        read: reads a line, given whether it is a secret; called in a thread of its own.
    """

    def __init__(self, out: TextIO | None = None, read: Read = read_line) -> None:
        self.asking = False
        self._out = out or sys.stderr
        self._read = read
        self._turn = asyncio.Lock()

    async def ask(self, question: Question) -> str | None:
        """The answer, or None when the person declined."""
        async with self._turn:
            self.asking = True
            try:
                return await self._answer(question)
            finally:
                self.asking = False

    def tell(self, text: str, good: bool | None) -> None:
        """Say what was found between two questions, or with None what is looked for."""
        self._say(f"  {'.' if good is None else '+' if good else '!'} {plain(Clean(text))}")

    async def _answer(self, question: Question) -> str | None:
        self._say(f"{plain(Clean(question.subject))}: {plain(Clean(question.text))}")
        for line in question.detail:
            self._say(f"    {plain(Clean(line))}")
        choices, name = question.choices, question.must_type
        if name is not None:
            self._say(f"Type {name} to go on, nothing to leave it:")
        elif choices:
            for number, choice in enumerate(choices[1:], 1):
                self._say(f"  {number}  {choice}")
            self._say(f"A number, nothing for {choices[0]}:")
        elif question.offered:
            self._say(f"Nothing for {question.offered}, a dot to leave it:")
        typed = (await _in_thread(lambda: self._read(question.secret))).rstrip("\r\n")
        if name is not None:
            return _confirmed(question, typed)
        if choices:
            chosen = int(typed) if typed.isdecimal() else 0
            return choices[chosen] if chosen < len(choices) else choices[0]
        if question.offered:
            return None if typed == "." else typed or question.offered
        return typed or None

    def _say(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


def _confirmed(question: Question, typed: str) -> str | None:
    """The answer to a question that wants a name typed."""
    if question.choices:
        return question.choices[1 if typed == question.must_type else 0]
    return typed if typed == question.must_type else None


async def _in_thread(read: Callable[[], str]) -> str:
    """Read in a thread that a program may leave behind: nobody waits for a line at its end."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def settle(text: str) -> None:
        if not answer.done():
            answer.set_result(text)

    def reading() -> None:
        text = read()
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, text)

    threading.Thread(target=reading, name="prompt", daemon=True).start()
    return await answer
