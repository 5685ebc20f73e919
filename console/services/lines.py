"""Bytes of a log into lines: where each batch begins and ends in the file, what a line shows.

Owns the cut at newlines, the latest state of bars that only ever return the carriage, the cap of
a line and runs of NUL. Pure; never decodes, so a character cut by a chunk's edge is whole again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_BYTES = 65_536
"""What is kept of one line; the rest is counted."""

_MOST_STATES = 32
_NULS = re.compile(rb"(\0+)")
_PREFIX = re.compile(rb"([^\r]{0,300}?)[\s:|]*\d{1,3}(?:\.\d+)?%")


@dataclass(frozen=True, slots=True)
class Cut:
    """Lines without their ends, and the offsets of the bytes they came from."""

    lines: list[bytes]
    start: int
    end: int


class Splitter:
    """The bytes of one file from an offset on, fed in any pieces."""

    def __init__(self, offset: int) -> None:
        self.fed = offset
        """The offset after the last byte fed."""
        self.taken = offset
        """The offset after the last byte whose line was taken."""
        self._whole = offset
        self._lines: list[bytes] = []
        self._open = _Line()

    @property
    def waiting(self) -> int:
        """Bytes of whole lines that were not taken yet."""
        return self._whole - self.taken if self._lines else 0

    @property
    def has_bars(self) -> bool:
        """Whether the unfinished line has a state that was not taken yet."""
        return self._open.has_news

    def feed(self, data: bytes) -> None:
        """Take more bytes."""
        self.fed += len(data)
        first, *rest = data.split(b"\n")
        self._open.add(first)
        if not rest:
            return
        self._lines += self._open.finish()
        last = rest.pop()
        if len(data) > MOST_BYTES or b"\r" in data or b"\0" in data:
            for raw in rest:
                self._open.add(raw)
                self._lines += self._open.finish()
        else:
            self._lines += rest
        self._open.add(last)
        self._whole = self.fed - len(last)

    def take(self) -> Cut | None:
        """The whole lines since the last time."""
        if not self._lines:
            return None
        cut = Cut(self._lines, self.taken, self._whole)
        self._lines = []
        self.taken = self._whole
        return cut

    def take_bars(self) -> Cut | None:
        """The latest state of each bar of the unfinished line; to be called after `take`."""
        if self._lines or not self._open.has_news:
            return None
        cut = Cut(self._open.news(), self.taken, self.fed)
        self.taken = self._whole = self.fed
        return cut

    def finish(self) -> Cut | None:
        """Everything left, an unfinished line as if it had ended: the file is over."""
        if self.fed > max(self._whole, self.taken):
            self._lines += self._open.finish()
            self._whole = self.fed
        return self.take()


class _Line:
    """One line that is not finished: states of bars, and what stands after them."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._states: dict[bytes, bytes] = {}
        self._text = bytearray()
        self._extra = 0
        self._nuls = 0
        self._is_bar = False
        self._has_text_news = False

    @property
    def has_news(self) -> bool:
        return bool(self._states) or (self._is_bar and self._has_text_news)

    def add(self, data: bytes) -> None:
        if not data:
            return
        if b"\r" not in data:
            self._add_text(data)
            return
        first, *rest = data.split(b"\r")
        self._add_text(first)
        for piece in rest:
            self._keep_state()
            self._add_text(piece)

    def finish(self) -> list[bytes]:
        """What the line shows now that it ended: one text, or one for each bar."""
        if not self._is_bar:
            shown = [self._shown()]
        else:
            self._keep_state()
            shown = list(self._states.values()) or [b""]
        self._clear()
        return shown

    def news(self) -> list[bytes]:
        """The states since the last time; the line goes on."""
        states = dict(self._states)
        text = self._shown()
        if text.strip() and self._has_text_news:
            prefix = _prefix(text)
            states.pop(prefix, None)
            states[prefix] = text
        self._states = {}
        self._has_text_news = False
        return list(states.values())

    def _keep_state(self) -> None:
        self._is_bar = True
        text = self._shown()
        self._text, self._extra, self._nuls = bytearray(), 0, 0
        self._has_text_news = False
        if text.strip():
            prefix = _prefix(text)
            self._states.pop(prefix, None)
            self._states[prefix] = text
            if len(self._states) > _MOST_STATES:
                del self._states[next(iter(self._states))]

    def _add_text(self, data: bytes) -> None:
        if not data:
            return
        self._has_text_news = True
        if b"\0" not in data:
            self._append(data)
            return
        for piece in _NULS.split(data):
            if piece[:1] == b"\0":
                self._nuls += len(piece)
            elif piece:
                self._append(piece)

    def _append(self, data: bytes) -> None:
        if self._nuls:
            named, self._nuls = _named(self._nuls), 0
            self._append(named)
        room = MOST_BYTES - len(self._text)
        self._text += data[:room]
        self._extra += max(0, len(data) - room)

    def _shown(self) -> bytes:
        text = bytes(self._text) + (_named(self._nuls) if self._nuls else b"")
        if not self._extra:
            return text
        cut = _cut_character(text)
        return text[: len(text) - cut] + f" +{self._extra + cut:,} bytes".encode()


def _cut_character(text: bytes) -> int:
    """How many bytes at its end begin a character of UTF-8 that goes on behind the cut."""
    for back in range(1, min(4, len(text) + 1)):
        byte = text[-back]
        if byte >= 0xC0:
            return back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if byte < 0x80:
            break
    return 0


def _prefix(state: bytes) -> bytes:
    """What names a bar: the text before its percentage."""
    found = _PREFIX.match(state)
    return found[1] if found else b""


def _named(count: int) -> bytes:
    """NULs as cleaning names them; done here so that a gigabyte of them stays short."""
    return f"<NUL>×{count}".encode() if count > 3 else b"\0" * count
