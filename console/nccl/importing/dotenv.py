"""Reads .env files as compose and python-dotenv do, plain KEY=VALUE listings as printed by env,
and says where docker run --env-file would differ. Expands nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.nccl.finding import Severity
from console.nccl.importing.found import (
    NAME,
    PLACEHOLDER,
    Context,
    Found,
    Item,
    Problem,
    State,
    refused,
    restate,
)
from console.nccl.importing.prose import scan
from console.nccl.importing.shell_text import default_of

_ENTRY = re.compile(r"\s*(export\s+)?([\"']?)(NCCL_[A-Z0-9_]+)\2(\s*)([=:])([ \t]*)(.*)", re.DOTALL)
_LED = re.compile(r"\s*(set|setenv|declare -x|env|Environment=?)\s+(NCCL_[A-Z0-9_]+)[= ](.*)")
_LONE = re.compile(r"\s*(export\s+)?(NCCL_[A-Z0-9_]+)\s*")
_EXPANDS = re.compile(r"\$[A-Za-z_{(]")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "'": "'", "$": "$"}


def read_dotenv(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of a .env file; a quoted value may go over several lines."""
    rows = text.split("\n")
    at = 0
    while at < len(rows):
        row = rows[at].removesuffix("\r")
        line = first + at
        at += 1
        if "NCCL_" not in row:
            continue
        if row.lstrip().startswith("#"):
            yield from restate(scan(row, line), State.COMMENTED)
            continue
        lone = _LONE.fullmatch(row)
        entry = _ENTRY.match(row)
        if lone is not None:
            yield Found(lone[2], State.UNRESOLVED, (line,), from_caller=True)
        elif entry is not None:
            value = entry[7]
            if value[:1] in ("'", '"') and not _closed(value):
                more = _rest_of(rows, at, value[0])
                value += "".join("\n" + part for part in more)
                at += len(more)
                if not more:
                    why = "a quote never ends: compose refuses the file, dotenv skips the line"
                    yield from refused(entry[3], value[1:], (line,), why)
                    continue
            yield from _entry(entry, value, line, context)
        elif (led := _LED.match(row)) is not None:
            why = f"{led[1]} means nothing here: compose refuses the file, dotenv skips the line"
            yield from refused(led[2], led[3].strip(), (line,), why)


def _closed(value: str) -> bool:
    return re.match(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", value) is not None


def _rest_of(rows: list[str], at: int, quote: str) -> list[str]:
    """Further lines of a value whose quote is still open; none if it never closes nearby."""
    for stop in range(at, min(at + 50, len(rows))):
        if quote in rows[stop]:
            return rows[at : stop + 1]
    return []


def _entry(entry: re.Match[str], text: str, line: int, context: Context) -> Iterator[Item]:
    name = entry[3]
    value, literal = _value(text)
    bare = text[:1] not in ("'", '"')
    holds_place = bare and ("`" in value or PLACEHOLDER.fullmatch(value))
    if holds_place or (not literal and _EXPANDS.search(value)):
        yield Found(
            name,
            State.UNRESOLVED,
            (line,),
            raw=value,
            default=default_of(value),
            target=context.target,
        )
    else:
        yield Found(name, State.SET, (line,), value=value, target=context.target)
    if entry[1] or entry[4] or entry[2]:
        why = "docker run --env-file refuses names with blanks or `export`"
        yield Problem(Severity.NOTE, (name,), (line,), why)
    elif text != value:
        shown = text.strip()
        why = f"docker run --env-file keeps quotes and comments: it would pass {shown!r}"
        yield Problem(Severity.NOTE, (name,), (line,), why, reads_as=value)


def _value(text: str) -> tuple[str, bool]:
    """(value, whether nothing in it is expanded)."""
    single = re.match(r"'([^']*)'", text)
    if single is not None:
        return single[1], True
    double = re.match(r"\"((?:[^\"\\]|\\.)*)\"", text, re.DOTALL)
    if double is not None:
        value = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), double[1], flags=re.DOTALL)
        return value, "\\$" in double[1]
    cut = re.split(r"(?:^|\s)#", text, maxsplit=1)
    value = cut[0].strip()
    return value, False


def read_listing(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of what env, printenv or `tr '\\0' '\\n'` printed: values are literal."""
    for at, row in enumerate(text.split("\n")):
        if "NCCL_" not in row:
            continue
        name, equals, value = row.partition("=")
        if equals and NAME.fullmatch(name.strip()) and name == name.strip():
            yield Found(
                name,
                State.SET,
                (first + at,),
                value=value.removesuffix("\r"),
                target=context.target,
            )
