"""What SSH costs: getting in, first data, channels of a watched host, fifty idle hosts, dead links.

Everything goes over one OpenSSH sshd on loopback. A ratio is to the system's ssh run by hand, or to
the same fleet without the slow and the dead host.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Fleet, Host, LogSource, Server
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.services.live import watch_fleet
from console.stream.timeline import Timeline
from console.transport.http import Http
from console.transport.wire import LinkState, Wire
from console.transport.wires import wire_to
from tests.rig.http import ScriptedHttp
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil
from tests.services.many_hosts import config_of, fleet_of

WAYS = (Way.ASYNCSSH, Way.OPENSSH)
ROUNDS = 7
HOSTS = 50
IDLE_S = 20.0
WATCHED_S = 15.0
SLOW_MS = 150.0
FAR_MS = 50.0
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


async def timed_ms(work: Awaitable[object]) -> float:
    """Milliseconds that it takes."""
    start_s = time.perf_counter()
    await work
    return (time.perf_counter() - start_s) * 1e3


def wire(way: Way, config: Path, name: str = "rig") -> Wire:
    """One with the pace of every day."""
    return wire_to(Host(name, way, name, str(config)), SystemClock(), Pace(), Nobody())


async def getting_in(sshd: Sshd, config: Path, url: str) -> dict[str, float]:
    """Median milliseconds to a link that is up, to a command's first byte, to an HTTP answer."""
    by_hand = []
    took: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        argv = ["ssh", "-F", str(sshd.ssh_config), "rig", "true"]
        start_s = time.perf_counter()
        await asyncio.to_thread(subprocess.run, argv, check=True)
        by_hand.append((time.perf_counter() - start_s) * 1e3)
        for way in WAYS:
            one = wire(way, config)
            http = Http(one, SystemClock())
            parts = {
                "connect": await timed_ms(one.up()),
                "first_command": await timed_ms(one.run(["true"], deadline_s=20)),
                "first_http": await timed_ms(http.get(url, deadline_s=20)),
                "next_http": await timed_ms(http.get(url, deadline_s=20)),
            }
            for name, value in parts.items():
                took.setdefault(f"{way}_{name}_ms", []).append(value)
            await http.close()
            await one.close()
    found = {name: round(statistics.median(values), 1) for name, values in took.items()}
    plain = statistics.median(by_hand)
    found["ssh_by_hand_ms"] = round(plain, 1)
    for way in WAYS:
        found[f"{way}_connect_over_ssh_by_hand"] = round(found[f"{way}_connect_ms"] / plain, 2)
    return found


async def far_away(sshd: Sshd) -> dict[str, float]:
    """The same once with 50 ms each way, where round trips are what counts."""
    with TcpProxy(sshd.port, delay_ms=FAR_MS) as proxy:
        config = config_of(sshd, {"rig": proxy.port})
        found: dict[str, float] = {}
        for way in WAYS:
            one = wire(way, config)
            found[f"{way}_connect_ms"] = round(await timed_ms(one.up()))
            found[f"{way}_command_ms"] = round(await timed_ms(one.run(["true"], deadline_s=20)))
            await one.close()
        return found


def sessions(log: str) -> tuple[int, int]:
    """Sessions on one connection by sshd's own log: the most at once, and those open at its end."""
    open_ids: set[str] = set()
    most = 0
    for what, number in re.findall(r"^(Starting|Close) session: .* id (\d+)$", log, re.M):
        (open_ids.add if what == "Starting" else open_ids.discard)(number)
        most = max(most, len(open_ids))
    return most, len(open_ids)


async def channels(sshd: Sshd, config: Path, url: str) -> dict[str, int]:
    """Sessions of one host on which everything is watched."""
    found: dict[str, int] = {}
    log = sshd.folder / "server.log"
    log.write_text("line\n")
    for way in WAYS:
        fleet = fleet_of(["rig"], config, url, way)
        server = Server("rig", "rig", fleet.servers[0].arm, url, log=LogSource(path=str(log)))
        seen = sshd.log.stat().st_size
        timeline = Timeline(SystemClock())
        whole = Fleet("one", fleet.hosts, fleet.slots, (server,))
        async with watch_fleet(whole, timeline, SystemClock(), Pace(), Masks(), Nobody()):
            await asyncio.sleep(WATCHED_S)
            most, rest = sessions(sshd.log.read_text()[seen:])
        found |= {f"{way}_sessions_at_rest": rest, f"{way}_sessions_at_most": most}
    return found


def cpu_s(pid: int) -> float:
    """Processor seconds of a process so far; 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) * TICK_S


def of_ours(config: Path) -> list[int]:
    """This process and every ssh that reads this configuration."""
    found = [os.getpid()]
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(config).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


async def idle(sshd: Sshd) -> dict[str, float]:
    """Percent of a core that fifty links take on which nothing happens but keepalives."""
    names = [f"host{number}" for number in range(HOSTS)]
    config = config_of(sshd, dict.fromkeys(names, sshd.port))
    found = {}
    for way in WAYS:
        async with AsyncExitStack() as open_wires:
            for name in names:
                one = wire(way, config, name)
                open_wires.push_async_callback(one.close)
                await one.up()
            pids = of_ours(config)
            before_s, start_s = sum(map(cpu_s, pids)), time.perf_counter()
            await asyncio.sleep(IDLE_S)
            share = (sum(map(cpu_s, pids)) - before_s) / (time.perf_counter() - start_s)
            found[f"{way}_core_percent_of_{HOSTS}_idle_hosts"] = round(100 * share, 2)
    return found


async def first_health_s(fleet: Fleet, waited_for: list[str]) -> float:
    """Seconds until each of these servers has answered for the first time."""
    clock = SystemClock()
    timeline = Timeline(clock)
    start_s = time.perf_counter()
    async with watch_fleet(
        fleet, timeline, clock, Pace(), Masks(), Nobody(), on_demand=True
    ) as watch:
        for server in fleet.servers:
            watch.follow_health(server.name)

        def answered() -> bool:
            seen = [timeline.state.servers[name].health for name in waited_for]
            return all(health is not None and health.code == 200 for health in seen)

        await auntil(answered, 120)
        return time.perf_counter() - start_s


async def beside(sshd: Sshd, url: str) -> dict[str, float]:
    """Forty-eight hosts alone and beside a slow and a dead one."""
    good = [f"host{number}" for number in range(HOSTS - 2)]
    with TcpProxy(sshd.port, delay_ms=SLOW_MS) as slow, TcpProxy(sshd.port) as dead:
        dead.silence()
        ports = {"slow": slow.port, "dead": dead.port} | dict.fromkeys(good, sshd.port)
        config = config_of(sshd, ports)
        alone_s, beside_s = [], []
        for _ in range(3):
            alone_s.append(await first_health_s(fleet_of(good, config, url), good))
            beside_s.append(await first_health_s(fleet_of([*ports], config, url), good))
    return {
        "alone_s": round(statistics.median(alone_s), 2),
        "beside_s": round(statistics.median(beside_s), 2),
        "beside_over_alone": round(statistics.median(beside_s) / statistics.median(alone_s), 2),
    }


async def lost_after(way: Way, config: Path, spoil: Callable[[], None]) -> float:
    """Seconds from spoiling a link that is up until it is known to be lost, at every day's pace."""
    one = wire(way, config)
    try:
        await one.up()
        await asyncio.to_thread(spoil)
        start_s = time.perf_counter()
        async for seen in one.links():
            if seen.state is LinkState.LOST:
                break
        return round(time.perf_counter() - start_s, 2)
    finally:
        await one.close()


async def dead_links(sshd: Sshd) -> dict[str, float]:
    """A cut and a silence (keepalives every 5 s, lost after the third without an answer)."""
    found = {}
    for way in WAYS:
        for name in ("cut", "silence"):
            with TcpProxy(sshd.port) as proxy:
                config = config_of(sshd, {"rig": proxy.port})
                spoil = proxy.cut if name == "cut" else proxy.silence
                found[f"{way}_lost_after_{name}_s"] = await lost_after(way, config, spoil)
    return found


async def _all() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tool = place / "sshd" / "nvidia-smi"
        tool.parent.mkdir()
        tool.write_text(_GPU_TOOL)
        tool.chmod(0o755)
        path = {"PATH": f"{tool.parent}:{os.environ['PATH']}"}
        with Sshd(place / "sshd", set_env=path) as sshd, ScriptedHttp() as server:
            config = config_of(sshd, {"rig": sshd.port})
            return {
                "loopback": await getting_in(sshd, config, server.url),
                "channels": await channels(sshd, config, server.url),
                "50_ms_each_way": await far_away(sshd),
                "idle": await idle(sshd),
                "50_hosts_first_health": await beside(sshd, server.url),
                "dead_links": await dead_links(sshd),
            }


_GPU_TOOL = """#!/bin/sh
case "$*" in
--help-query-gpu) echo '"index"'; echo '"uuid"'; echo '"name"' ;;
--query-compute-apps=*) : ;;
*-lms*) echo "index, uuid, name"; while :; do echo "0, GPU-0, NVIDIA Y"; sleep 1; done ;;
*) echo "index, uuid, name"; echo "0, GPU-0, NVIDIA Y" ;;
esac
"""


def figures() -> dict[str, object]:
    """All of it; takes about three minutes."""
    return asyncio.run(_all())
