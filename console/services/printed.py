"""A log that a command prints (`docker logs -f`, `journalctl -f`), run again when it ends.

Its bytes have no place in a file, so nothing can be proved about what a cut lost; that is said
once at the start and again after every cut. Where its lines carry their time and it can be told to
begin at one, it goes on there and what comes again is left out.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from console.model.clock import Clock
from console.model.failure import Failure, WireError
from console.model.fleet import LogSource
from console.services.emitter import Emitter, LogMoved
from console.services.follow import away
from console.services.overlap import Overlap
from console.services.parts import Out, Parts
from console.services.tail_script import print_argv
from console.stream.fact import FeedState, GapKind
from console.transport.wire import Wire


class Printer:
    """One command; each `life` is one run of it."""

    def __init__(self, source: LogSource, emitter: Emitter, wire: Wire, clock: Clock) -> None:
        self._source = source
        self._overlap = Overlap() if source.resume else None
        self._emitter = emitter
        self._wire = wire
        self._clock = clock
        self._ran = False
        self._cut: tuple[int, WireError] | None = None

    def cut(self, error: WireError) -> None:
        """The run before ended, or could not begin."""
        if self._cut is None:
            self._cut = self._clock.now_us(), error

    async def life(self, _look_s: float) -> AsyncGenerator[LogMoved, None]:
        """Run it and emit what it prints.

        Raises:
            WireError: the link was lost, or the command ended.
        """
        resumed = self._overlap.resumed(self._source.resume) if self._overlap else []
        parts = Parts(await self._wire.open(print_argv((*self._source.argv, *resumed))))
        try:
            for event in self._emitter.send(over=True):
                yield event
            if not self._ran:
                text = "from a command: what a cut link loses cannot be counted"
                yield self._emitter.gap(GapKind.INEXACT, text, None)
            elif not resumed:
                yield self._gap("the command runs again, lines may be missing or repeated", None)
            self._ran = True
            if self._overlap is not None:
                self._overlap.begin()
            yield self._emitter.feed(FeedState.FOLLOWING)
            async for moved in self._print(parts, told=not resumed):
                yield moved
            raise WireError(Failure.REMOTE, "the command ended")
        finally:
            await parts.close()

    async def _print(self, parts: Parts, *, told: bool) -> AsyncGenerator[LogMoved, None]:
        """What comes until its end. Unless `told`, first what was missed, once that is known."""
        splitter = self._emitter.splitter
        data: bytes | None = None
        while data != b"":
            due_s = self._emitter.due_s()
            part = None if due_s == 0 else await parts.next(due_s)
            data = part.data if isinstance(part, Out) else None
            kept = self._new(data)
            if not told and self._overlap is not None and (data == b"" or self._overlap.settled):
                told = True
                yield self._resumed(self._overlap)
            splitter.feed(kept)
            if part is None:
                for event in self._emitter.send():
                    yield event
        for last in self._emitter.send(over=True):
            yield last

    def _new(self, data: bytes | None) -> bytes:
        if data is None or self._overlap is None:
            return data or b""
        return self._overlap.take(data) if data else self._overlap.finish()

    def _resumed(self, overlap: Overlap) -> LogMoved:
        if overlap.complete:
            text = f"it goes on by time, {overlap.left_out:,} lines came again and were left out"
            return self._gap(text, 0)
        return self._gap("it goes on by time, but its last line did not come again", None)

    def _gap(self, what: str, lost: int | None) -> LogMoved:
        text, self._cut = f"{away(self._cut, self._clock.now_us())}; {what}", None
        return self._emitter.gap(GapKind.LINK, text, lost)
