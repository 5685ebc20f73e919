"""Fifty hosts over a real sshd: a slow one and a dead one hold up none of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure
from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.services.live import watch_fleet
from console.stream.timeline import Timeline
from tests.rig.http import ScriptedHttp
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil

pytestmark = [pytest.mark.rig, pytest.mark.alone]

GOOD = tuple(f"host{number}" for number in range(48))
SLOW_MS = 150
PACE = Pace(connect_deadline_s=20.0)


def config_of(sshd: Sshd, ports: dict[str, int]) -> Path:
    """An ssh_config in which every name leads to the one sshd, some through a proxy."""
    kind, blob = sshd.known_hosts.read_text().split()[1:3]
    known = "".join(f"[127.0.0.1]:{port} {kind} {blob}\n" for port in set(ports.values()))
    sshd.known_hosts.write_text(known)
    blocks = [
        sshd.client_block(name).replace(f"Port {sshd.port}", f"Port {port}")
        for name, port in ports.items()
    ]
    config = sshd.folder / "many"
    config.write_text("".join(blocks))
    return config


def fleet_of(names: Sequence[str], config: Path, url: str) -> Fleet:
    return Fleet(
        "many",
        tuple(Host(name, Way.ASYNCSSH, name, str(config)) for name in names),
        tuple(Slot(name, name) for name in names),
        tuple(Server(name, name, Arm.BASELINE, url) for name in names),
    )


async def first_health(fleet: Fleet, waited_for: Sequence[str]) -> tuple[float, Timeline]:
    """Seconds until each of these servers has answered for the first time."""
    clock = SystemClock()
    timeline = Timeline(clock)
    start_s = asyncio.get_running_loop().time()
    async with watch_fleet(
        fleet, timeline, clock, PACE, Masks(), Nobody(), on_demand=True
    ) as watch:
        for server in fleet.servers:
            watch.follow_health(server.name)

        def answered() -> bool:
            seen = [timeline.state.servers[name].health for name in waited_for]
            return all(health is not None and health.code == 200 for health in seen)

        await auntil(answered, 60)
        return asyncio.get_running_loop().time() - start_s, timeline


async def test_a_slow_and_a_dead_host_hold_up_none_of_forty_eight_others(
    sshd: Sshd, scripted_http: ScriptedHttp
) -> None:
    with TcpProxy(sshd.port, delay_ms=SLOW_MS) as slow, TcpProxy(sshd.port) as dead:
        dead.silence()
        ports = dict.fromkeys(GOOD, sshd.port) | {"slow": slow.port, "dead": dead.port}
        config = config_of(sshd, ports)
        alone_s, _ = await first_health(fleet_of(GOOD, config, scripted_http.url), GOOD)
        names = ("slow", "dead", *GOOD)
        beside_s, timeline = await first_health(fleet_of(names, config, scripted_http.url), GOOD)
        print(f"first health of 48 hosts: {alone_s:.2f} s alone, {beside_s:.2f} s beside them")
        assert beside_s < 2 * alone_s + 1
        dead_health = timeline.state.servers["dead"].health
        assert dead_health is None or dead_health.failure is Failure.TIMEOUT


async def test_the_slow_one_is_only_slow(sshd: Sshd, scripted_http: ScriptedHttp) -> None:
    with TcpProxy(sshd.port, delay_ms=SLOW_MS) as slow:
        config = config_of(sshd, {"slow": slow.port})
        took_s, _ = await first_health(fleet_of(["slow"], config, scripted_http.url), ["slow"])
        assert took_s > 2 * SLOW_MS / 1000
