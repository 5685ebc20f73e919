"""Reads the Python-like argument lists that servers print: `k=v, ...` and `{'k': v, ...}`.

Tolerant: a value that is no literal (an enum, an object, a masked secret, a cut end) stays
text. Never evaluates anything.
"""

from __future__ import annotations

import ast
import re

_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\[({<]|[\])}>]|[,=:]|[^'"\[\](){}<>,=:]+|['"]"""
)
_OPEN, _CLOSE = "[({<", "])}>"
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$", re.I)
_WORDS: dict[str, object] = {"None": None, "True": True, "False": False, "null": None}
_MAX = 512 * 1024
_MAX_DEPTH = 100  # braces in one value; deeper ones stay text
_MAX_DIGITS = 4000


def assignments(text: str) -> dict[str, object]:
    """`a=1, b='x', c=Foo(d=2)` up to the closing bracket that was not opened, or the end."""
    return _pairs(text, "=")


def mapping(text: str) -> dict[str, object]:
    """`{'a': 1, 'b': {'c': None}}`, also cut off; {} where the text is no mapping."""
    return _pairs(text[1:], ":") if text.startswith("{") else {}


def call(text: str) -> dict[str, object]:
    """The arguments of a printed object such as `SpeculativeConfig(method='eagle3')`."""
    _, bracket, rest = text.partition("(")
    return assignments(rest) if bracket else {}


def _pairs(text: str, separator: str) -> dict[str, object]:
    found: dict[str, object] = {}
    depth, start, cut, end = 0, 0, -1, min(len(text), _MAX)
    for m in _TOKEN.finditer(text, 0, end):
        token = m[0]
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            # ">" also ends arrows and comparisons; only a bracket that was opened closes.
            if depth == 0 and token != ">":
                end = m.start()
                break
            depth = max(0, depth - 1)
        elif depth == 0 and token == separator and cut < 0:
            cut = m.start()
        elif depth == 0 and token == ",":
            _take(found, text, start, cut, m.start())
            start, cut = m.end(), -1
    _take(found, text, start, cut, end)
    return found


def _take(found: dict[str, object], text: str, start: int, cut: int, end: int) -> None:
    if cut > start:
        key = text[start:cut].strip().strip("'\"")
        if key:
            found[key] = value(text[cut + 1 : end].strip())


def value(text: str) -> object:
    """A literal as Python reads it, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _PLAIN.match(text):
        if re.search(r"[.eE]", text):
            return float(text)
        return int(text) if len(text) < _MAX_DIGITS else text
    if text.startswith("{") and text.count("{") < _MAX_DEPTH:
        return mapping(text)
    if text[:1] in "'\"[(" and len(text) < 65536:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return text
    return text
