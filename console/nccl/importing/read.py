"""The way in: bytes or text of one source become what it says about NCCL's variables. Never
raises on any content, never runs or expands anything, and says how much it left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from console.nccl.catalogue import lookup
from console.nccl.finding import Severity
from console.nccl.importing.detect import FORMATS, detect
from console.nccl.importing.environ import read_environ
from console.nccl.importing.found import (
    MAX_FOUND,
    Context,
    Elsewhere,
    Found,
    Imported,
    Problem,
    State,
)
from console.nccl.importing.grammars import read_all
from console.nccl.importing.log import log_version
from console.nccl.importing.systemd import Reset

_PREFIXES = ("NCLL", "NCC", "NCL", "NCCLL", "NCCCL", "NNCCL", "CNCL", "NCCI", "NCLC")
"""What fingers make of NCCL."""

_MOST_MISSPELT = 200
_ORDER = {"markdown": "", "diff": "", "log": "", "json": "", "nccl.conf": "first"}
_DIALECTS = (
    (r"\.(bat|cmd)$", "cmd"),
    (r"\.fish$", "fish"),
    (r"\.t?csh$", "csh"),
    (r"\.ps1$", "ps"),
)


def import_source(data: bytes | str, file: str, kind: str = "") -> Imported:
    """Everything `data` says about NCCL's variables. `file` names the origin and, unless `kind`
    (one of FORMATS) is given, helps to tell the format. Raises ValueError for an unknown kind."""
    if kind and kind not in FORMATS:
        raise ValueError(f"no such format: {kind}; known are {', '.join(FORMATS)}")
    raw = data if isinstance(data, bytes) else None
    if isinstance(data, str):
        text = data
    elif data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raw, text = None, data.decode("utf-16", "replace")
    else:
        text = data.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff")
    kind = kind or detect(file, text, raw)
    if kind == "proc-environ":
        block = raw if raw is not None else text.encode("utf-8", "surrogateescape")
        return read_environ(block, file)
    dialect = next((d for pattern, d in _DIALECTS if re.search(pattern, file, re.I)), "sh")
    return _collect(text, file, kind, Context(dialect=dialect))


def _collect(text: str, file: str, kind: str, context: Context) -> Imported:
    found: list[Found] = []
    problems: list[Problem] = []
    elsewhere: list[Elsewhere] = []
    resets: list[int] = []
    dropped = 0
    for item in read_all(kind, text, 1, context):
        if len(found) >= MAX_FOUND or len(problems) >= MAX_FOUND:
            dropped += 1
        elif isinstance(item, Found):
            found.append(item)
        elif isinstance(item, Problem):
            problems.append(item)
        elif isinstance(item, Reset):
            resets.append(item.line)
            found = [_cleared(one, item.line) for one in found]
        else:
            elsewhere.append(item)
    problems.extend(_misspelt(text))
    return Imported(
        file,
        kind,
        tuple(found),
        tuple(problems),
        tuple(elsewhere),
        order=_ORDER.get(kind, "last"),
        version=log_version(text) if kind == "log" else None,
        reset_lines=tuple(resets),
        dropped=dropped,
    )


def _misspelt(text: str) -> Iterator[Problem]:
    """Names whose prefix alone is wrong: no loader and no library ever says a word about them."""
    wrong = "|".join(prefix for prefix in _PREFIXES if f"{prefix}_" in text)
    pattern = rf"(?<![A-Za-z0-9_])({wrong})_([A-Z0-9_]+)(?==)"
    for found in islice(re.finditer(pattern, text) if wrong else (), _MOST_MISSPELT):
        meant = f"NCCL_{found[2]}"
        if lookup(meant) is not None:
            line = text.count("\n", 0, found.start()) + 1
            why = f"no variable of NCCL: {meant} is meant?"
            yield Problem(Severity.WARNING, (f"{found[1]}_{found[2]}",), (line,), why)


def _cleared(one: Found, line: int) -> Found:
    """What an empty Environment= takes back, if it came from such a line before."""
    if one.state not in (State.SET, State.UNRESOLVED) or one.scope:
        return one
    why = f"cleared by the empty assignment in line {line}"
    value = one.value or one.raw
    return Found(one.name, State.LOST, one.lines, value=value, why=why)
