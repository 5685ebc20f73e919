"""Keeping one connection up: its state, who waits for it, when it is tried again.

Owns the one task that connects and the pauses between attempts. A refusal that a person has to
mend is tried rarely, and one after a person was asked only when told to.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Generic, Protocol, TypeVar

from console.model.clock import US_PER_S, Clock, Pace
from console.model.failure import Failure, WireError
from console.model.waiting import first_of, sleep_or
from console.transport.wire import LinkSeen, LinkState

_LOOKS = 2.5
"""How often within a keepalive a suspended machine is looked for."""
_ASLEEP = 2.0
"""How many keepalives must be missing."""
_OUTSIDE = (Failure.REFUSED, Failure.NO_HOST, Failure.TIMEOUT, Failure.CLOSED)
"""What a server behind the link may do as well: its refusal is never to be taken for the host's."""
_STUBBORN = (Failure.KEY_UNKNOWN, Failure.KEY_CHANGED, Failure.AUTH, Failure.CONFIG)


_MENDS = {
    Failure.NO_HOST: "check HostName of this alias in the ssh configuration",
    Failure.REFUSED: "nothing listens there: is sshd up, and is the port right?",
    Failure.TIMEOUT: "a firewall, a wrong address, or a VPN that is not up?",
    Failure.CLOSED: "sshd, or what stands before it, turned this away: see its log on the host",
    Failure.KEY_UNKNOWN: "compare the fingerprint with the host's, then connect once with ssh",
    Failure.KEY_CHANGED: "the host shows another key than before: find out why first",
    Failure.AUTH: "is the key loaded (ssh-add -l), and is the user right?",
    Failure.CONFIG: "mend the entry of this alias in the ssh configuration",
}


class Dialled(Protocol):
    """A connection that is up."""

    @property
    def rtt_us(self) -> int | None:
        """How long its TCP handshake took, where known."""
        ...

    async def lost(self) -> str:
        """Return when it has ended, with the reason."""
        ...

    async def answers(self) -> None:
        """Return at a sign of life from the host."""
        ...

    async def close(self) -> None:
        """Drop it. Safe to repeat."""
        ...


D = TypeVar("D", bound=Dialled)
D_co = TypeVar("D_co", bound=Dialled, covariant=True)


class Dialler(Protocol[D_co]):
    """Connects to one host as often as needed."""

    @property
    def asked(self) -> bool:
        """Whether a person answered a question in the last attempt."""
        ...

    async def dial(self) -> D_co:
        """Connect; WireError when that fails."""
        ...

    def unused(self) -> tuple[str, ...]:
        """What a person should know about how it connects, as lines; said once."""
        ...


class Link(Generic[D]):
    """The connection of one wire; begins when first asked for. `place` names it in errors."""

    def __init__(self, place: str, dialler: Dialler[D], clock: Clock, pace: Pace) -> None:
        self._place = place
        self._clock = clock
        self._pace = pace
        self._dialler = dialler
        self._seen = LinkSeen(LinkState.CONNECTING)
        self._failure: WireError | None = None
        self._dialled: D | None = None
        self._changed = asyncio.Condition()
        self._listeners: set[asyncio.Queue[LinkSeen]] = set()
        self._now = asyncio.Event()
        self._slept_s = 0.0
        self._woken = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._waking: asyncio.Task[None] | None = None
        self._defect: BaseException | None = None
        self._ending: asyncio.Task[None] | None = None
        self._said_unused = False
        self._was_up = False
        self._closed = False

    async def states(self) -> AsyncIterator[LinkSeen]:
        """The state now and each later one; raises what stopped the task, if it was a defect."""
        queue: asyncio.Queue[LinkSeen] = asyncio.Queue()
        queue.put_nowait(self._seen)
        self._listeners.add(queue)
        self._begin()
        try:
            while True:
                seen = await queue.get()
                yield seen
                if seen.state is LinkState.CLOSED:
                    break
            if self._defect is not None:
                raise self._defect
        finally:
            self._listeners.discard(queue)

    async def up(self) -> None:
        """Return once connected; WireError when closed."""
        self._begin()
        async with self._changed:
            await self._changed.wait_for(lambda: self._dialled is not None or self._closed)
        if self._closed:
            raise self._let_go()

    def retry(self) -> None:
        """End the present pause."""
        self._now.set()

    async def close(self) -> None:
        """Drop the connection for good. Safe to repeat."""
        if self._closed:
            return
        self._closed = True
        self._failure = self._let_go()
        tasks = [task for task in (self._keeping, self._waking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._say(LinkSeen(LinkState.CLOSED))

    def _let_go(self) -> WireError:
        return WireError(Failure.CLOSED, "the console let go of the host")

    def _begin(self) -> None:
        if self._keeping is None and not self._closed:
            self._keeping = asyncio.create_task(self._keep())
            self._keeping.add_done_callback(self._kept)
            self._waking = asyncio.create_task(self._watch_sleep())

    def _kept(self, keeping: asyncio.Task[None]) -> None:
        """Nobody may wait for a link that is kept no more."""
        if not keeping.cancelled():
            self._closed = True
            self._defect = keeping.exception()
            self._failure = WireError(Failure.CONFIG, f"defect: {self._defect!r}")
            self._ending = asyncio.create_task(self._say(LinkSeen(LinkState.CLOSED)))

    async def ready(self) -> D:
        """The connection; waits for the first attempt, never for a later one."""
        self._begin()
        async with self._changed:
            await self._changed.wait_for(lambda: self._dialled or self._failure)
        if self._dialled is None:
            assert self._failure is not None
            raise WireError(self._failure.kind, self._failure.why, self._failure.detail)
        return self._dialled

    async def _say(self, seen: LinkSeen) -> None:
        if seen == self._seen:
            return
        self._seen = seen
        for queue in self._listeners:
            queue.put_nowait(seen)
        async with self._changed:
            self._changed.notify_all()

    async def _keep(self) -> None:
        attempt = 0
        while True:
            self._now.clear()
            await self._say(LinkSeen(LinkState.CONNECTING))
            try:
                dialled = await self._dialler.dial()
            except WireError as error:
                if not error.detail and error.kind in _MENDS:
                    error = WireError(error.kind, error.why, (_MENDS[error.kind],))
                self._failure = error
                if error.kind in _OUTSIDE:
                    why = f"{self._place}: {error.why}"
                    kind = Failure.LINK_LOST if self._was_up else Failure.NO_LINK
                    self._failure = WireError(kind, why, error.detail)
                await self._say(LinkSeen(LinkState.REFUSED, error.kind, error.why, error.detail))
                if self._dialler.asked:
                    await self._now.wait()
                attempt = 63 if error.kind in _STUBBORN else attempt + 1
            else:
                attempt = 1
                await self._hold(dialled)
            await self._pause(attempt)

    async def _hold(self, dialled: D) -> None:
        """Serve from this connection until it ends."""
        self._dialled, self._failure, self._was_up = dialled, None, True
        detail = () if self._said_unused else self._dialler.unused()
        self._said_unused = True
        try:
            await self._say(LinkSeen(LinkState.UP, detail=detail, rtt_us=dialled.rtt_us))
            why = await self._lost(dialled)
        finally:
            self._dialled = None
            await dialled.close()
        self._failure = WireError(Failure.LINK_LOST, why)
        await self._say(LinkSeen(LinkState.LOST, Failure.LINK_LOST, why))

    async def _pause(self, attempt: int) -> None:
        """Wait before the next attempt: doubling, never beyond the most, spread by a half."""
        grown_s = self._pace.reconnect_first_s * 2.0 ** min(attempt - 1, 62)
        pause_s = min(grown_s, self._pace.reconnect_most_s) * random.uniform(0.5, 1.0)
        await sleep_or(self._clock, pause_s, self._now)

    async def _lost(self, dialled: D) -> str:
        """Return when the connection has ended, or is dead after this machine slept."""
        losing = asyncio.ensure_future(dialled.lost())
        try:
            while True:
                await first_of(asyncio.wait({losing}), self._woken.wait())
                if losing.done():
                    return losing.result()
                self._woken.clear()
                try:
                    async with asyncio.timeout(self._pace.keepalive_s):
                        await dialled.answers()
                except TimeoutError:
                    self._now.set()
                    return f"no answer after this machine slept for {self._slept_s:.0f} s"
        finally:
            losing.cancel()
            await asyncio.gather(losing, return_exceptions=True)

    async def _watch_sleep(self) -> None:
        """Find out that the machine was suspended: the wall clock went on, its own did not."""
        look_s = self._pace.keepalive_s / _LOOKS
        while True:
            since = self._clock.utc(), self._clock.now_us()
            await self._clock.sleep(look_s)
            wall_s = (self._clock.utc() - since[0]).total_seconds()
            own_s = (self._clock.now_us() - since[1]) / US_PER_S
            self._slept_s = wall_s - own_s
            if self._slept_s > _ASLEEP * self._pace.keepalive_s:
                self._woken.set()
                self._now.set()
