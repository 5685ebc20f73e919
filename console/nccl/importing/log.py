"""Reads what NCCL itself logged: the lines in which it says that the environment set something,
what it refused, and its version. Advice and quotations of settings are no evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.nccl.finding import Severity
from console.nccl.importing.found import Context, Found, Item, Problem, State
from console.nccl.version import Version, parse_version

MAX_LINE = 2000
"""Characters of a log line that are looked at."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m|\[[0-9;]{1,12}m")
_SET = re.compile(r"(?<![A-Z0-9_])(NCCL_[A-Z0-9_]+) set by environment to (.*)$")
_SET_TO = re.compile(r"NCCL INFO .*?(NCCL_[A-Z0-9_]+) set to (.*)$")
_INVALID = re.compile(r"Invalid (NCCL_[A-Z0-9_]+) (-?\d+) \(([^)]*)\)")
_ATTN = re.compile(r"Invalid value (.*) for (NCCL_[A-Z0-9_]+), using default (.*?)\.?$")
_PARSED = re.compile(r"Parsed environment variable (NCCL_[A-Z0-9_]+)=(\S+) to ")
_ASSIGNED = re.compile(
    r"NCCL (?:INFO|WARN) .*?(NCCL_PROXY_CPUSET|NCCL_NET_FORCE_MERGE) ?= ?(\S.*)$"
)
_CONFIG = re.compile(r"Comm config \w+ (?:re)?set to (NCCL_[A-Z0-9_]+)=(\S+)")
_RARER = (_PARSED, _ASSIGNED, _CONFIG, _SET_TO)
_TOKEN = re.compile(
    r"NCCL WARN .*Unrecognized (?:element|prefix) token \"?([^\"]*)\"? when parsing"
)
_WARN = re.compile(r"NCCL WARN (.*)$")
_VERSION = re.compile(r"NCCL version (\d+\.\d+\.\d+)")
_USING = re.compile(r"using nccl==(\d+\.\d+\.\d+)")
_RANK = re.compile(r"([\w.-]+):(\d+):\d+ \[(\d+)\] NCCL")
_TRACE = re.compile(r"\+{1,4} (?:export )?(NCCL_[A-Z0-9_]+)=(\S*)$")
_PRINTED = re.compile(r"(NCCL_[A-Z0-9_]+)=(\S*)$")


def read_log(text: str, first: int, _: Context) -> Iterator[Item]:
    """Items of a log; the scope is the process that wrote the line."""
    for at, row in enumerate(text.split("\n")):
        if "NCCL_" in row or "NCCL WARN" in row:
            yield from _row(_COLOUR.sub("", row[:MAX_LINE]).rstrip("\r "), first + at)


def _row(row: str, line: int) -> Iterator[Item]:
    rank = _RANK.search(row)
    scope = f"{rank[1]}:{rank[2]}" if rank is not None else ""
    found = _SET.search(row)
    if found is not None:
        yield Found(found[1], State.SET, (line,), value=shown(found[2]), scope=scope)
    elif (found := _INVALID.search(row)) is not None:
        yield Found(found[1], State.SET, (line,), value=found[2], scope=scope)
    elif (found := _ATTN.search(row)) is not None:
        yield Found(found[2], State.SET, (line,), value=found[1], scope=scope)
        why = f"NCCL refused it and kept its default {found[3]}"
        yield Problem(Severity.ERROR, (found[2],), (line,), why, reads_as="default")
    elif (found := _first(row)) is not None:
        yield Found(found[1], State.SET, (line,), value=shown(found[2]), scope=scope)
    elif (found := _TOKEN.search(row)) is not None:
        names = ("NCCL_ALGO", "NCCL_PROTO")
        why = f"unknown word {found[1]!r} in a list: NCCL fails to start"
        yield Problem(Severity.ERROR, names, (line,), why)
    elif (found := _TRACE.match(row) or _PRINTED.match(row)) is not None:
        yield Found(found[1], State.SET, (line,), value=found[2], scope=scope)


def _first(row: str) -> re.Match[str] | None:
    """The first of NCCL's rarer ways to say what it read."""
    return next(filter(None, (p.search(row) for p in _RARER)), None)


def shown(text: str) -> str:
    """A logged value: integers end in a full stop that is not theirs."""
    return text[:-1] if re.fullmatch(r"-?\d+\.", text) else text


def log_version(text: str) -> Version | None:
    """The version NCCL (or the engine that loads it) reports, None if it does not."""
    found = _VERSION.search(text) or _USING.search(text)
    return parse_version(found[1]) if found is not None else None
