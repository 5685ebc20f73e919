"""What a simulated server is while it runs: its launch, its standing, its answer to /health.

Shared by the endpoints; it holds no sockets and starts no processes.
"""

from __future__ import annotations

import asyncio
import collections
import time
from dataclasses import dataclass, field
from enum import StrEnum

from console.lab.args import Launch
from console.lab.clocks import LabClock
from console.lab.log import ServerLog
from console.lab.scheduler import Scheduler

_HEALTH_LOOK_S = 1.0
_HEALTH_LIMIT_S = 20


class Standing(StrEnum):
    """The real server's own flag."""

    STARTING = "Starting"
    UP = "Up"
    UNHEALTHY = "UnHealthy"


@dataclass(slots=True)
class Timings:
    """Seconds of each start-up phase, as the server reports them."""

    load_weight: float = 0.0
    kv_cache_allocation: float = 0.0
    scheduler_e2e: float = 0.0
    tokenizer_e2e: float = 0.0
    graph: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(
            (
                "prefill",
                "decode",
                "target_verify",
                "draft_prefill",
                "draft_decode",
                "draft_extend",
            ),
            0.0,
        )
    )


@dataclass(slots=True)
class Service:
    """One simulated server."""

    launch: Launch
    scheduler: Scheduler
    clock: LabClock
    log: ServerLog
    timings: Timings = field(default_factory=Timings)
    standing: Standing = Standing.STARTING
    draining: bool = False
    crashed: bool = False
    static_health: bool = False
    asked: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)
    answered: collections.Counter[tuple[str, str, int]] = field(default_factory=collections.Counter)
    active: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)

    async def unstuck(self) -> None:
        """Wait until the scheduler works: what asks it hangs with it."""
        while self.scheduler.stuck:
            await self.clock.sleep(0.05)

    async def hang(self) -> None:
        """Never return: a crashed server accepts connections and answers nothing."""
        await asyncio.Event().wait()

    async def health(self) -> int:
        """The status code of /health: 200 takes a second, 503 for a stuck scheduler twenty."""
        if self.draining:
            self.log.line("Health check request received during shutdown. Returning 503.")
            return 503
        if self.standing is Standing.STARTING:
            return 503
        if self.static_health:
            return 200
        tic = self.clock.now()
        self.scheduler.probe()
        for _ in range(_HEALTH_LIMIT_S):
            await self.clock.sleep(_HEALTH_LOOK_S)
            if self.scheduler.heartbeat > tic:
                self.standing = Standing.UP
                return 200
        self.standing = Standing.UNHEALTHY
        begun, last = (
            time.strftime("%H:%M:%S", time.localtime(at)) for at in (tic, self.scheduler.heartbeat)
        )
        self.log.line(
            "Health check failed. Server couldn't get a response from detokenizer for last "
            f"{_HEALTH_LIMIT_S} seconds. tic start time: {begun}. last_heartbeat time: {last}"
        )
        return 503

    @property
    def reachable(self) -> bool:
        """What /ping and /ready say."""
        return self.standing is Standing.UP and not self.draining
