"""Ascending numbers that grow at both ends: lines found towards the newest and the oldest.

Eight bytes a number; forgets at the old end as a ring does.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator


class Numbers:
    """A sorted set of numbers without holes in its upkeep: add only beyond either end."""

    def __init__(self) -> None:
        self._older = array("q")  # negated, so that it ascends while it grows towards the oldest
        self._newer = array("q")
        self._head = 0

    def __len__(self) -> int:
        return len(self._older) + len(self._newer) - self._head

    def add_newer(self, numbers: Iterable[int]) -> None:
        """Ascending numbers beyond the newest."""
        self._newer.extend(numbers)

    def add_older(self, numbers: list[int]) -> None:
        """Ascending numbers before the oldest."""
        self._older.extend(-number for number in reversed(numbers))

    def insert(self, number: int) -> None:
        """A number somewhere inside, unless it is there."""
        if number in self:
            return
        if self._older and number <= -self._older[0]:
            insort(self._older, -number)
        else:
            insort(self._newer, number, self._head)

    def __contains__(self, number: int) -> bool:
        return next(self.since(number), None) == number

    def before(self, end: int) -> Iterator[int]:
        """Those below `end`, newest first."""
        for place in range(bisect_left(self._newer, end, self._head) - 1, self._head - 1, -1):
            yield self._newer[place]
        for place in range(bisect_right(self._older, -end), len(self._older)):
            yield -self._older[place]

    def since(self, start: int) -> Iterator[int]:
        """Those from `start` on, oldest first."""
        for place in range(bisect_right(self._older, -start) - 1, -1, -1):
            yield -self._older[place]
        place = bisect_left(self._newer, start, self._head)
        while place < len(self._newer):
            yield self._newer[place]
            place += 1

    def below(self, number: int) -> int:
        """How many are smaller."""
        older = len(self._older) - bisect_right(self._older, -number)
        return older + bisect_left(self._newer, number, self._head) - self._head

    def forget(self, first: int) -> None:
        """Drop what is smaller than `first`."""
        while self._older and -self._older[-1] < first:
            self._older.pop()
        self._head = max(self._head, bisect_left(self._newer, first, self._head))
        if self._head > 4096 and self._head * 2 > len(self._newer):
            del self._newer[: self._head]
            self._head = 0
