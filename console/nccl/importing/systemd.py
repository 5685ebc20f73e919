"""Reads systemd units, drop-ins and Podman's container files: Environment= with systemd's own
quoting, PassEnvironment, UnsetEnvironment, and what Exec lines set. No specifier is resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from console.nccl.finding import Severity
from console.nccl.importing.found import (
    NAME,
    PAIR,
    Context,
    Elsewhere,
    Found,
    Item,
    Problem,
    State,
    lost,
    refused,
    restate,
)
from console.nccl.importing.prose import scan
from console.nccl.importing.shell import Script
from console.nccl.importing.shell_text import Piece, Word

_SPECIFIER = re.compile(r"%[A-Za-z]")
_ENTRY = re.compile(r"\s*([A-Za-z]+)\s*=\s*(.*)", re.DOTALL)
_BROKEN = re.compile(r"(NCCL_[A-Z0-9_]+)\s*=?\s*(\S*)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}
_SECTIONS = frozenset({"", "Service", "Container", "Manager", "Socket", "Mount", "Swap"})


@dataclass(frozen=True, slots=True)
class Reset:
    """An empty Environment= line: what stood before it is cleared."""

    line: int


@dataclass(slots=True)
class _Row:
    text: str
    line: int
    starts: list[tuple[int, int]]

    def line_at(self, offset: int) -> int:
        """The physical line of a character, continuations counted."""
        return max((line for start, line in self.starts if start <= offset), default=self.line)


def read_systemd(text: str, first: int, context: Context) -> Iterator[Item | Reset]:
    """Items and resets of a unit file whose first line is `first`."""
    section = ""
    for row in _rows(text, first):
        content = row.text.strip()
        if content.startswith(("#", ";")):
            yield from restate(scan(content, row.line), State.COMMENTED)
            continue
        head = re.match(r"\[([^\]]*)\]", content)
        if head is not None:
            section = head[1]
            continue
        entry = _ENTRY.match(row.text)
        if entry is None:
            continue
        key, value = entry[1], entry[2]
        offset = entry.start(2)
        if key in ("Environment", "DefaultEnvironment") and not value.strip():
            yield Reset(row.line)
        items = _entry(key, value, offset, row, context)
        if section not in _SECTIONS:
            items = _misplaced(items, section)
        yield from items


def _misplaced(items: Iterator[Item], section: str) -> Iterator[Item]:
    why = f"systemd ignores it in [{section}]"
    for item in items:
        if isinstance(item, Found) and item.state is State.SET:
            yield from refused(item.name, item.value, item.lines, why)


def _rows(text: str, first: int) -> Iterator[_Row]:
    """Logical lines: a backslash continues, comment lines inside are stepped over."""
    row: _Row | None = None
    for at, raw in enumerate(text.split("\n")):
        line = first + at
        content = raw.rstrip("\r \t")
        if row is not None and content.lstrip().startswith(("#", ";")):
            yield _Row(content, line, [(0, line)])
            continue
        if row is None:
            row = _Row("", line, [])
        row.starts.append((len(row.text), line))
        if content.endswith("\\"):
            row.text += content[:-1] + " "
            continue
        row.text += content
        yield row
        row = None
    if row is not None:
        yield row


def _entry(key: str, value: str, offset: int, row: _Row, context: Context) -> Iterator[Item]:
    if key in ("Environment", "DefaultEnvironment"):
        yield from _environment(value, offset, row)
    elif key == "PassEnvironment":
        for name in NAME.findall(value):
            yield Found(name, State.UNRESOLVED, (row.line,), from_caller=True)
    elif key == "UnsetEnvironment":
        for name in re.findall(r"(?<![A-Z_])NCCL_[A-Z0-9_]+", value):
            yield Found(name, State.UNSET, (row.line,))
    elif key == "EnvironmentFile":
        yield Elsewhere(value.strip().removeprefix("-"), row.line)
    elif (key.startswith("Exec") or key == "PodmanArgs") and "NCCL_" in value:
        yield from _exec(key, value, offset, row, context)


def words(text: str) -> list[tuple[int, str]] | None:
    """(offset, word) as systemd splits a line: quotes anywhere are removed, C escapes undone.
    None if a quote never ends."""
    answer: list[tuple[int, str]] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start, parts, quote = at, [], ""
        while at < len(text) and (quote or not text[at].isspace()):
            char = text[at]
            if char == "\\" and at + 1 < len(text):
                parts.append(_ESCAPES.get(text[at + 1], "\\" + text[at + 1]))
                at += 1
            elif quote:
                if char == quote:
                    quote = ""
                else:
                    parts.append(char)
            elif char in "\"'":
                quote = char
            else:
                parts.append(char)
            at += 1
        if quote:
            return None
        answer.append((start, "".join(parts)))
    return answer


def _environment(value: str, offset: int, row: _Row) -> Iterator[Item]:
    cut = words(value)
    if cut is None:
        why = "a quote never ends: systemd ignores the whole line"
        for one in scan(value.replace('"', " ").replace("'", " "), row.line):
            yield from refused(one.name, one.value, (row.line,), why)
        return
    for index, (start, word) in enumerate(cut):
        name, equals, text = word.partition("=")
        line = row.line_at(offset + start)
        if not NAME.fullmatch(name):
            continue
        if not equals:
            rest = " ".join(w for _, w in cut[index + 1 : index + 3])
            found = _BROKEN.match(f"{name} {rest}")
            if found is not None and rest.startswith("="):
                why = "blanks around =: systemd ignores each of the words"
                yield from refused(name, found[2], (line,), why)
            continue
        if _SPECIFIER.search(text.replace("%%", "")):
            yield Found(name, State.UNRESOLVED, (line,), raw=text)
        else:
            yield Found(name, State.SET, (line,), value=text.replace("%%", "%"))


def _exec(key: str, value: str, offset: int, row: _Row, context: Context) -> Iterator[Item]:
    """An Exec line: words as systemd cuts them; $NAME and specifiers stay unresolved."""
    cut = words(value if key == "PodmanArgs" else value.lstrip("@-:+!"))
    if not cut:
        return
    parts = []
    for start, text in cut:
        word = Word(row.line_at(offset + start))
        for piece in re.split(r"(\$\{[^}]*\}|(?<!\$)\$[A-Za-z_]\w*|(?<!%)%[A-Za-z])", text):
            kind = "expansion" if piece[:1] in ("$", "%") and len(piece) > 1 else "quoted"
            if piece:
                word.pieces.append(Piece(piece.replace("$$", "$").replace("%%", "%"), kind))
        parts.append(word)
    if parts[0].text.startswith("-"):
        parts.insert(0, Word(row.line, [Piece("podman", "quoted")]))
    if PAIR.match(parts[0].text):
        name, _, text = parts[0].text.partition("=")
        why = "systemd takes it for the program's path: the unit fails to start"
        yield lost(name, text, (parts[0].line,), why)
        yield Problem(Severity.ERROR, (name,), (parts[0].line,), why)
        return
    yield from Script(context).read_words(parts)
