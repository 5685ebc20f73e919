"""Reads a /proc/PID/environ block: NUL-separated, literal, the first entry of a name wins. A
zeroed or partly zeroed block says nothing about the names it lacks."""

from __future__ import annotations

import re

from console.nccl.importing.found import NAME, Found, Imported, State

ZEROED = "all of the block is zeroed: the process has renamed itself"
PARTLY = "part of the block is zeroed: what was inherited may be missing"
EMPTY = "the block is empty: no environment can be read from it"


def entries(data: bytes) -> list[tuple[int, str, str]]:
    """(entry number from 1, name, value) of every entry with an equals sign."""
    answer = []
    for at, entry in enumerate(data.split(b"\0"), 1):
        name, equals, value = entry.partition(b"=")
        if equals and name:
            text = value.decode("utf-8", "surrogateescape")
            answer.append((at, name.decode("utf-8", "surrogateescape"), text))
    return answer


def unreadable(data: bytes) -> str:
    """Why absent names are unknown, empty if the block is whole."""
    if not data:
        return EMPTY
    if not data.strip(b"\0"):
        return ZEROED
    titled = not re.match(rb"[A-Za-z_][^=\0]*=", data)
    if b"\0\0" in data or data.startswith(b"\0") or titled:
        return ZEROED if not entries(data) else PARTLY
    return ""


def read_environ(data: bytes, file: str) -> Imported:
    """The NCCL_* entries of a block; `lines` are entry numbers."""
    found = tuple(
        Found(name, State.SET, (at,), value=value)
        for at, name, value in entries(data)
        if NAME.fullmatch(name)
    )
    return Imported(file, "proc-environ", found, order="first", unreadable=unreadable(data))
