"""The Ask port: how any code puts a question to a person.

The interactive screen answers with a dialog; without a person every question is refused at once,
so nothing ever hangs on a prompt nobody sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        subject: the server or host it is about.
        text: what is asked, one line.
        detail: what a person needs to see before answering, any number of lines.
        secret: the answer must not be shown while typed, nor kept.
        must_type: the answer counts only when it equals this text (a server's name).
        choices: the answers possible; the first is the safe one and is preselected.
        offered: the answer of who types nothing; on a screen it stands in the field to be edited.
        deliberate: any but the safe answer counts only once there was time to read.
    """

    subject: str
    text: str
    detail: tuple[str, ...] = ()
    secret: bool = False
    must_type: str | None = None
    choices: tuple[str, ...] = ()
    offered: str = ""
    deliberate: bool = False


class NobodyToAsk(Exception):
    """A question came up where no person can answer it."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"{question.subject}: {question.text} (nobody to ask without a terminal)")
        self.question = question


class Ask(Protocol):
    """The port."""

    async def ask(self, question: Question) -> str | None:
        """The answer, or None when the person declined.

        Raises:
            NobodyToAsk: there is no person.
        """
        ...


class Nobody:
    """The Ask of a program without a person: refuses everything."""

    async def ask(self, question: Question) -> str | None:
        raise NobodyToAsk(question)
