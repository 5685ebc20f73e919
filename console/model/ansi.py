"""Terminal sequences as data: what one looks like in text, and which colour codes survive.

Owns the grammar of escape sequences, the class of characters nobody can see, and the one canonical
form of a colour code (SGR). It never decides what to show for them and never emits anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

Colour = int | tuple[int, int, int] | None
"""A palette index 0-255, red/green/blue 0-255 each, or None for the terminal's own colour."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a stretch of text looks; the default is the terminal's own look."""

    fg: Colour = None
    bg: Colour = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False


RESET = "\x1b[0m"
DEFAULT = Style()

# Characters that act, hide or reorder instead of showing; C0 (but TAB), DEL and C1 among them.
UNSEEN = (
    "\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)

UNSEEN_BYTES = (
    rb"[\x00-\x08\x0b-\x1f\x7f\xc2\xcd\xd8\xe1-\xe3\xef\xf0\xf3](?:(?<=[\x00-\x7f])"
    rb"|(?<=\xc2)[\x80-\x9f\xad]|(?<=\xcd)\x8f|(?<=\xd8)\x9c"
    rb"|(?<=\xe1)(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"
    rb"|(?<=\xe2)(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])|(?<=\xe3)\x85\xa4"
    rb"|(?<=\xef)(?:\xbb\xbf|\xbe\xa0|\xbf[\xb0-\xbb\xbe\xbf])"
    rb"|(?<=\xf0)(?:\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])|(?<=\xf3)\xa0)"
)
"""The same characters in UTF-8 (but the line feed), as a pattern over many lines at once."""

# C0 inside a sequence is executed and the sequence goes on; only CAN, SUB and ESC end it.
_C0 = r"\x00-\x17\x19\x1c-\x1f\x7f"
_TEXT_END = r"(?:\x1b\\|[\x9c\x18\x1a])?"
_SEQUENCE = (
    rf"(?P<csi>(?:\x1b[{_C0}]*+\[|\x9b)(?:\[[A-E]|[{_C0} -?]*+[@-~]?))"
    rf"|(?P<osc>(?:\x1b[{_C0}]*+\]|\x9d)(?:[^\x07\x18\x1a\x1b\x9c]++|\x1b(?!\\))*+"
    rf"(?:\x07|{_TEXT_END}))"
    rf"|(?P<text>(?:\x1b[{_C0}]*+[PX^_k]|[\x90\x98\x9e\x9f])"
    rf"(?:[^\x18\x1a\x1b\x9c]++|\x1b(?!\\))*+{_TEXT_END})"
    rf"|(?P<esc>\x1b(?:[{_C0}]*+(?:[ -/][{_C0} -/]*+[0-~]?|[NO][ -~]?|[0-~]))?)"
)
UNSAFE = re.compile(rf"{_SEQUENCE}|(?P<run>(?P<one>[{UNSEEN}])(?P=one)*+)", re.DOTALL)
"""One whole sequence (groups csi, osc, text, esc) or a run of one unseen character (run, one)."""

SGR = re.compile("\x1b\\[([0-9;]*)m")
"""A colour code as it stands in cleaned text; group 1 holds its codes."""

_WIRE_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]*)m")

_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 21: "underline", 7: "reverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}
_KEPT = frozenset(
    code
    for first, last in ((0, 4), (7, 7), (9, 9), (21, 37), (39, 47), (49, 49), (90, 97), (100, 107))
    for code in range(first, last + 1)
)


def canonical(sequence: str) -> str | None:
    """The codes of a colour sequence in canonical form ("1;31", "" if none may stay).

    None if the sequence is no plain SGR (ECMA-48 8.3.117), whatever else it may be.
    """
    # Programs use a handful of colours; only short sequences are worth remembering.
    return _short(sequence) if len(sequence) <= 24 else _canonical(sequence)


def _canonical(sequence: str) -> str | None:
    found = _WIRE_SGR.fullmatch(sequence)
    return None if found is None else ";".join(_codes(found[1]))


_short = lru_cache(maxsize=1024)(_canonical)


def _codes(body: str) -> Iterator[str]:
    fields = iter(body.split(";"))
    for field in fields:
        if ":" in field:
            yield from _colon(field.split(":"))
            continue
        code = _number(field)
        if code in (38, 48, 58):
            # 58, the colour of underlines, is read only so that its arguments are not codes.
            arguments = _colour_arguments(fields)
            if arguments is None:
                return
            if code != 58 and all(int(part) <= 255 for part in arguments[1:]):
                yield ";".join([str(code), *arguments])
        elif code in _KEPT:
            yield str(code)


def _colour_arguments(fields: Iterator[str]) -> list[str] | None:
    mode = _number(next(fields, "0"))
    count = {5: 1, 2: 3}.get(mode)
    if count is None:
        return None
    values = [_number(field) for _, field in zip(range(count), fields, strict=False)]
    if len(values) < count:
        return None
    return [str(mode), *map(str, values)]


def _colon(parts: list[str]) -> Iterator[str]:
    code = _number(parts[0])
    if code == 4 and len(parts) == 2:
        yield "4" if _number(parts[1]) else "24"
    if code not in (38, 48) or len(parts) < 3:
        return
    mode = _number(parts[1])
    # 38:2:space:r:g:b names a colour space; the form without one is common and tolerated.
    rest = parts[3:6] if mode == 2 and len(parts) > 5 else parts[2:]
    values = [_number(part) for part in rest]
    if len(values) == {5: 1, 2: 3}.get(mode) and max(values) <= 255:
        yield ";".join(map(str, [code, mode, *values]))


def _number(field: str) -> int:
    # Longer than four digits is out of every range, and huge digit strings are slow to convert.
    if len(field) > 4:
        field = field.lstrip("0")
    if len(field) > 4 or ":" in field:
        return 9999
    return int(field or "0")


def after(style: Style, codes: str) -> Style:
    """The look that canonical codes (as in SGR group 1) lead to from a given one."""
    return _after_short(style, codes) if len(codes) <= 24 else _after(style, codes)


def _after(style: Style, codes: str) -> Style:
    numbers = iter([int(code or "0") for code in codes.split(";")])
    for code in numbers:
        if code == 0:
            style = DEFAULT
        elif code in _ON:
            style = replace(style, **{_ON[code]: True})
        elif code in _OFF:
            style = replace(style, **dict.fromkeys(_OFF[code], False))
        elif code in (38, 48):
            colour = _extended(numbers)
            style = replace(style, fg=colour) if code == 38 else replace(style, bg=colour)
        elif 30 <= code <= 39 or 90 <= code <= 97:
            style = replace(style, fg=_palette(code - 30))
        elif 40 <= code <= 49 or 100 <= code <= 107:
            style = replace(style, bg=_palette(code - 40))
    return style


_after_short = lru_cache(maxsize=1024)(_after)


def _extended(numbers: Iterator[int]) -> Colour:
    if next(numbers) == 5:
        return next(numbers)
    return next(numbers), next(numbers), next(numbers)


def _palette(offset: int) -> int | None:
    if offset == 9:
        return None
    return offset if offset < 8 else offset - 52
