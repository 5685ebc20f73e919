"""Reads unified diffs: the new side by the grammar of its text, and what the minus lines held as
old. Line numbers are those of the diff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from console.nccl.importing.detect import by_name, fragment_format
from console.nccl.importing.found import MAX_DEPTH, Context, Found, Item, State, restate

_HEADER = re.compile(r"(diff |index |--- |\+\+\+ |@@ |new file|deleted file|similarity|rename )")
_NEW_FILE = re.compile(r"(?m)^\+\+\+ (?:b/)?(\S+)")


def read_diff(text: str, first: int, context: Context) -> Iterator[Item]:
    """Items of a diff, old ones in the state OLD, in the order of its lines."""
    if context.depth >= MAX_DEPTH or "NCCL_" not in text:
        return
    # The grammars nest in each other, so the table of them cannot be imported above.
    from console.nccl.importing.grammars import read_as

    rows = text.split("\n")
    after, before = [], []
    minus: set[int] = set()
    for at, row in enumerate(rows):
        if _HEADER.match(row) or row.startswith("\\ "):
            after.append("")
            before.append("")
        elif row.startswith("-"):
            minus.add(first + at)
            after.append("")
            before.append(row[1:])
        elif row.startswith("+"):
            after.append(row[1:])
            before.append("")
        else:
            after.append(row[1:] if row.startswith(" ") else row)
            before.append(after[-1])
    named = _NEW_FILE.search(text)
    kind = by_name(named[1]) if named is not None else ""
    kind = kind or fragment_format("\n".join(a or b for a, b in zip(after, before, strict=True)))
    kind = "markdown" if kind == "diff" else kind
    inner = replace(context, depth=context.depth + 1, loose=context.loose or not named)
    old = [
        item
        for item in read_as(kind, "\n".join(before), first, inner)
        if isinstance(item, Found) and minus & set(item.lines)
    ]
    yield from restate((i for i in old if i.state is not State.COMMENTED), State.OLD)
    yield from read_as(kind, "\n".join(after), first, inner)
