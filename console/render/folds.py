"""Which lines of a log stand together: a traceback under its first line, repeats under theirs.

Takes lines in order and names the head of each by number; holds no text but the last line's. What
is folded away is for whoever shows it to count and to open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.engines.facts import FailureSeen
from console.engines.failures import RAISED
from console.engines.grammar import parse_line
from console.engines.records import Placed, Records
from console.model.text import Clean, plain

CAREFUL_LINES = 64
"""How long after a record's last line another writer's line may still go on with it."""
_EARLY = 48
_LEAST_END = 6
_LONG = 128

_CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b|(?<=[\d\]]):\d{4,5}\b"
)
"""What differs between two lines that say the same: stamps and the ports of clients."""


class Folds:
    """Feed the lines of one log in order, without gaps."""

    def __init__(self) -> None:
        self._records = Records()
        self._heads: dict[int, int] = {}
        self._begun: list[int] = []
        self._careful = 0
        self._head = -1
        self._text = Clean("")
        self._fed = True
        self._same = ""

    def place(self, number: int, text: Clean) -> tuple[int, bool]:
        """The number of the line that this one stands under, itself when it stands alone.

        True with it means that the line repeats the head; otherwise it belongs to its record.
        """
        if self._careful or not _headed(text):
            if not self._fed:
                self._feed(self._head, self._text)
            head = self._feed(number, text)
            self._fed = True
            if head != number:
                self._careful = CAREFUL_LINES
                self._head = -1
                return head, False
            self._careful = max(0, self._careful - 1)
        else:
            self._fed = False
        if self._repeats(text):
            self._text = text
            if self._fed:
                # What goes on with the repeat goes on with its head.
                self._heads.update(dict.fromkeys(self._begun, self._head))
            return self._head, True
        self._head, self._text, self._same = number, text, ""
        return number, False

    def under(self, start: int, texts: Sequence[Clean]) -> list[tuple[int, int, bool]]:
        """The lines that stand under another, of those numbered from `start`: number and place."""
        found: list[tuple[int, int, bool]] = []
        for number, text in enumerate(texts, start):
            last = self._text
            if (
                (text[-_LEAST_END:] != last[-_LEAST_END:] or _ends_apart(text, last))
                and not self._careful
                and _headed(text)
            ):
                # What almost every line is, decided at once.
                self._head, self._text, self._same, self._fed = number, text, "", False
                continue
            head, again = self.place(number, text)
            if head != number:
                found.append((number, head, again))
        return found

    def _repeats(self, text: Clean) -> bool:
        last = self._text
        if self._head < 0 or not -3 < len(text) - len(last) < 3:
            return False
        # Stamps and ports stand early: most lines are told apart by their ends.
        end = max(min(len(text), len(last)) - _EARLY, _LEAST_END)
        if text[-end:] != last[-end:]:
            return False
        if text == last:
            return True
        if not self._same:
            self._same = _CHANGING.sub("", last)
        return _CHANGING.sub("", text) == self._same

    def _feed(self, number: int, text: Clean) -> int:
        """Where the records put a line: under its piece that goes on, if one does."""
        head, self._begun = number, []
        placed = [self._records.add(piece) for piece in parse_line(plain(text))]
        for one in placed:
            if one.opens:
                self._heads[one.record] = number
                self._begun.append(one.record)
            elif one.record in self._heads:
                head = self._heads[one.record]
        if placed and _opens_body(placed[-1]):
            self._careful = CAREFUL_LINES
        if len(self._heads) > 4 * CAREFUL_LINES:
            for record in list(self._heads)[: 2 * CAREFUL_LINES]:
                del self._heads[record]
        return head


def stands_alone(text: Clean, before: Clean) -> bool:
    """Whether a line surely begins something: a place to start folding from."""
    if text == before or _CHANGING.sub("", text) == _CHANGING.sub("", before):
        return False
    pieces = parse_line(plain(text))
    return bool(pieces and pieces[0].head.style) and not isinstance(pieces[0].fact, FailureSeen)


def raised(text: Clean) -> bool:
    """Whether the line is the last of a traceback: the exception and what it says."""
    return RAISED.match(plain(text)) is not None


def _opens_body(placed: Placed) -> bool:
    return placed.opens and (
        isinstance(placed.line.fact, FailureSeen) or "Traceback" in placed.line.text
    )


def _ends_apart(text: str, last: str) -> bool:
    """Whether two long lines differ where no stamp stands: they are no repeats."""
    return len(text) > _LONG + 2 and text[_EARLY - _LONG :] != last[_EARLY - _LONG :]


def _headed(text: str) -> bool:
    """Whether a line begins as those of engines do, and so opens no traceback nor goes on."""
    if text[:1] in _FIRST:
        return "ERROR" not in text and "]:[E" not in text and "Traceback" not in text
    return text.startswith(("INFO:", "\x1b[32mINFO"))


_FIRST = frozenset("[(0123456789")
