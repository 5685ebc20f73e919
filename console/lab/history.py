"""What a server did before anybody looked: a log's past, written by the same scheduler at once.

No line of it is made up by hand: load, benchmark and stop run on a clock that starts in the past.
"""

from __future__ import annotations

import asyncio
import contextlib

from console.lab.clocks import PastClock
from console.lab.load import load, say_running, say_started, warm_up
from console.lab.request import Request
from console.lab.service import Service, Standing
from console.lab.switches import Switches

_RUNS = 5
_TOKENS = 500
_PROMPT = "Write a short story about a lighthouse keeper. " * 10


async def live_through(service: Service, ago_s: float) -> None:
    """Give a service a past that began `ago_s` seconds ago; it is up at its end."""

    async def calm(_: str) -> None:
        return

    kept_clock = service.clock, service.scheduler.clock, service.log.now
    past = PastClock(ago_s, service.clock.scale)
    service.clock = service.scheduler.clock = past
    service.log.now = past.now
    service.scheduler.begin()
    await load(service, Switches(), calm)
    say_started(service)
    say_running(service)
    running = asyncio.get_running_loop().create_task(service.scheduler.run())
    await warm_up(service, calm)
    service.standing = Standing.UP
    for run in range(_RUNS):
        await past.sleep(4.0)
        request = Request(_PROMPT, _TOKENS, ignore_eos=True, streaming=True)
        service.scheduler.submit(request)
        while not (await request.chunks.get()).last:
            pass
        service.log.access(f"127.0.0.1:{40_100 + 2 * run}", "POST", "/v1/completions", 200)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    service.clock, service.scheduler.clock, service.log.now = kept_clock
    service.scheduler.begin()


async def past_run(service: Service, ago_s: float) -> None:
    """A whole run that ended long ago: loaded, measured, stopped."""
    await live_through(service, ago_s)
    service.log.now = PastClock(ago_s - 90.0 / service.clock.scale).now
    for text in (
        "SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
        (
            "Gracefully exiting... Remaining number of requests 0. "
            "Remaining requests remaining_rids=[]."
        ),
    ):
        service.log.line(text)
    service.log.info("Shutting down")
