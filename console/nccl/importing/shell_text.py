"""Words, operators and comments of shell text as values, and where an expansion ends. Nothing
is expanded: an expansion is a stretch of text that stays as written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_EXPANSION = 4096
"""Longest expansion that is matched; a longer one is taken as plain text."""

_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])")
_VALUE = r"(?P<value>'[^']{0,200}'|\"[^\"]{0,200}\"|[\w.-]{1,200})"
_TEMPLATES = (
    re.compile(r"\{\{[^{}]{0,300}\|\s*(?:default|d)\(\s*" + _VALUE + r"[^{}]{0,100}\}\}"),
    re.compile(r"\{\{[^{}]{0,300}\|\s*default\s+" + _VALUE + r"[^{}]{0,100}\}\}"),
    re.compile(r"\{\{-?\s*default\s+" + _VALUE + r"[^{}]{0,300}\}\}"),
)
_DEFAULT = re.compile(r"\$\{(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+)(?::?[-=])(.*)\}", re.DOTALL)


@dataclass(slots=True)
class Piece:
    """Part of a word: `kind` is plain, quoted or expansion."""

    text: str
    kind: str


@dataclass(slots=True)
class Word:
    """A word with quotes removed; `text` keeps expansions as written."""

    line: int
    pieces: list[Piece] = field(default_factory=list)
    array: bool = False

    @property
    def text(self) -> str:
        """The word without quotes, expansions verbatim."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def resolved(self) -> bool:
        """True where nothing needs an expansion."""
        return all(piece.kind != "expansion" for piece in self.pieces)

    @property
    def quoted(self) -> bool:
        """True where any part stood in quotes or after a backslash."""
        return any(piece.kind == "quoted" for piece in self.pieces)

    def after(self, count: int) -> Word:
        """The word without its first `count` characters."""
        rest: list[Piece] = []
        for piece in self.pieces:
            if count >= len(piece.text):
                count -= len(piece.text)
                if piece.kind == "quoted" and not piece.text:
                    rest.append(piece)
                continue
            rest.append(Piece(piece.text[count:], piece.kind))
            count = 0
        return Word(self.line, rest)

    def default(self) -> str | None:
        """The text with every ${X:-default} replaced by its default, None where one has none."""
        parts = []
        for piece in self.pieces:
            part = default_of(piece.text) if piece.kind == "expansion" else piece.text
            if part is None:
                return None
            parts.append(part)
        return "".join(parts)


def default_of(text: str) -> str | None:
    """The default inside ${X:-d}, ${X-d}, ${X:=d}, ${X=d}, nested ones followed, or inside a
    template's default('d'); else None."""
    for pattern in _TEMPLATES:
        template = pattern.fullmatch(text.strip())
        if template is not None:
            return template["value"].strip("\"'")
    found = _DEFAULT.fullmatch(text)
    if found is None:
        return None
    inner = found[1].strip("\"'")
    if "$" not in inner and "`" not in inner:
        return inner
    return default_of(inner)


@dataclass(slots=True)
class Operator:
    """An operator or a line's end."""

    text: str
    line: int


@dataclass(slots=True)
class Comment:
    """A comment; `tears` if it cut a command that a backslash had continued."""

    text: str
    line: int
    tears: bool = False


@dataclass(slots=True)
class HereDoc:
    """The body of a here-document; `verbatim` if its delimiter was quoted."""

    body: str
    line: int
    verbatim: bool


Token = Word | Operator | Comment | HereDoc


def expansion_end(text: str, at: int) -> int:
    """End of the expansion that starts at `at` with $ or a backtick; `at` itself if none does."""
    if text[at] == "`":
        stop = text.find("`", at + 1, at + MAX_EXPANSION)
        return at if stop < 0 else stop + 1
    if text.startswith("${", at):
        stop = closing(text, at + 1, "{", "}")
    elif text.startswith("$(", at):
        stop = closing(text, at + 1, "(", ")")
    elif text.startswith("$[", at):
        stop = closing(text, at + 1, "[", "]")
    else:
        found = _VARIABLE.match(text, at)
        return found.end() if found is not None else at
    return stop if stop > 0 else at


def closing(text: str, at: int, left: str, right: str) -> int:
    """Position after the bracket that closes the one at `at`, quotes respected; -1 if none
    within MAX_EXPANSION characters."""
    depth = 0
    end = min(len(text), at + MAX_EXPANSION)
    while at < end:
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "'":
            stop = text.find("'", at + 1, end)
            at = stop if stop > 0 else at
        elif char == left:
            depth += 1
        elif char == right:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return -1
