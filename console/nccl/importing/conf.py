"""Reads nccl.conf as NCCL does: split at the first =, # in column 1 only, nothing trimmed, no
quotes, no export; the first line of a name wins. Carriage returns vanish from 2.30 on only."""

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

MAX_LINE = 4095
MAX_PART = 1023
"""Characters NCCL reads of a line, and of a name or value."""

_LED = re.compile(r"(\S+)\s+(NCCL_[A-Z0-9_]+)\s*")


def read_conf(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of a conf file; `lost` where another name is set than the one meant."""
    seen: dict[str, int] = {}
    for at, row in enumerate(text.split("\n")):
        line = first + at
        if "NCCL_" not in row:
            continue
        if row.startswith("#") or row.lstrip().startswith(("#", ";")):
            yield from restate(scan(row, line), State.COMMENTED)
            continue
        name, equals, value = row.partition("=")
        if equals:
            yield from _entry(name, value, line, context, seen)


def _entry(
    name: str, value: str, line: int, context: Context, seen: dict[str, int]
) -> Iterator[Item]:
    bare = name.strip()
    led = _LED.fullmatch(bare)
    if NAME.fullmatch(name):
        # Only a source that writes the file can still fill in a template.
        holed = bool(context.target) and ("{{" in value or PLACEHOLDER.fullmatch(value))
        state = State.UNRESOLVED if holed else State.SET
        raw = value if holed else ""
        yield Found(name, state, (line,), "" if holed else value, raw, target=context.target)
        if name in seen:
            why = f"the first line of a name wins: line {seen[name]} does, this one is not used"
            yield Problem(Severity.WARNING, (name,), (seen[name], line), why)
        seen.setdefault(name, line)
        if len(value) > MAX_PART:
            why = f"NCCL reads {MAX_PART} characters of a value"
            yield Problem(Severity.WARNING, (name,), (line,), why)
    elif led is not None:
        why = f"no {led[1]} in a conf file: the variable set is called {name!r}"
        yield from refused(led[2], value.strip(), (line,), why)
    elif NAME.fullmatch(bare):
        why = f"conf files do not trim: the variable set is called {name!r}"
        yield from refused(bare, value.strip(), (line,), why)
