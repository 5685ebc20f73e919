"""The journal's blocks: how a session file is cut into pieces that each stand alone.

A block is `[[kind]] # LENGTH CRC`, a body of LENGTH bytes ending in a newline, and a blank line;
the CRC-32 covers kind and body. A file that is cut or damaged anywhere still gives every whole,
sound block. Knows nothing of events.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from mmap import mmap
from zlib import crc32

SCHEMA_LINE = b'schema = "session/1"\n\n'
MOST_BODY = 64 * 1024 * 1024
"""A longer body is not believed."""
MOST_BLOCKS = 10_000_000
"""Blocks beyond are left aside as damage: an index has to stay in memory."""
MOST_KINDS = 250
MOST_DAMAGE = 10_000
PATIENCE = 4
"""Bytes that may be summed in vain, as a multiple of the file: headers can lie about lengths."""

_HEADER = re.compile(rb"\[\[[a-z_]{1,32}\]\] # \d{1,9} [0-9a-f]{8}\n")
_STAMPED = re.compile(
    rb"\[\[([a-z_]{1,32})\]\] # (\d{1,9}) ([0-9a-f]{8})\n"
    rb"(?=seq = (\d{1,18})\nt_us = (\d{1,18})\n)"
)

Buffer = bytes | mmap


def block(kind: str, body: str) -> bytes:
    """One block, ready to be written in a single write. `body` ends in a newline."""
    raw = body.encode()
    check = crc32(raw, crc32(kind.encode()))
    return b"[[%s]] # %d %08x\n%s\n" % (kind.encode(), len(raw), check, raw)


@dataclass(frozen=True, slots=True)
class Damage:
    """A stretch of the file that holds no sound block."""

    offset: int
    length: int


@dataclass(slots=True)
class Index:
    """Where the sound blocks are, as parallel columns in file order.

    Attributes:
        body: offset of the body. length: of the body. kind: index into `kinds`.
        seq, t_us: the stamp of the block; a time before that of the block above it counts as that,
            so that a search by time always ends.
        part: which of the session's files it lies in, from 0. end: of the last block in that file.
        in_vain: bytes whose sum did not hold.
    """

    kinds: list[str] = field(default_factory=list)
    kind: array[int] = field(default_factory=lambda: array("B"))
    body: array[int] = field(default_factory=lambda: array("Q"))
    length: array[int] = field(default_factory=lambda: array("I"))
    seq: array[int] = field(default_factory=lambda: array("Q"))
    t_us: array[int] = field(default_factory=lambda: array("Q"))
    part: array[int] = field(default_factory=lambda: array("H"))
    damage: list[Damage] = field(default_factory=list)
    end: int = 0
    in_vain: int = 0

    def __len__(self) -> int:
        return len(self.body)

    def kind_of(self, number: int) -> str:
        """The kind of block `number`."""
        return self.kinds[self.kind[number]]

    def of_kind(self, kind: str) -> Iterator[int]:
        """The numbers of all blocks of a kind."""
        if kind not in self.kinds:
            return
        wanted = self.kinds.index(kind)
        for number, code in enumerate(self.kind):
            if code == wanted:
                yield number


def scan(data: Buffer, start: int = 0, index: Index | None = None, part: int = 0) -> Index:
    """Find every sound block from `start` on; continues an index of the part before.

    A block counts when its header, length, CRC and stamp hold. What lies between sound blocks is
    kept as damage. No text inside a block looks like a header: a string there has no line's end.
    """
    found = index if index is not None else Index()
    codes = _Codes(found)
    position, size, match = start, len(data), _STAMPED.match
    with memoryview(data) as view:
        while position < size:
            header = match(data, position)
            end = _take(found, codes, view, header, part) if header is not None else 0
            if end:
                position = found.end = end + (data[end : end + 1] == b"\n")
            elif data[position : position + 1] == b"\n":
                position += 1
            else:
                following = _HEADER.search(data, position + 1)
                end = following.start() if following else size
                _note_damage(found, position, end)
                position = end
    return found


class _Codes(dict[bytes, tuple[int, int]]):
    """Each kind's code in the index and the CRC of its name, that of a block goes on from."""

    def __init__(self, index: Index) -> None:
        super().__init__()
        self._index = index
        for code, kind in enumerate(index.kinds):
            self[kind.encode()] = code, crc32(kind.encode())

    def __missing__(self, kind: bytes) -> tuple[int, int]:
        return len(self._index.kinds), crc32(kind)


def _take(found: Index, codes: _Codes, data: memoryview, header: re.Match[bytes], part: int) -> int:
    """Add the block of a header to the index, if it is sound; its end, else 0."""
    kind, told, check, seq, t = header.groups()
    length, body = int(told), header.end()
    end = body + length
    if end > len(data) or length > MOST_BODY or len(found.body) >= MOST_BLOCKS:
        return 0
    if header.end(5) >= end or found.in_vain > PATIENCE * len(data):
        return 0
    code, begun = codes[kind]
    if crc32(data[body:end], begun) != int(check, 16):
        found.in_vain += length
        return 0
    if code == len(found.kinds):
        if code >= MOST_KINDS:
            return 0
        found.kinds.append(kind.decode())
        codes[kind] = code, begun
    t_us = int(t)
    if found.t_us and t_us < found.t_us[-1]:
        t_us = found.t_us[-1]
    found.kind.append(code)
    found.body.append(body)
    found.part.append(part)
    found.length.append(length)
    found.seq.append(int(seq))
    found.t_us.append(t_us)
    return end


def _note_damage(index: Index, start: int, end: int) -> None:
    """A stretch that touches the last one makes it longer; so do all beyond the most kept."""
    last = index.damage[-1] if index.damage else None
    if last is not None and (
        last.offset + last.length == start or len(index.damage) >= MOST_DAMAGE
    ):
        index.damage[-1] = Damage(last.offset, last.length + end - start)
    else:
        index.damage.append(Damage(start, end - start))
