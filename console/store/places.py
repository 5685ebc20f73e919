"""Where every key of a TOML text stands: line and column by key path.

Works on text that a parser has accepted, so it only has to walk, never to judge.
"""

from __future__ import annotations

import re
from bisect import bisect_right

import tomli

KeyPath = tuple[str | int, ...]
Place = tuple[int, int]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


def find_places(text: str) -> dict[KeyPath, Place]:
    """The place of every table header, key, inline key and array element."""
    return _Walk(text).places


class _Walk:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.places: dict[KeyPath, Place] = {}
        self._lines = [match.end() for match in re.finditer("\n", text)]
        self._counts: dict[KeyPath, int] = {}
        self._document()

    def _document(self) -> None:
        path: KeyPath = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            before = self.at
            if self.text[self.at] == "[":
                path = self._header()
            else:
                self._pair(path)
            self._skip(_BLANK)
            if self.at == before:
                return

    def _header(self) -> KeyPath:
        start = self.at
        double = self.text.startswith("[[", start)
        self.at += 2 if double else 1
        key = self._key()
        for length in range(1, len(key)):
            self.places.setdefault(self._resolve(key[:length]), self._place(start))
        path = self._resolve(key)
        self._skip(_SPACE)
        self.at += 2 if double else 1
        if double:
            number = self._counts.get(path, 0)
            self._counts[path] = number + 1
            self.places.setdefault(path, self._place(start))
            path = (*path, number)
        self.places.setdefault(path, self._place(start))
        return path

    def _resolve(self, key: list[str]) -> KeyPath:
        """A header's key path, with the index of the newest element of each array of tables."""
        path: KeyPath = ()
        for place, part in enumerate(key):
            path = (*path, part)
            if path in self._counts and place < len(key) - 1:
                path = (*path, self._counts[path] - 1)
        return path

    def _pair(self, path: KeyPath) -> None:
        start = self.at
        key: KeyPath = (*path, *self._key())
        for length in range(len(path) + 1, len(key) + 1):
            self.places.setdefault(key[:length], self._place(start))
        self._skip(_SPACE)
        self.at += 1
        self._skip(_SPACE)
        self._value(key)

    def _value(self, path: KeyPath) -> None:
        char = self.text[self.at : self.at + 1]
        if char == "[":
            self._array(path)
        elif char == "{":
            self._inline(path)
        elif char in ('"', "'"):
            self._skip(_STRING)
        else:
            self._skip(_SCALAR)

    def _array(self, path: KeyPath) -> None:
        self.at += 1
        number = 0
        self._skip(_BLANK)
        while self.at < len(self.text) and self.text[self.at] != "]":
            self.places.setdefault((*path, number), self._place(self.at))
            self._value((*path, number))
            number += 1
            self._skip(_BLANK)
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
                self._skip(_BLANK)
        self.at += 1

    def _inline(self, path: KeyPath) -> None:
        self.at += 1
        self._skip(_BLANK)
        while self.at < len(self.text) and self.text[self.at] != "}":
            self._pair(path)
            self._skip(_BLANK)
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
                self._skip(_BLANK)
        self.at += 1

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            found = _STRING.match(self.text, self.at) or _BARE.match(self.text, self.at)
            if found is None:
                return parts or [""]
            self.at = found.end()
            word = found[0]
            parts.append(str(tomli.loads(f"k = {word}")["k"]) if word[0] in "\"'" else word)
            self._skip(_SPACE)
            if self.text[self.at : self.at + 1] != ".":
                return parts
            self.at += 1

    def _skip(self, what: re.Pattern[str]) -> None:
        found = what.match(self.text, self.at)
        if found is not None:
            self.at = found.end()

    def _place(self, at: int) -> Place:
        above = bisect_right(self._lines, at)
        return above + 1, at - (self._lines[above - 1] if above else 0) + 1
