"""One timed request to a server: what the worker saw, and what else happened meanwhile.

Owns the counters before and after, the samples of the queue in between and the live rate. It must
never ask the server anything while nobody waits for tokens but the run itself, save its metrics.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

from console.bench.alone import Queue, company
from console.bench.answer import Answer, Counted, Refused, count
from console.bench.job import Dialect, Garbled, Job, Progress, Sampling
from console.bench.metrics import Figures, measure
from console.bench.promptset import Prompt
from console.model.clock import US_PER_S, Clock, Pace
from console.model.fleet import Engine, Server
from console.services.timing import Worker
from console.services.totals import Totals, read_totals
from console.transport.http import Http

DIALECTS: Mapping[Engine, Dialect] = {
    Engine.SGLANG: "sglang",
    Engine.LLAMACPP: "llamacpp",
    Engine.VLLM: "completions",
    Engine.TRTLLM: "completions",
}
_TICK_S = 0.25
_WINDOW_NS = 1_000_000_000
_SETTLE_TRIES = 40
_SETTLE_S = 0.05
"""Gauges and counters move a moment after the last token; two seconds are enough for any."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One run. `text`: of the answer; `void`, `notes`: reasons from outside the response."""

    figures: Figures | Refused
    text: str
    void: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Live:
    """A run goes on at this rate."""

    tok_s: float


@dataclass(slots=True)
class Requests:
    """Timed requests to one server. `url` is its base as the worker sees it; `headers` carry its
    key; `probes` counts the one-token health probes that this console has sent so far; `ca` are the
    authorities trusted for https, PEM."""

    server: Server
    engine: Engine
    model: str
    url: str
    sampling: Sampling
    http: Http
    clock: Clock
    pace: Pace
    headers: Mapping[str, str] = field(default_factory=dict)
    probes: Callable[[], int] = lambda: 0
    ca: str = ""
    dialect: Dialect | None = None

    async def run(self, worker: Worker, name: str, prompt: Prompt) -> AsyncIterator[Live | Timed]:
        """One request: its live rate again and again, at the end the run.

        Raises:
            WireError: the worker or the link to it was lost.
        """
        probes_before = self.probes()
        before = await self._quiet()
        during: list[Queue] = []
        rate, garbled = _Rate(), list[str]()
        answer: Answer | None = None
        looked_us = self.clock.now_us()
        async for record in worker.work(self.job(name, prompt)):
            match record:
                case Progress():
                    live = rate.add(record)
                    if live is not None:
                        yield Live(live)
                    if not during or self.clock.now_us() - looked_us > self._every_us:
                        during.append((await self._totals()).queue)
                        looked_us = self.clock.now_us()
                case Answer():
                    answer = record
                case Garbled(line):
                    garbled.append(f"the worker said: {line[:200]}")
                case _:
                    pass
        if answer is None:
            yield Timed(Refused("; ".join(("no record of the run", *garbled))), "")
            return
        after = await self._settled(before, answer)
        sent = self.probes() - probes_before
        asked = self.sampling.max_tokens
        found = measure(answer, asked, before.counters, after.counters, sent)
        both = (before.counters, after.counters)
        counted = all(one is not None and one.generated is not None for one in both)
        others = company(before.queue, during, sent, counted=counted)
        yield Timed(found, answer.text(), others.void, (*others.notes, *garbled))

    @property
    def _every_us(self) -> float:
        return self.pace.metrics_s * US_PER_S

    def job(self, name: str, prompt: Prompt) -> Job:
        """One request as the worker takes it."""
        dialect = self.dialect or DIALECTS.get(self.engine, "completions")
        extra = {"return_spec_tokens_details": True} if self._sglang_over_openai(dialect) else {}
        tick_s = max(0.02, _TICK_S / self.pace.scale)
        return Job(
            self.url,
            dialect,
            ((name, prompt.text),),
            self.model,
            self.sampling,
            self.headers,
            extra,
            progress_s=tick_s,
            ca=self.ca,
        )

    def _sglang_over_openai(self, dialect: Dialect) -> bool:
        return self.engine is Engine.SGLANG and dialect in ("completions", "chat")

    async def _totals(self) -> Totals:
        deadline_s = self.pace.read_deadline_s
        return await read_totals(self.server, self.engine, self.http, deadline_s)

    async def _quiet(self) -> Totals:
        """The counters once nothing is told to run, or at the end of patience."""
        found = await self._totals()
        for _ in range(_SETTLE_TRIES):
            if not found.queue.total():
                break
            await self.clock.sleep(_SETTLE_S)
            found = await self._totals()
        return found

    async def _settled(self, before: Totals, answer: Answer) -> Totals:
        """Counters move a moment after the last chunk: look until they show the whole run."""
        counted = count(answer, self.sampling.max_tokens)
        tries = _SETTLE_TRIES if isinstance(counted, Counted) else 1
        after = await self._totals()
        while (tries := tries - 1) > 0:
            ours, theirs = before.counters, after.counters
            if ours is None or theirs is None or ours.generated is None:
                break
            assert isinstance(counted, Counted)
            if (theirs.generated or 0) - ours.generated >= counted.tokens:
                break
            await self.clock.sleep(_SETTLE_S)
            after = await self._totals()
        return after


class _Rate:
    """The live rate over the last second, from the server's own running count."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, int]] = []

    def add(self, progress: Progress) -> float | None:
        """tok/s, None where the server sends no running count or too few came yet."""
        if progress.count is None:
            return None
        self._seen.append((progress.elapsed_ns, progress.count))
        while len(self._seen) > 2 and progress.elapsed_ns - self._seen[1][0] >= _WINDOW_NS:
            del self._seen[0]
        (first_ns, first), (last_ns, last) = self._seen[0], self._seen[-1]
        return (last - first) / ((last_ns - first_ns) / 1e9) if last_ns > first_ns else None
