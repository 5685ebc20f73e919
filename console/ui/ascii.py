"""The screen in ASCII: every other character as one that is as wide, at the last moment.

Nothing that draws knows of it. What has no likeness becomes a question mark for each cell.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from console.model.span import width

_LIKE = {
    "─": "-", "━": "=", "┄": ".", "│": "|", "┃": "|", "┊": ":", "╋": "+", "┼": "+", "┤": "|",
    "├": "|", "┬": "+", "┴": "+", "└": "+", "┘": "+", "┌": "+", "┐": "+", "╭": "+", "╮": "+",
    "╰": "+", "╯": "+", "▔": "-", "▁": "_", "▂": ".", "▃": ".", "▄": "-", "▅": "=", "▆": "*",
    "▇": "#", "█": "#", "▊": "#", "▎": "|", "▌": "|", "▐": "|", "▀": "-", "▶": ">", "▸": ">",
    "▹": ">", "◀": "<", "▲": "^", "▼": "v", "▾": "v", "◆": "*", "◇": "=", "●": "@", "○": "o",
    "◔": "%", "◐": "%", "◑": "%", "◕": "%", "◌": ":", "◍": "o", "✓": "+", "✗": "x", "×": "x",
    "·": ".", "•": "*", "…": ">", "–": "-", "—": "-", "≈": "~", "±": "+", "≤": "<", "≥": ">",
    "→": ">", "←": "<", "↑": "^", "↓": "v", "↵": "<", "⇞": "^", "µ": "u", "“": '"', "”": '"',
    "‘": "'", "’": "'", "\u00a0": " ", "⭘": "o", "‖": "=", "⏵": ">", "▏": "|", "▕": "|",
    "▽": "v", "■": "#", "◗": ")", "≠": "/", "║": "H", "░": ".", "▒": ":", "▪": "*", "↶": "<",
    "🔎": "/ ", "⌫": "<", "»": ">", "°": "'", "Δ": "d",
}  # fmt: skip


_NO_DOT, _ALL_DOTS = "\u2800", "\u28ff"
"""Of braille, which lines are drawn with."""


class Ascii(LineFilter):
    """Draws in ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """The same cells in ASCII."""
        return [
            segment
            if segment.text.isascii()
            else Segment(ascii_text(segment.text), segment.style, segment.control)
            for segment in segments
        ]


def ascii_text(text: str) -> str:
    """Text of the same width in ASCII."""
    return "".join(char if char.isascii() else _like(char) for char in text)


def _like(char: str) -> str:
    if _NO_DOT <= char <= _ALL_DOTS:
        return " " if char == _NO_DOT else "."
    return _LIKE.get(char, "?" * width(char))
