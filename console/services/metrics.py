"""Polling a server's figures: /metrics where it is exported, else what tells the work in hand.

Owns which paths are asked and how often. Never two requests in flight, none while the server is
not up; whatever comes as an answer is survived and said once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from console.engines.answers import Loads
from console.engines.dialect import Dialect
from console.engines.metrics import MAX_BYTES, Metrics, Worker, in_turns
from console.model.clock import Clock, Pace
from console.model.failure import Failure
from console.model.fleet import Server
from console.model.waiting import sleep_or
from console.services.credential import key_text
from console.services.engine import MOST_BYTES
from console.services.figures import Polls, Reading, merged
from console.services.pulse import Pulse
from console.stream.events import Event
from console.transport.http import Answer, AnswerError, Http

HISTOGRAMS_EVERY = 8
"""Buckets are most of a long exposition, so they are read in every eighth poll only."""

LARGE_BYTES = 1024 * 1024
LARGE_STRIDE = 4
"""So large an exposition is asked for so many times less often: it costs the link and the loop."""

RESTS_POLLS = 15
"""A path that has only failed for now is left alone for so many polls, then asked again."""

_GONE = ("not exported", "not metrics", "key missing", "too large")
_REFUSED = (401, 403)
_ENDED = (Failure.REFUSED, Failure.CLOSED)


class Sources:
    """The paths of one server that are still worth asking."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._every = [path.path for path in dialect.paths("metrics")]
        self._rests = 0
        loads = dialect.paths("loads")
        cheap = [path for path in loads if path.cost in ("free", "logs a line")]
        self._loads = [path.path for path in cheap]
        self._beside = bool(cheap) and cheap[0].cost == "free"

    @property
    def metrics(self) -> str | None:
        """Where counters are."""
        return self._metrics[0] if self._metrics else None

    @property
    def _metrics(self) -> list[str]:
        return self._every if not self._rests else []

    @property
    def loads(self) -> str | None:
        """Where the work in hand is: asked in place of metrics, or beside them when it is free."""
        if self._metrics and not self._beside:
            return None
        return self._loads[0] if self._loads else None

    @property
    def none(self) -> bool:
        """Whether no path tells figures, now or later."""
        return not self._every and self.loads is None

    def drop(self, path: str) -> None:
        """A path that this server has not."""
        self._every = [one for one in self._every if one != path]
        self._loads = [one for one in self._loads if one != path]

    def rest(self) -> None:
        """Counters cannot be had for now."""
        self._rests = RESTS_POLLS

    def polled(self) -> None:
        """One poll is over."""
        self._rests = max(0, self._rests - 1)


class Poller:
    """Polls of one process, one after the other.

    `over` once a counter says that another process answers; `stride` is how many intervals the
    next poll is away; `doubt` is called when a poll finds nobody where somebody was.
    """

    def __init__(
        self,
        entry: Server,
        http: Http,
        dialect: Dialect,
        clock: Clock,
        pace: Pace,
        polls: Polls,
        doubt: Callable[[], None],
    ) -> None:
        self.over = False
        self.stride = 1
        self._doubt = doubt
        self._doubted = False
        self._entry = entry
        self._http = http
        self._dialect = dialect
        self._clock = clock
        self._pace = pace
        self._polls = polls
        self._sources = Sources(dialect)
        self._count = 0

    @property
    def empty(self) -> bool:
        """Whether this server has no path that tells figures."""
        return self._sources.none

    async def poll(self) -> list[Event]:
        """Ask once; what the answers show."""
        found: list[Event] = []
        worker, loads, source = None, None, ""
        if path := self._sources.metrics:
            worker, source = await self._metrics(path, found), path
        if not self._doubted and (path := self._sources.loads):
            loads = await self._loads(path, found)
            source = source if worker is not None else path.partition("?")[0]
        self._count += 1
        self._sources.polled()
        if worker is not None or loads is not None:
            reading = Reading(self._clock.now_us(), source, worker, loads)
            if self._polls.restarted(reading):
                self.over = True
                return found
            found += self._polls.take(reading)
        return found

    async def _metrics(self, path: str, found: list[Event]) -> Worker | None:
        got = await self._get(path, MAX_BYTES + 1, found)
        if got is None:
            return None
        self.stride = LARGE_STRIDE if len(got.body) > LARGE_BYTES else 1
        shaped = self._count % HISTOGRAMS_EVERY == 0
        seen = await _in_turns(got, histograms=shaped)
        if "location" in got.headers and 300 <= got.code < 400:
            text = f"{path} redirects with {got.code} to {got.headers['location']}; not followed"
            found += self._polls.notice("redirect", text)
        elif got.code in _REFUSED:
            text = key_text(self._entry, self._dialect.engine, path, got.code)
            found += self._polls.notice("key missing", text)
        else:
            found += self._polls.odd(seen)
        kinds = {notice.kind for notice in seen.notices}
        if kinds & set(_GONE):
            self._sources.drop(path)
        elif "not available" in kinds:
            self._sources.rest()
        return merged(seen)

    async def _loads(self, path: str, found: list[Event]) -> Loads | None:
        got = await self._get(path, MOST_BYTES, found)
        if got is None:
            return None
        seen = self._dialect.read(path, got.body.decode("utf-8", "replace"))
        if got.code == 200 and isinstance(seen, Loads):
            return seen
        self._sources.drop(path)
        if got.code in _REFUSED:
            text = key_text(self._entry, self._dialect.engine, path, got.code)
            found += self._polls.notice("key missing", text)
        return None

    async def _get(self, path: str, most_bytes: int, found: list[Event]) -> Answer | None:
        url = self._entry.url.rstrip("/") + path
        deadline_s = self._pace.health_deadline_s
        try:
            answer = await self._http.get(url, deadline_s=deadline_s, most_bytes=most_bytes)
            self._doubted = False
            return answer
        except AnswerError as error:
            if error.kind in _ENDED and error.code is None:
                if not self._doubted:
                    self._doubt()
                self._doubted = True
            else:
                found += self._polls.notice(f"{path} {error.kind}", f"{path}: {error.why}")
            return None


async def _in_turns(got: Answer, *, histograms: bool) -> Metrics:
    """An exposition read piece by piece, so that nothing else has to wait for a long one."""
    turns = in_turns(got.code, got.body.decode("utf-8", "replace"), histograms=histograms)
    while True:
        try:
            next(turns)
        except StopIteration as done:
            read: Metrics = done.value
            return read
        await asyncio.sleep(0)


async def metrics(
    poller: Poller, clock: Clock, pace: Pace, pulse: Pulse
) -> AsyncGenerator[Event, None]:
    """Poll every `metrics_s` until the server was down or another process answers.

    With nothing to ask it only waits for that.
    """
    downs = pulse.downs
    while pulse.downs == downs:
        async with pulse.status_turn:
            found = await poller.poll()
        for event in found:
            yield event
        if poller.over:
            return
        if poller.empty:
            await pulse.down.wait()
        else:
            await sleep_or(clock, pace.metrics_s * poller.stride, pulse.down)
