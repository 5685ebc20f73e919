"""Reads shell histories: bash with numbers or time lines, zsh with times, fish's own YAML.
Each entry is a command line of its own; none is run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.nccl.importing.found import Context, Item
from console.nccl.importing.shell import Script

_HEAD = re.compile(
    r": \d{9,}:\d+;"
    r"|- cmd: "
    r"|\s*\d{1,7}\*?\s+(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?\]?\s+|\d\d/\d\d/\d\d \S+\s+)?"
    r"|(?:\([\w.-]{1,64}\)\s{0,4})?[\w.-]{1,64}@[\w.-]{1,64}[:\s][^$#\n]{0,80}[$#] "
    r"|[$%❯] "
)
_SKIPPED = re.compile(r"#\d{9,11}\s*$|\s+(when|paths): |\s+- ")


def read_history(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of a history, in its order."""
    script = Script(context)
    rows = text.split("\n")
    at = 0
    while at < len(rows):
        row = rows[at].removesuffix("\r")
        line = first + at
        at += 1
        if "NCCL_" not in row and not row.endswith("\\"):
            continue
        if _SKIPPED.match(row):
            continue
        head = _HEAD.match(row)
        command = row[head.end() :] if head is not None else row
        if head is not None and head[0] == "- cmd: ":
            command = command.replace("\\n", "\n").replace("\\\\", "\\")
        while command.endswith("\\") and at < len(rows):
            command += "\n" + rows[at].removesuffix("\r")
            at += 1
        if "NCCL_" in command:
            script.read_entry(command, line)
    yield from script.finish()
