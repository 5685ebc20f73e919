"""Text that one source writes into a file or feeds to a program (here-documents, echo into a
file, Ansible copies): read by the grammar of where it goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from console.nccl.importing.detect import by_name, fragment_format, is_assignments
from console.nccl.importing.found import MAX_DEPTH, Context, Found, Item, State


def read_written(
    text: str,
    line: int,
    target: str,
    context: Context,
    *,
    open_text: bool = False,
    flat: bool = False,
) -> Iterator[Item]:
    """Items of text that ends up in `target` (empty: judged by the text). `open_text`: the outer
    source expands variables in it; `flat`: all of it stands on one line."""
    if context.depth >= MAX_DEPTH:
        return
    # The grammars nest in each other, so the table of them cannot be imported above.
    from console.nccl.importing.grammars import read_as

    kind = by_name(target) if target else ""
    if kind in ("", "markdown", "log"):
        kind = fragment_format(text)
        # A file of assignments alone that nothing tells more of is one for --env-file and its kin.
        kind = "env" if kind == "shell" and target and is_assignments(text) else kind
    inner = replace(context.deeper(via=""), target=target, loose=not target)
    for item in read_as(kind, text, line, inner):
        if isinstance(item, Found):
            one = replace(item, lines=(line,)) if flat else item
            if target and not target.startswith("x."):
                one = replace(one, target=target)
            elif target:
                one = replace(one, target="")
            if open_text and one.state is State.SET and "$" in one.value:
                one = replace(one, state=State.UNRESOLVED, raw=one.value, value="")
            yield one
        else:
            yield item
