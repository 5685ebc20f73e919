"""A log that a command prints (`docker logs -f`, `journalctl -f`), run again when it ends.

Its bytes have no place in a file, so nothing can be proved about what a cut lost; that is said
once at the start and again after every cut, when the next line comes. Where its lines carry their
time and it can be told to begin at one, it goes on there and what comes again is left out.
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
from console.services.resuming import resuming
from console.services.tail_script import print_argv
from console.stream.fact import FeedState, GapKind
from console.transport.wire import Wire


class Printer:
    """One command; each `life` is one run of it."""

    def __init__(self, source: LogSource, emitter: Emitter, wire: Wire, clock: Clock) -> None:
        self._known = resuming(source)
        self._overlap = Overlap(self._known.is_stamped) if self._known.again else None
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
        again = self._overlap.resumed(self._known.again) if self._overlap else []
        parts = Parts(await self._wire.open(print_argv(tuple(again) or self._known.argv)))
        try:
            for event in self._emitter.send(over=True):
                yield event
            if not self._ran:
                text = "from a command: what a cut link loses cannot be counted"
                yield self._emitter.gap(GapKind.INEXACT, text, None)
            told, self._ran = not self._ran, True
            if self._overlap is not None:
                self._overlap.begin()
            yield self._emitter.feed(FeedState.FOLLOWING)
            async for moved in self._print(parts, self._overlap if again else None, told=told):
                yield moved
            raise WireError(Failure.REMOTE, "the command ended")
        finally:
            await parts.close()

    async def _print(
        self, parts: Parts, overlap: Overlap | None, *, told: bool
    ) -> AsyncGenerator[LogMoved, None]:
        """What comes until its end. Unless `told`, before something new what was missed.

        Args:
            overlap: what knows that, once it is settled; None when it cannot be known.
        """
        splitter = self._emitter.splitter
        data: bytes | None = None
        has_new = False
        while data != b"":
            due_s = self._emitter.due_s()
            part = None if due_s == 0 else await parts.next(due_s)
            data = part.data if isinstance(part, Out) else None
            kept = self._new(data)
            has_new = has_new or bool(kept)
            if not told and has_new and (overlap is None or data == b"" or overlap.settled):
                told = True
                yield self._missed(overlap)
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

    def _missed(self, overlap: Overlap | None) -> LogMoved:
        lost: int | None = None
        if overlap is None:
            text = "the command runs again, lines may be missing or repeated"
        elif overlap.complete:
            lost = 0
            text = f"it goes on by time, {overlap.left_out:,} lines came again and were left out"
        else:
            text = "it goes on by time, but its last line did not come again"
        text, self._cut = f"{away(self._cut, self._clock.now_us())}; {text}", None
        return self._emitter.gap(GapKind.LINK, text, lost)
