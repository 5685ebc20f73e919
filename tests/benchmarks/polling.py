"""What watching costs: a core for many servers, requests for an idle one."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.model.mask import Masks
from console.services.live import watch_fleet
from console.stream.timeline import Timeline
from console.stream.watch import rules
from console.transport.http import Http
from console.transport.local import LocalWire
from tests.rig.waiting import auntil

ROOT = Path(__file__).parents[2]
HOSTS = 50
SERVERS = (25, 50, 100, 200)
SECONDS = 12.0
FASTER = 20.0
"""Requests are counted at this many times the pace, which changes their number and no more."""


@contextmanager
def polled(count: int) -> Iterator[list[int]]:
    """Ports of so many servers in a process of their own."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.polled", str(count)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        yield json.loads(child.stdout.readline())
    finally:
        child.terminate()
        child.wait(10)


def fleet_of(ports: list[int]) -> Fleet:
    """A server at each port, spread over fifty hosts of this machine."""
    hosts = [Host(f"h{n}") for n in range(min(HOSTS, len(ports)))]
    places = [(f"s{n}", hosts[n % len(hosts)].name, port) for n, port in enumerate(ports)]
    return Fleet(
        "polled",
        tuple(hosts),
        tuple(Slot(name, host, port=port) for name, host, port in places),
        tuple(
            Server(name, name, Arm.BASELINE, f"http://127.0.0.1:{port}") for name, _, port in places
        ),
    )


async def core(ports: list[int]) -> float:
    """Share of a core that health, figures and the watch rules of these servers take at rest."""
    clock, pace = SystemClock(), Pace()
    timeline = Timeline(clock, rules(pace))
    fleet = fleet_of(ports)
    async with watch_fleet(
        fleet, timeline, clock, pace, Masks(), Nobody(), on_demand=True
    ) as watch:
        for server in fleet.servers:
            watch.follow_health(server.name)
            watch.follow_status(server.name)
        known = timeline.state.servers
        await auntil(
            lambda: (
                all(cell.metric is not None for cell in timeline.state.servers.values())
                and len(timeline.state.servers) == len(known)
            ),
            60,
        )
        used, began = time.process_time(), time.monotonic()
        await asyncio.sleep(SECONDS)
        return (time.process_time() - used) / (time.monotonic() - began)


async def requests_a_minute(port: int) -> dict[str, float]:
    """What an idle server is asked in a minute of real pace, by path, once it is known."""
    clock, pace = SystemClock(), Pace().scaled(FASTER)
    timeline = Timeline(clock, rules(pace))
    fleet = fleet_of([port])
    http = Http(LocalWire(Host("here")), clock)

    async def counted() -> dict[str, int]:
        answer = await http.get(f"http://127.0.0.1:{port}/count", deadline_s=5)
        found: dict[str, int] = json.loads(answer.body)
        return found

    async with watch_fleet(fleet, timeline, clock, pace, Masks(), Nobody()):
        await auntil(lambda: timeline.state.servers["s0"].metric, 20)
        before, began = await counted(), time.monotonic()
        await asyncio.sleep(2 * 60 / FASTER)
        after, took_s = await counted(), time.monotonic() - began
    await http.close()
    minutes = took_s * FASTER / 60
    asked = {path: (after[path] - before.get(path, 0)) / minutes for path in after}
    return {path: round(rate, 1) for path, rate in asked.items() if rate}


def figures() -> dict[str, object]:
    """Cores at rest for 25 to 200 servers on 50 hosts, and requests that one idle server gets."""
    cores: dict[str, float] = {}
    for count in SERVERS:
        with polled(count) as ports:
            cores[str(count)] = round(asyncio.run(core(ports)), 4)
    with polled(1) as ports:
        asked = asyncio.run(requests_a_minute(ports[0]))
    few, many = (cores[str(n)] / n for n in (SERVERS[0], SERVERS[-1]))
    return {
        "core_by_servers": cores,
        "a_server_of_the_most_over_one_of_the_fewest": round(many / few, 2),
        "requests_a_minute_to_an_idle_server": asked,
    }
