"""A log that a command prints (`docker logs -f`, `journalctl -f`), run again when it ends.

Its bytes have no place in a file, so nothing can be proved about what a cut lost; that is said
once at the start and again after every cut.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from console.model.clock import Clock
from console.model.failure import Failure, WireError
from console.services.emitter import Emitter, LogMoved
from console.services.follow import away
from console.services.parts import Out, Parts
from console.services.tail_script import print_argv
from console.stream.fact import FeedState, GapKind
from console.transport.wire import Wire


class Printer:
    """One command; each `life` is one run of it."""

    def __init__(self, argv: tuple[str, ...], emitter: Emitter, wire: Wire, clock: Clock) -> None:
        self._argv = argv
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
        parts = Parts(await self._wire.open(print_argv(self._argv)))
        try:
            for event in self._emitter.send(over=True):
                yield event
            if not self._ran:
                text = "from a command: what a cut link loses cannot be counted"
                yield self._emitter.gap(GapKind.INEXACT, text, None)
            elif self._cut is not None:
                text = f"{away(self._cut, self._clock.now_us())}; the command runs again, "
                text += "lines may be missing or repeated"
                yield self._emitter.gap(GapKind.LINK, text, None)
            self._ran, self._cut = True, None
            yield self._emitter.feed(FeedState.FOLLOWING)
            while True:
                due_s = self._emitter.due_s()
                part = None if due_s == 0 else await parts.next(due_s)
                if part is None:
                    for event in self._emitter.send():
                        yield event
                elif isinstance(part, Out):
                    if not part.data:
                        break
                    self._emitter.splitter.feed(part.data)
            for event in self._emitter.send(over=True):
                yield event
            raise WireError(Failure.REMOTE, "the command ended")
        finally:
            await parts.close()
