"""Names and functions of a shared library for x86-64, from its ELF sections.

A name counts as read where code takes its address (`lea REG, [rip+N]`): words of tables, such as
enum names, lie in the same section and are passed over. No disassembler, nothing is loaded.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

_LEA = re.compile(rb"[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]")
_NAME = re.compile(rb"NCCL_[A-Z0-9_]+(?=\0)")
_FUNCTION = 2


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section lies: its address when loaded, and its bytes."""

    address: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Library:
    """The sections of one file by name."""

    sections: dict[str, Section]

    def names_read(self) -> tuple[str, ...]:
        """The environment names that its code takes the address of, sorted."""
        words = self.sections[".rodata"]
        strings = {
            words.address + found.start(): found[0].decode() for found in _NAME.finditer(words.data)
        }
        code = self.sections[".text"]
        taken = set()
        for found in _LEA.finditer(code.data, 0, len(code.data) - 7):
            at = found.start()
            (distance,) = struct.unpack_from("<i", code.data, at + 3)
            taken.add(strings.get(code.address + at + 7 + distance, ""))
        return tuple(sorted(taken - {""}))

    def functions(self) -> dict[str, int]:
        """Addresses of the functions of its symbol table, by their mangled names."""
        table, texts = self.sections[".symtab"].data, self.sections[".strtab"].data
        answer = {}
        for name, info, _, _, address, _ in struct.iter_unpack("<IBBHQQ", table):
            if info & 15 == _FUNCTION:
                answer[texts[name : texts.index(b"\0", name)].decode()] = address
        return answer


def read_library(path: Path) -> Library:
    """The sections of the library that are looked at.

    Raises:
        ValueError: no 64-bit little-endian ELF file.
    """
    wanted = {".rodata", ".text", ".symtab", ".strtab"}
    with path.open("rb") as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: no 64-bit little-endian ELF file")
        (start,) = struct.unpack_from("<Q", head, 0x28)
        size, count, names_at = struct.unpack_from("<HHH", head, 0x3A)
        file.seek(start)
        heads = [struct.unpack_from("<IIQQQQ", file.read(size)) for _ in range(count)]

        def data(number: int) -> bytes:
            file.seek(heads[number][4])
            return file.read(heads[number][5])

        texts = data(names_at)
        named = {
            texts[head[0] : texts.index(b"\0", head[0])].decode(): number
            for number, head in enumerate(heads)
        }
        return Library(
            {name: Section(heads[named[name]][3], data(named[name])) for name in wanted & {*named}}
        )
