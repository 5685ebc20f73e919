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

_HEADER = re.compile(rb"\[\[([a-z_]{1,32})\]\] # (\d{1,9}) ([0-9a-f]{8})\n")
_STAMP = re.compile(rb"seq = (\d{1,18})\nt_us = (\d{1,18})\n")

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
    """

    kinds: list[str] = field(default_factory=list)
    kind: array[int] = field(default_factory=lambda: array("B"))
    body: array[int] = field(default_factory=lambda: array("Q"))
    length: array[int] = field(default_factory=lambda: array("I"))
    seq: array[int] = field(default_factory=lambda: array("Q"))
    t_us: array[int] = field(default_factory=lambda: array("Q"))
    damage: list[Damage] = field(default_factory=list)
    end: int = 0

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


def scan(data: Buffer, start: int = 0, index: Index | None = None) -> Index:
    """Find every sound block from `start` on; continues an index of the part before.

    A block counts when its header, length, CRC and stamp hold. What lies between sound blocks is
    kept as damage. No text inside a block looks like a header: a string there has no line's end.
    """
    found = index if index is not None else Index()
    codes = {kind.encode(): code for code, kind in enumerate(found.kinds)}
    position, size = start, len(data)
    last_us = found.t_us[-1] if len(found) else 0
    match, stamp = _HEADER.match, _STAMP.match
    add_kind, add_body, add_length = found.kind.append, found.body.append, found.length.append
    add_seq, add_t = found.seq.append, found.t_us.append
    while position < size:
        header = match(data, position)
        if header is not None:
            body, length = header.end(), int(header[2])
            end = body + length
            if end <= size and length <= MOST_BODY:
                kind = header[1]
                raw = data[body:end]
                stamped = stamp(raw)
                if crc32(raw, crc32(kind)) == int(header[3], 16) and stamped is not None:
                    code = codes.get(kind)
                    if code is None and len(codes) < 250:
                        code = codes[kind] = len(codes)
                        found.kinds.append(kind.decode())
                    if code is not None and len(found) < MOST_BLOCKS:
                        add_kind(code)
                        add_body(body)
                        add_length(length)
                        add_seq(int(stamped[1]))
                        last_us = max(last_us, int(stamped[2]))
                        add_t(last_us)
                        position = found.end = end + (data[end : end + 1] == b"\n")
                        continue
        if data[position : position + 1] == b"\n":
            position += 1
            continue
        following = _HEADER.search(data, position + 1)
        end = following.start() if following else size
        _note_damage(found, position, end)
        position = end
    return found


def _note_damage(index: Index, start: int, end: int) -> None:
    if index.damage and index.damage[-1].offset + index.damage[-1].length == start:
        last = index.damage.pop()
        start = last.offset
    index.damage.append(Damage(start, end - start))
