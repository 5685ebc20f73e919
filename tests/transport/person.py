"""A person at the door: answers every question in turn and remembers it."""

from __future__ import annotations

from console.model.ask import Question


class Person:
    """Gives these answers, one a question; IndexError when asked once more."""

    def __init__(self, *answers: str | None) -> None:
        self._answers = list(answers)
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return self._answers.pop(0)
