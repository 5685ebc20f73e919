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

UNSEEN_RANGES = (
    *((0x00, 0x08), (0x0A, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C)),
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E)),
    *((0x2060, 0x206F), (0x3164, 0x3164), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
    *((0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A)),
    (0xE0000, 0xE0FFF),
)
"""Characters that act, hide or reorder instead of showing; C0 (but TAB), DEL and C1 among them."""

UNSEEN = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in UNSEEN_RANGES)
"""The same as the inside of a character class."""

UNSEEN_BYTES = (
    rb"[\x00-\x08\x0b-\x1f\x7f\xc2\xcd\xd8\xe1-\xe3\xef\xf0\xf3](?:(?<=[\x00-\x7f])"
    rb"|(?<=\xc2)[\x80-\x9f\xad]|(?<=\xcd)\x8f|(?<=\xd8)\x9c"
    rb"|(?<=\xe1)(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"
    rb"|(?<=\xe2)(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])|(?<=\xe3)\x85\xa4"
    rb"|(?<=\xef)(?:\xbb\xbf|\xbe\xa0|\xbf[\xb0-\xbb\xbe\xbf])"
    rb"|(?<=\xf0)(?:\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])|(?<=\xf3)\xa0)"
)
"""The same in UTF-8 (but the line feed), as a pattern over many lines at once."""

# C0 inside a sequence is executed and the sequence goes on; only CAN, SUB and ESC end it. No
# sequence holds the ESC of another, so that each kind can be found on its own, strings first.
_C0 = r"\x00-\x17\x19\x1c-\x1f\x7f"
_ST = r"(?:\x1b\\|[\x9c\x18\x1a])?"
WIRE_SGR = re.compile(r"(?:\x1b\[|\x9b)[0-9;:]{0,256}m")
"""A colour code as a program sends it; a longer one is no colour code but an attack."""

STRING = re.compile(
    rf"(?:\x1b[{_C0}]*+(?P<kind>[]PX^_k])|(?P<c1>[\x9d\x90\x98\x9e\x9f]))"
    rf"(?:(?<=[]\x9d])(?:[^\x07\x18\x1a\x1b\x9c]++|\x1b(?!\\))*+(?:\x07|{_ST})"
    rf"|(?<![]\x9d])(?:[^\x18\x1a\x1b\x9c]++|\x1b(?!\\))*+{_ST})"
)
"""A control string with its payload, ended or not; groups kind (7-bit) and c1 tell which."""

CSI = re.compile(rf"(?!{WIRE_SGR.pattern})(?:\x1b[{_C0}]*+\[|\x9b)(?:\[[A-E]|[{_C0} -?]*+[@-~]?)")
"""A control sequence, ended or not, that is no colour code."""

ESC = re.compile(rf"\x1b(?!\[)(?:[{_C0}]*+(?:[ -/][{_C0} -/]*+[0-~]?|[NO][ -~]?|[0-~]))?")
"""Any other escape sequence, ended or not, in text that holds no strings and no CSI."""

RUN = re.compile(f"([{UNSEEN}])\\1{{3,}}")
"""Four or more of the same unseen character."""

SGR = re.compile("\x1b\\[([0-9;]*)m")
"""A colour code as it stands in cleaned text; group 1 holds its codes."""

_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 21: "underline", 7: "reverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}
_KEPT = frozenset(
    code
    for first, last in ((0, 4), (7, 7), (9, 9), (21, 37), (39, 47), (49, 49), (90, 97), (100, 107))
    for code in range(first, last + 1)
)


@lru_cache(maxsize=1024)
def canonical(sequence: str) -> str:
    """The codes of what WIRE_SGR found (ECMA-48 8.3.117) in canonical form: "1;31", "" if none."""
    return ";".join(_codes(sequence[:-1].lstrip("\x1b[\x9b")))


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


@lru_cache(maxsize=1024)
def after(style: Style, codes: str) -> Style:
    """The look that canonical codes (as in SGR group 1) lead to from a given one."""
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


def _extended(numbers: Iterator[int]) -> Colour:
    if next(numbers) == 5:
        return next(numbers)
    return next(numbers), next(numbers), next(numbers)


def _palette(offset: int) -> int | None:
    if offset == 9:
        return None
    return offset if offset < 8 else offset - 52
