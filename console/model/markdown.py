"""Foreign text in Markdown: quoted so that no markup of it is obeyed. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_TICKS = re.compile(r"`+")


def quoted(text: str) -> str:
    """One line of text, every sign of markup made harmless, in a table's cell too."""
    return _MARKUP.sub(r"\\\1", text)


def fenced(lines: Sequence[str]) -> list[str]:
    """A block of literal lines, its fence longer than any in them."""
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *lines, fence]
