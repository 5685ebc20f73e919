"""Remote text made safe to show: the only place where a `Clean` comes into being.

Owns decoding, the naming of everything a terminal would obey or hide, and the order of the two
safeguards: first the sequences, then the secrets. It never interprets markup and never raises on
any input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop
from itertools import islice
from typing import NewType

from console.model.ansi import (
    CSI,
    DEFAULT,
    ESC,
    RESET,
    RUN,
    SGR,
    STRING,
    UNSEEN,
    UNSEEN_BYTES,
    UNSEEN_RANGES,
    WIRE_SGR,
    Style,
    after,
    canonical,
)
from console.model.mask import Masks
from console.model.secret import SUSPECT

Clean = NewType("Clean", str)

_C0_NAMES = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI"
    " DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
)
_C0 = _C0_NAMES.split()
_STRINGS = {
    introducer: f"\x9d<{name}>"
    for name, introducers in {
        "OSC": "]\x9d",
        "DCS": "P\x90",
        "SOS": "X\x98",
        "PM": "^\x9e",
        "APC": "_\x9f",
        "ESC": "k",
    }.items()
    for introducer in introducers
}
_INTRODUCERS = "\x1b\x90\x98\x9b\x9d\x9e\x9f"
_UNSEEN = re.compile(UNSEEN_BYTES)
_SUSPECT = re.compile(SUSPECT)
_BATCH = 1024
_MAX_SEQUENCES = 50_000


def clean(raw: bytes | str, masks: Masks) -> Clean:
    """One line or value made safe: invalid UTF-8 as U+FFFD, sequences named, secrets masked.

    Canonical colour codes stay, and the text ends in the terminal's own look. Cleaning what is
    clean changes nothing.
    """
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    return Clean(masks.mask(_named(text)))


def clean_lines(raws: Iterable[bytes], masks: Masks) -> list[Clean]:
    """The same as `clean` on each line in turn, for many lines (bytes without their newline)."""
    source = iter(raws)
    cleaned: list[Clean] = []
    while batch := list(islice(source, _BATCH)):
        cleaned += _batch(batch, masks)
    return cleaned


def plain(text: Clean) -> str:
    """The text without its colour codes, for searching, measuring and copying."""
    return SGR.sub("", text) if "\x1b" in text else text


def styled(text: Clean) -> list[tuple[str, Style]]:
    """The text cut where its look changes, colour codes gone, no piece empty."""
    pieces: list[tuple[str, Style]] = []
    style = DEFAULT
    for index, part in enumerate(SGR.split(text)):
        if index % 2:
            style = after(style, part)
        elif part and pieces and pieces[-1][1] == style:
            pieces[-1] = (pieces[-1][0] + part, style)
        elif part:
            pieces.append((part, style))
    return pieces


def _batch(raws: list[bytes], masks: Masks) -> list[Clean]:
    joined = b"\n".join(raws)
    if joined.count(b"\n") != len(raws) - 1:
        return [clean(raw, masks) for raw in raws]
    lines = joined.decode("utf-8", "replace").split("\n")
    known = masks.forms
    due = [*_touched(joined, _first(_UNSEEN), 0), *_touched(joined.lower(), _first(_SUSPECT), 0)]
    for form in known:
        due += _touched(joined, _finder(form), 0)
    heapify(due)
    done = -1
    while due:
        index = heappop(due)
        if index == done:
            continue
        lines[index] = clean(raws[index], masks)
        done = index
        if masks.forms is not known:
            new = set(masks.forms).difference(known)
            known = masks.forms
            end = sum(map(len, raws[: index + 1])) + index + 1
            for form in new:
                due += _touched(joined, _finder(form), end)
            heapify(due)
    return [Clean(line) for line in lines]


def _first(pattern: re.Pattern[bytes]) -> Callable[[bytes, int], int]:
    def first(joined: bytes, start: int) -> int:
        found = pattern.search(joined, start)
        return found.start() if found else -1

    return first


def _finder(form: str) -> Callable[[bytes, int], int]:
    needle = form.encode("utf-8", "replace")
    return lambda joined, start: joined.find(needle, start)


def _touched(joined: bytes, find: Callable[[bytes, int], int], start: int) -> Iterator[int]:
    """Numbers of the lines from byte `start` on (a line's begin) in which something is found."""
    number = joined.count(b"\n", 0, start)
    while (at := find(joined, start)) >= 0:
        number += joined.count(b"\n", start, at)
        yield number
        start = joined.find(b"\n", at) + 1
        if not start:
            return
        number += 1


def _named(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    sequences = sum(map(text.count, _INTRODUCERS))
    if sequences > _MAX_SEQUENCES:
        # No program writes such a line. What it holds is shown, harmless, at a bounded cost.
        text = RUN.sub(_run, text).replace("\x1b", "<ESC>")
    elif sequences:
        text = RUN.sub(_run, _sequences_named(text))
    else:
        text = RUN.sub(_run, text)
    return text.translate(_NAMES) if _SINGLE.search(text) else text


def _sequences_named(text: str) -> str:
    # U+009D before a name keeps a lone ESC from taking the name's first letter for its own; none
    # is left of the text's own, all of them having opened strings.
    text = STRING.sub(lambda found: _STRINGS[found["kind"] or found["c1"]], text)
    text = CSI.sub("\x9d<CSI>", text)
    text = ESC.sub("<ESC>", text).replace("\x9d", "")
    return _coloured(text) if "\x1b" in text or "\x9b" in text else text


def _coloured(text: str) -> str:
    style = DEFAULT

    def rewrite(found: re.Match[str]) -> str:
        nonlocal style
        codes = canonical(found[0])
        if not codes:
            return ""
        style = after(style, codes)
        return f"\x1b[{codes}m"

    text = WIRE_SGR.sub(rewrite, text)
    return text if style == DEFAULT else text + RESET


def _name(code: int) -> str:
    if code < 32:
        return f"<{_C0[code]}>"
    return "<DEL>" if code == 127 else f"<U+{code:04X}>"


def _run(found: re.Match[str]) -> str:
    return f"{_name(ord(found[1]))}×{len(found[0])}"


_SINGLE = re.compile(f"(?!\x1b)[{UNSEEN}]")
_NAMES = {
    code: _name(code)
    for first, last in UNSEEN_RANGES
    for code in range(first, last + 1)
    if code != 0x1B
}
