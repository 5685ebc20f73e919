"""The simulated scheduler: admits requests, lets decode steps pass, writes their lines.

One request's tokens come in chunks, one chunk a step, several tokens a chunk when speculating.
It knows no HTTP and sends nothing.
"""

from __future__ import annotations

import asyncio
import collections

from console.lab.clocks import LabClock
from console.lab.log import ServerLog
from console.lab.request import Request, Totals, Window
from console.lab.speed import Speed
from console.lab.tokens import encode

CONTEXT = 262_144
POOL = 912_384
_PREFILL_TOK_S = 2_000.0
_PREFILL_S = 0.04
_TICK_S = 0.05


class Scheduler:
    """One data-parallel rank: a batch of running requests and a queue."""

    def __init__(
        self, speed: Speed, clock: LabClock, log: ServerLog, *, interval: int, max_running: int
    ) -> None:
        self.speed = speed
        self.clock = clock
        self.log = log
        self.max_running = max_running
        self.running: list[Request] = []
        self.waiting: collections.deque[Request] = collections.deque()
        self.totals = Totals()
        self.stuck = False
        self.slowdown = 1.0
        self.heartbeat = clock.now()
        self.gen_throughput = self.last_gen_throughput = 0.0
        self.accept_length = self.accept_rate = 0.0
        self.hit_rate = 0.0
        self._interval = interval
        self.begin()
        self._prompts: collections.deque[list[int]] = collections.deque(maxlen=32)
        self._probes = 0
        self._runs: collections.Counter[str] = collections.Counter()
        self._wake = asyncio.Event()

    def begin(self) -> None:
        """Start the windows that rates are taken over; called again when the clock is changed."""
        self._window = Window(self.clock.monotonic())
        self._prefilled = self.clock.monotonic()

    @property
    def used_tokens(self) -> int:
        """Tokens held by running requests."""
        return sum(r.prompt_tokens + len(r.ids) for r in self.running)

    def submit(self, request: Request) -> None:
        """Queue a request."""
        request.received = self.clock.now()
        self.waiting.append(request)
        self._wake.set()

    def probe(self) -> None:
        """Queue a health request of one token; dropped when others are served."""
        self._probes += 1
        self._wake.set()

    def abort(self, request: Request) -> None:
        """Forget a request whose client has gone."""
        if request in self.running:
            self.running.remove(request)
        elif request in self.waiting:
            self.waiting.remove(request)
        self.totals.aborted += 1

    def flush(self) -> bool:
        """Empty the prefix cache and the lifetime acceptance, unless requests run or wait."""
        if self.running or self.waiting:
            return False
        self._prompts.clear()
        self.totals.lifetime_tokens = self.totals.lifetime_verifies = 0
        return True

    async def run(self) -> None:
        """Serve until cancelled."""
        due = self.clock.monotonic()
        while True:
            while self.stuck:
                await self.clock.sleep(_TICK_S)
            if await self._admit():
                due = self.clock.monotonic()
            if not self.running:
                self._wake.clear()
                if not self.waiting and not self._probes:
                    self.gen_throughput = 0.0
                    await self._wake.wait()
                continue
            batch = [(request, *request.step()) for request in self.running]
            seconds = max(step_s for _, step_s, _ in batch) * (1 + 0.03 * (len(batch) - 1))
            due = max(due, self.clock.monotonic() - 0.25)
            due += seconds * self.slowdown / self.clock.scale
            await self.clock.until(due)
            if not self.stuck:
                self._decoded([(request, tokens) for request, _, tokens in batch])

    async def _admit(self) -> bool:
        admitted = False
        if self._probes and not self.running and not self.waiting:
            self._probes -= 1
            self._prefill_line(1, 0)
            self.heartbeat = self.clock.now()
        elif self.running:
            self._probes = 0
        while self.waiting and len(self.running) < self.max_running and not self.stuck:
            request = self.waiting.popleft()
            request.admitted = self.clock.now()
            ids = encode(request.prompt) or [0]
            request.prompt_tokens = len(ids)
            request.cached_tokens = self._cached(ids)
            fresh = len(ids) - request.cached_tokens
            extra = 0.008 if self.speed.speculative else 0.0
            await self.clock.sleep(_PREFILL_S + extra + fresh / _PREFILL_TOK_S)
            self._prefill_line(fresh, request.cached_tokens)
            self._prompts.append(ids)
            self.hit_rate = request.cached_tokens / len(ids)
            totals = self.totals
            totals.prefills += 1
            totals.computed += fresh
            totals.cached += request.cached_tokens
            run = self._runs[request.prompt]
            self._runs[request.prompt] += 1
            request.start(self.speed.steps(request.prompt, run))
            self.running.append(request)
            request.first = self.clock.now()
            self._given(request, 1)
            admitted = True
        return admitted

    def _cached(self, ids: list[int]) -> int:
        best = 0
        for known in self._prompts:
            same = 0
            for a, b in zip(ids, known, strict=False):
                if a != b:
                    break
                same += 1
            best = max(best, same)
        return min(best, len(ids) - 1)

    def _given(self, request: Request, tokens: int) -> int:
        given = request.take(tokens)
        self.heartbeat = self.clock.now()
        self.totals.decoded += given
        if request.reason:
            self._finish(request)
        request.offer()
        return given

    def _finish(self, request: Request) -> None:
        request.finished = self.clock.now()
        self.running.remove(request)
        streaming, totals = request.streaming, self.totals
        totals.requests[streaming] += 1
        totals.prompts[streaming] += request.prompt_tokens
        totals.generated[streaming] += len(request.ids)
        ttft = request.first - request.received
        for name, seconds in (
            ("time_to_first_token_seconds", ttft),
            ("e2e_request_latency_seconds", request.finished - request.received),
        ):
            totals.observed.append((name, streaming, seconds))
        if streaming and len(request.ids) > 1:
            gap = (request.finished - request.first) / (len(request.ids) - 1)
            totals.observed.append(("inter_token_latency_seconds", True, gap))

    def _decoded(self, batch: list[tuple[Request, int]]) -> None:
        window = self._window
        held = 0
        for request, tokens in batch:
            if request not in self.running:
                continue
            if self.speed.speculative:
                request.verifies += 1
                request.accepted[tokens - 1] += 1
                window.verifies += 1
                window.drafts += tokens - 1
                self.totals.lifetime_verifies += 1
                self.totals.lifetime_tokens += tokens
                self.totals.verifies += 1
            window.tokens += self._given(request, tokens)
            held += request.prompt_tokens + len(request.ids)
        self.totals.steps += 1
        window.steps += 1
        if window.steps >= self._interval:
            self._decode_line(len(batch), held)

    def _decode_line(self, running: int, held: int) -> None:
        window, now = self._window, self.clock.monotonic()
        self.gen_throughput = window.tokens / max(now - window.since, 1e-9)
        self.last_gen_throughput = self.gen_throughput
        spec = ""
        if window.verifies:
            self.accept_length = 1 + window.drafts / window.verifies
            self.accept_rate = (self.accept_length - 1) / 3
            spec = f"accept len: {self.accept_length:.2f}, accept rate: {self.accept_rate:.2f}, "
        self._window = Window(now)
        self.log.line(
            f"Decode batch, #running-req: {running}, #token: {held}, "
            f"token usage: {held / POOL:.2f}, {spec}cuda graph: True, "
            f"gen throughput (token/s): {self.gen_throughput:.2f}, #queue-req: {len(self.waiting)}",
            0,
        )

    def _prefill_line(self, fresh: int, cached: int) -> None:
        now = self.clock.monotonic()
        rate = fresh / max(now - self._prefilled, 1e-9)
        self._prefilled = now
        held = self.used_tokens
        self.log.line(
            f"Prefill batch, #new-seq: 1, #new-token: {fresh}, #cached-token: {cached}, "
            f"token usage: {held / POOL:.2f}, #running-req: {len(self.running)}, "
            f"#queue-req: {len(self.waiting)}, #pending-token: 0, cuda graph: False, "
            f"input throughput (token/s): {rate:.2f}",
            0,
        )
