"""The lab's process: SSH servers, the first scene, and the one line that says it is ready.

It runs until its leash (the keeper's pipe) closes; what it started is swept away with it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import asyncssh

from console.lab.args import parse
from console.lab.clocks import ScaledClock
from console.lab.history import past_run
from console.lab.keeper import adopt_orphans, reap_orphans, remove, sweep
from console.lab.log import ServerLog
from console.lab.plan import plan_text
from console.lab.premises import (
    BASELINE,
    SPECULATIVE,
    Recipe,
    fleet_text,
    free_port,
    host_env,
    lay_host,
    make_private,
    recipes,
    ssh_config_text,
)
from console.lab.server import build
from console.lab.site import Site
from console.lab.speed import ASSUMPTIONS
from console.lab.sshd import LabHost, listen
from console.lab.switches import parse_switch, set_switches

_UP_SINCE_S = 7_500.0
_EAGLE_RAN_S = 9_300.0
_REAP_S = 0.5
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the lab was started with.

    Attributes:
        scale: every time is divided by it.
        assume: name of what restored variables give; see console.lab.speed.
        hosts: how many hosts, gpu8 first; only gpu8 has a slot.
        switches: `server.switch=value`, each as on the command line.
    """

    directory: Path
    scale: float = 1.0
    seed: str = "1"
    assume: str = "sober"
    hosts: int = 2
    switches: tuple[str, ...] = ()


def run(wanted: Wanted, leash: int) -> None:
    """Run until `leash` closes, then leave nothing behind."""
    adopt_orphans()
    # What still runs is swept away after the loop has ended; asyncio need not remark on it.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    try:
        asyncio.run(_live(wanted, leash))
    except (OSError, ValueError) as wrong:
        print(f"spec-console lab: {wrong}", file=sys.stderr)
        raise SystemExit(1) from None
    finally:
        sweep()
        remove(wanted.directory)


async def _live(wanted: Wanted, leash: int) -> None:
    make_private(wanted.directory)
    for text in wanted.switches:
        server, name, value = parse_switch(text)
        set_switches(wanted.directory, server, **{name: value})
    sites = _sites(wanted)
    for site in sites:
        lay_host(site)
    hosts = [LabHost(s.host, f"{s.directory}/home", host_env(s)) for s in sites]
    ports = await _listen(wanted.directory, hosts)
    port = free_port()
    launches = recipes(sites[0], port)
    await _first_scene(sites[0], launches)
    ready = _write(wanted, ports, port, launches)
    print(json.dumps(ready), flush=True)
    await _until_closed(leash, hosts)


def _sites(wanted: Wanted) -> list[Site]:
    servers = {"baseline": BASELINE, "speculative": SPECULATIVE}
    lab = str(wanted.directory)
    first = Site("gpu8", lab, wanted.scale, wanted.seed, wanted.assume, servers)
    names = [f"gpu{8 + number}" for number in range(wanted.hosts)]
    return [replace(first, host=name, directory=f"{lab}/hosts/{name}") for name in names]


async def _listen(directory: Path, hosts: list[LabHost]) -> dict[str, int]:
    client = asyncssh.generate_private_key("ssh-ed25519", comment="simulated")
    client.write_private_key(str(directory / "client_key"))
    (directory / "client_key").chmod(0o600)
    ports, known = {}, []
    for host in hosts:
        key = asyncssh.generate_private_key("ssh-ed25519")
        acceptor = await listen(host, key, client.export_public_key())
        ports[host.name] = acceptor.get_port()
        public = key.export_public_key().decode().strip()
        known.append(f"[127.0.0.1]:{ports[host.name]} {public}\n")
    (directory / "known_hosts").write_text("".join(known))
    return ports


async def _first_scene(site: Site, launches: list[Recipe]) -> None:
    """kimi-base up for two hours without the variables; kimi-eagle3 measured and stopped before."""
    baseline, speculative = launches
    launch = parse(list(speculative.argv[1:]))
    descriptor = _open_log(speculative)
    lines = ServerLog(ScaledClock().now, descriptor, descriptor)
    await past_run(build(site, launch, lines, speculative.name, {}), _EAGLE_RAN_S)
    os.close(descriptor)
    site.will_be_up(baseline.name, _UP_SINCE_S)
    descriptor = _open_log(baseline)
    child = await asyncio.create_subprocess_exec(
        *baseline.argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=descriptor,
        stderr=descriptor,
        cwd=baseline.cwd,
        env=host_env(site) | baseline.env,
        start_new_session=True,
    )
    os.close(descriptor)
    while not await _serves(launch.port):
        if child.returncode is not None:
            raise OSError(f"{shlex.join(baseline.argv)} ended with {child.returncode}")
        await asyncio.sleep(_LOOK_S)


def _open_log(recipe: Recipe) -> int:
    return os.open(recipe.log, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)


async def _serves(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    writer.close()
    return True


def _write(
    wanted: Wanted, ports: dict[str, int], port: int, launches: list[Recipe]
) -> dict[str, object]:
    directory = wanted.directory
    ssh_config, fleet = directory / "ssh_config", directory / "fleet.toml"
    plan = directory / "train_plan_v4.md"
    ssh_config.write_text(ssh_config_text(directory, ports))
    fleet.write_text(fleet_text(list(ports), str(ssh_config), port, launches))
    plan.write_text(plan_text())
    return {
        "ssh_config": str(ssh_config),
        "fleet": str(fleet),
        "plan": str(plan),
        "control": str(directory / "control.json"),
        "hosts": list(ports),
        "servers": [launch.name for launch in launches],
        "scale": wanted.scale,
        "assumption": ASSUMPTIONS[wanted.assume].text,
        "pid": os.getpid(),
        "simulated": True,
    }


async def _until_closed(leash: int, hosts: list[LabHost]) -> None:
    closed = asyncio.Event()
    asyncio.get_running_loop().add_reader(leash, closed.set)
    waiting = asyncio.get_running_loop().create_task(closed.wait())
    while not waiting.done():
        await asyncio.wait((waiting,), timeout=_REAP_S)
        reap_orphans(pid for host in hosts for pid in host.waited)
