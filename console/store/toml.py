"""TOML files for people: parsed whole, every mistake with its file, line and column.

Parsers tell no position for values that parse but are wrong, so the places of all key paths are
found here. Reads and checks; knows no schema.
"""

from __future__ import annotations

import difflib
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar, cast

import tomli

from console.store.places import KeyPath, find_places

MOST_BYTES = 4 * 1024 * 1024
E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where it is, and what was expected."""

    file: str
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.text}"


class BadFile(Exception):
    """A file is refused whole; every mistake found in it is listed."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.file, p.line, p.column)))
        super().__init__("\n".join(map(str, self.problems)))


def nearest(word: str, valid: Collection[str]) -> str:
    """` (did you mean "…"?)`, or nothing when no valid word is near."""
    close = difflib.get_close_matches(word, valid, n=1, cutoff=0.6)
    return f' (did you mean "{close[0]}"?)' if close else ""


def one_of(valid: Collection[str]) -> str:
    """The valid words as a text, cut when there are many."""
    words = list(valid)
    return ", ".join(words[:12]) + (f" and {len(words) - 12} more" if len(words) > 12 else "")


@dataclass(slots=True)
class Document:
    """A parsed file and where its keys stand.

    Attributes:
        problems: mistakes found so far by whoever checks it.
    """

    file: str
    table: dict[str, object]
    places: Mapping[KeyPath, tuple[int, int]]
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: KeyPath) -> tuple[int, int]:
        """Line and column of a key path, or of its nearest ancestor that stands in the file."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, (1, 1))

    def complain(self, path: KeyPath, text: str) -> None:
        """Note a mistake at a key path."""
        self.problems.append(Problem(self.file, *self.place(path), text))

    def refuse(self) -> None:
        """End here when there are mistakes.

        Raises:
            BadFile: with all of them.
        """
        if self.problems:
            raise BadFile(self.problems)

    def top(self) -> Table:
        """The whole file as a table to read from."""
        return Table(self, self.table, ())

    def top_of(self, schema: str) -> Table:
        """The whole file as a table to read from; its `schema` is taken.

        Raises:
            BadFile: it names no schema or another one, so that its keys would mean nothing.
        """
        top = self.top()
        named = top.text("schema", required=True)
        if named and named != schema:
            top.complain("schema", f'schema: "{schema}" was expected, not "{named}"')
            self.refuse()
        return top


def load(path: str | Path) -> Document:
    """Read and parse a file.

    Raises:
        BadFile: it cannot be read, is too large, no UTF-8 or no TOML.
    """
    shown = str(path)
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadFile([Problem(shown, 1, 1, (error.strerror or str(error)).lower())]) from error
    if len(raw) > MOST_BYTES:
        raise BadFile([Problem(shown, 1, 1, "larger than 4 MiB: not a file for this")])
    return parse(raw, shown)


def parse(raw: bytes, file: str) -> Document:
    """Parse bytes, without the byte order mark that some editors put first; `file` is the name in
    messages.

    Raises:
        BadFile: no UTF-8 or no TOML.
    """
    raw = raw.removeprefix(BOM_UTF8)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise BadFile([Problem(file, line, column, "not UTF-8 text")]) from error
    try:
        table = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        problem = Problem(file, error.lineno, error.colno, f"not TOML: {error.msg.lower()}")
        raise BadFile([problem]) from error
    except RecursionError as error:
        raise BadFile([Problem(file, 1, 1, "nested too deeply")]) from error
    return Document(file, table, find_places(text))


_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration_s(text: str) -> float | None:
    """Seconds of `10s`, `1.5m`, `250ms`, `2h`; None for anything else."""
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _UNITS_S[found[2]] if found else None


class Table:
    """A table being read: takes typed values, notes what is wrong, knows what was not taken."""

    def __init__(self, document: Document, table: dict[str, object], path: KeyPath) -> None:
        self.document = document
        self.path = path
        self._table = table
        self._taken: set[str] = set()

    def names(self) -> tuple[str, ...]:
        """All keys present."""
        return tuple(self._table)

    def complain(self, key: str, text: str) -> None:
        """Note a mistake at a key of this table, or at the table when the key is empty."""
        self.document.complain((*self.path, key) if key else self.path, text)

    def raw(self, key: str) -> object:
        """The value as parsed, or None; counts as taken."""
        self._taken.add(key)
        return self._table.get(key)

    def text(self, key: str, default: str = "", *, required: bool = False) -> str:
        """A text."""
        return cast("str", self._value(key, str, "a text", default, required))

    def number(self, key: str, default: int = 0, *, least: int = 0, most: int = 2**53) -> int:
        """A whole number within bounds."""
        value = cast("int", self._value(key, int, "a whole number", default, False))
        if key in self._table and not least <= value <= most:
            self.complain(key, f"{key}: {value} is outside {least} to {most}")
            return default
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """true or false."""
        return cast("bool", self._value(key, bool, "true or false", default, False))

    def texts(self, key: str) -> tuple[str, ...]:
        """An array of texts."""
        return cast("tuple[str, ...]", _array(self, key, str, "a text"))

    def numbers(self, key: str) -> tuple[int, ...]:
        """An array of whole numbers."""
        return cast("tuple[int, ...]", _array(self, key, int, "a number"))

    def choice(self, key: str, words: type[E], default: E | None = None) -> E | None:
        """One of an enumeration's words; required without a default."""
        value = self.text(key, default or "", required=default is None)
        try:
            return words(value)
        except ValueError:
            valid = [word.value for word in words]
            if key in self._table and isinstance(self._table[key], str):
                hint = nearest(value, valid)
                self.complain(key, f'{key}: "{value}" is none of {one_of(valid)}{hint}')
            return default

    def duration(self, key: str, default_s: float) -> float:
        """Seconds of a duration text such as `10s`."""
        value = self.raw(key)
        if value is None:
            return default_s
        seconds = duration_s(value) if isinstance(value, str) else None
        if seconds is None:
            self.complain(key, f'{key}: a duration such as "10s", "15m" or "250ms" was expected')
            return default_s
        return seconds

    def table(self, key: str) -> Table | None:
        """A table below, or None."""
        value = self._value(key, dict, "a table", None, False)
        if value is None:
            return None
        return Table(self.document, cast("dict[str, object]", value), (*self.path, key))

    def tables(self, key: str) -> list[Table]:
        """An array of tables."""
        found = cast("tuple[dict[str, object], ...]", _array(self, key, dict, "a table"))
        return [
            Table(self.document, part, (*self.path, key, place)) for place, part in enumerate(found)
        ]

    def finish(self) -> None:
        """Complain about every key that nobody took."""
        for key in self._table:
            if key not in self._taken:
                hint = nearest(key, sorted(self._taken)) or f" (known: {one_of(self._taken)})"
                self.complain(key, f'unknown key "{key}"{hint}')

    def _value(self, key: str, cls: type, expected: str, default: object, required: bool) -> object:
        value = self.raw(key)
        if value is None:
            if required:
                self.complain("", f'"{key}" is missing: {expected} was expected')
            return default
        if not isinstance(value, cls) or (cls is int and isinstance(value, bool)):
            self.complain(key, f"{key}: {expected} was expected, not {_kind(value)}")
            return default
        return value


def _array(table: Table, key: str, cls: type, expected: str) -> tuple[object, ...]:
    value = table.raw(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        table.complain(key, f"{key}: an array was expected, each {expected}, not {_kind(value)}")
        return ()
    for place, part in enumerate(value):
        if type(part) is not cls:
            path = (*table.path, key, place)
            table.document.complain(path, f"{key}: {expected} was expected")
    return tuple(part for part in value if type(part) is cls)


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return "a text"
        case list():
            return "an array"
        case dict():
            return "a table"
        case _:
            return "a date or time"
