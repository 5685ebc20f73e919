"""Groups the lines of one log into records: a crash with its traceback is one, not forty.

Owns the grouping and what a line inherits from those before it: the rank of a traceback's
head, the process that a lone prefix names for the bar below it, the stamp of a chunk. Keeps
a bounded memory per source and never holds text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from console.engines.facts import BarSeen, FailureSeen
from console.engines.line import Head, Line

_OPENS = re.compile(
    r".*Traceback \(most recent call last\)|.*[Pp]y-?[Ss]py dump|Fatal Python error"
    r"|Exception raised from |Thread 0x|Current thread 0x|!+ Segfault"
)
_WARNING = re.compile(r"\S+:\d+: \w*Warning: ")
_INDENTED = re.compile(r"[ \t]")
_SINGLE = frozenset({"killed", "sigquit", "child-crash", "draining", "port-next", "kernel-oom"})
_MAX_SOURCES = 64
_STAMPED_ONCE = ("", "torch", "nccl")  # a chunk of such lines may have a stamp on the first only


@dataclass(frozen=True, slots=True)
class Placed:
    """A line with the record it belongs to; `owner` is the head to show and judge it by."""

    line: Line
    record: int
    opens: bool
    owner: Head


@dataclass(frozen=True, slots=True)
class _Open:
    record: int
    owner: Head
    body: bool  # whether lines without a head go on here
    torch: bool


class Records:
    """Feed the pieces of one log in order; records are numbered from 0 and never reused."""

    def __init__(self) -> None:
        self._next = 0
        self._open: dict[str, _Open] = {}
        self._crash: dict[str, _Open] = {}
        self._prefix: dict[str, Head] = {}
        self._outer: dict[str, tuple[str, str]] = {}

    def add(self, line: Line) -> Placed:
        """Where the line belongs. Lines without a head inherit rank, process and stamp."""
        head = line.head
        source = head.source
        if head.outer:
            self._outer[source] = (head.outer, head.wrapper)
        elif source in self._outer and line.text and head.style in _STAMPED_ONCE:
            outer, wrapper = self._outer[source]
            head = replace(head, outer=outer, wrapper=head.wrapper or wrapper)
        placed = self._place(line, head, source)
        if len(self._open) > _MAX_SOURCES:
            self._forget()
        return placed

    def _place(self, line: Line, head: Head, source: str) -> Placed:
        if head.style == "vllm" and not line.text:
            self._prefix[source] = head
            return self._begin(line, head, source, body=False)
        if isinstance(line.fact, BarSeen) and not head.style:
            owner = self._prefix.get(source, head)
            return self._begin(line, replace(owner, outer=head.outer), source, body=False)
        into = self._continued(line, head, source)
        if into is not None:
            owner = head if head.style else into.owner
            return Placed(_with(line, head), into.record, False, owner)
        return self._begin(line, head, source, body=_is_body(line))

    def _continued(self, line: Line, head: Head, source: str) -> _Open | None:
        crash = self._crash.get(source)
        if head.style == "torch" and head.level == "error":
            return crash if crash and crash.torch else None
        if crash and head.level == "error" and head.pid is not None and _same(crash.owner, head):
            return crash  # vLLM repeats its head before every line of a traceback
        if head.style:
            if crash and not isinstance(line.fact, FailureSeen):
                del self._crash[source]
            return None
        failed = line.fact if isinstance(line.fact, FailureSeen) else None
        if failed and failed.marker in _SINGLE:
            return None
        if _WARNING.match(line.text):
            return None
        if crash and (line.fact is None or failed):
            return crash
        last = self._open.get(source)
        indented = line.fact is None and bool(_INDENTED.match(line.text))
        return last if last and indented and not last.owner.style else None

    def _begin(self, line: Line, owner: Head, source: str, *, body: bool) -> Placed:
        opened = _Open(self._next, owner, body, owner.style == "torch")
        self._next += 1
        self._open[source] = opened
        if body:
            self._crash[source] = opened
        return Placed(_with(line, owner), opened.record, True, owner)

    def _forget(self) -> None:
        oldest = next(iter(self._open))
        for kept in (self._open, self._crash, self._prefix, self._outer):
            kept.pop(oldest, None)


def _with(line: Line, head: Head) -> Line:
    return line if head is line.head else replace(line, head=head)


def _same(owner: Head, head: Head) -> bool:
    return (owner.style, owner.process, owner.pid) == (head.style, head.process, head.pid)


def _is_body(line: Line) -> bool:
    """Whether what follows without a head is part of this."""
    if isinstance(line.fact, FailureSeen):
        return line.fact.marker not in _SINGLE
    return bool(_OPENS.match(line.text))
