"""A person's pattern: what is searched, found places, and an end to what backtracks badly.

Every search has a time limit, since a pattern of a few letters can take hours on one line. Never
decides what is shown.
"""

from __future__ import annotations

import regex

from console.model.text import Clean, plain

SLOW_S = 0.02
"""A search in one line may take so long."""
_AGAIN_S = 0.1
_MOST_SPANS = 200


class NotAPattern(Exception):
    """A text that is no regular expression; says why and where, for a person."""


class TooSlow(Exception):
    """A pattern that takes too long on a line; says so, for a person."""


class Pattern:
    """A compiled pattern.

    Args:
        case: whether upper and lower case differ.
        word: whether it must stand between word boundaries.

    Raises:
        NotAPattern: it cannot be compiled.
    """

    def __init__(self, text: str, case: bool = False, word: bool = False) -> None:
        self.text, self.case, self.word = text, case, word
        whole = rf"\b(?:{text})\b" if word else text
        try:
            self._search = regex.compile(whole, 0 if case else regex.IGNORECASE).search
        except regex.error as error:
            # It says "missing ) at position 3", counted in the whole pattern.
            raise NotAPattern(f"{text}: {error}") from error
        except (OverflowError, RecursionError, MemoryError) as error:
            raise NotAPattern(f"{text}: too large a pattern") from error

    def found(self, line: Clean) -> bool:
        """Whether it is anywhere in the line, colour codes left out.

        Raises:
            TooSlow: it was still searching after its time.
        """
        text = plain(line)
        try:
            return self._search(text, timeout=SLOW_S) is not None
        except TimeoutError:
            pass
        try:
            # A busy machine can hold any search up once; a bad pattern is slow again.
            return self._search(text, timeout=_AGAIN_S) is not None
        except TimeoutError as error:
            told = f"over {_AGAIN_S:.1f} s on a line of {len(text):,} characters"
            raise TooSlow(f"/{self.text}/ backtracks badly: {told}") from error

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where it is in a plain text, in order and apart; at most 200, none when too slow."""
        spans: list[tuple[int, int]] = []
        at = 0
        try:
            while len(spans) < _MOST_SPANS and at <= len(text):
                match = self._search(text, at, timeout=SLOW_S)
                if match is None:
                    break
                start, end = match.span()
                if end > start:
                    spans.append((start, end))
                at = max(end, at + 1)
        except TimeoutError:
            return []
        return spans
