"""The topology of a host as text: who reaches whom over what, and who reads whose memory.

Owns the form of both matrices, the same on a screen and in a script's output. Words stay as
nvidia-smi prints them.
"""

from __future__ import annotations

from collections.abc import Mapping

from console.engines.topology import meaning
from console.model.number import whole
from console.stream.fact import Pairs
from console.stream.host_events import GpusJoined

WAYS = ("SYS", "NODE", "PHB", "PXB", "PIX")
"""From the longest way between two GPUs to the shortest."""


def worst(joined: GpusJoined) -> str:
    """The word of the longest way between any two."""
    words = [str(word) for _, word in joined.links]
    return next((way for way in WAYS if way in words), words[0] if words else "")


def by_nvlink(joined: GpusJoined) -> bool:
    """Whether any two are joined by NVLink."""
    return any(word.startswith("NV") for _, word in joined.links)


def apart(joined: GpusJoined) -> tuple[tuple[str, str], ...]:
    """Pairs that cannot read each other's memory, with the word that says why."""
    return tuple((str(pair), str(word)) for pair, word in joined.peers if word != "OK")


def matrix_lines(joined: GpusJoined) -> list[str]:
    """Both matrices, each with its head."""
    lines = [_row("links", _numbers(joined.links)), *_rows(joined.links)]
    if joined.peers:
        lines += [_row("peers", _numbers(joined.peers)), *_rows(joined.peers)]
    return lines


def legend_lines(joined: GpusJoined) -> list[str]:
    """What the words of its matrices mean."""
    words = dict.fromkeys(str(word) for _, word in (*joined.links, *joined.peers))
    return [f"{word}: {told}" for word in words if (told := meaning(word))]


def _numbers(pairs: Pairs) -> list[str]:
    named = {whole(one) for pair, _ in pairs for one in pair.split("-")}
    found = {number for number in named if number is not None}
    return [f"GPU{n}" for n in sorted(found)]


def _rows(pairs: Pairs) -> list[str]:
    words: Mapping[str, str] = {str(pair): str(word) for pair, word in pairs}
    names = _numbers(pairs)
    found = []
    for a in names:
        cells = ["X" if a == b else _word(words, a[3:], b[3:]) for b in names]
        found.append(_row(a, cells))
    return found


def _word(words: Mapping[str, str], a: str, b: str) -> str:
    return words.get(f"{a}-{b}") or words.get(f"{b}-{a}") or "?"


def _row(name: str, cells: list[str]) -> str:
    return f"{name:<6}" + "".join(f"{cell:<6}" for cell in cells).rstrip()
