"""A simulated `sglang serve`: one process that logs, loads, answers, fails and stops like 0.5.23.

Started by the `sglang` stand-in of a lab host, or as `python -m console.lab.server HOST_DIR serve
…`. It makes child processes and one listening socket on loopback; it never uses a GPU.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from console.lab.args import BadArguments, Launch, parse
from console.lab.clocks import ScaledClock
from console.lab.history import live_through
from console.lab.load import load, say_running, say_started, warm_up
from console.lab.log import ServerLog
from console.lab.nccl_debug import say_nccl
from console.lab.processes import Children, set_launcher_environment
from console.lab.routes import answer
from console.lab.scheduler import Scheduler
from console.lab.service import Service, Standing
from console.lab.site import Site, load_site
from console.lab.speed import ASSUMPTIONS, speed_of
from console.lab.trouble import Trouble
from console.lab.web import Call, Web


def build(site: Site, launch: Launch, log: ServerLog, name: str, env: Mapping[str, str]) -> Service:
    """A service as this launch on this host and with this environment makes it."""
    clock = ScaledClock(site.scale)
    speed = speed_of(
        env,
        speculative=launch.speculative,
        assumption=ASSUMPTIONS[site.assume],
        seed=f"{site.seed}/{name}/{site.next_launch(name)}",
    )
    scheduler = Scheduler(
        speed,
        clock,
        log,
        interval=launch.number("decode_log_interval"),
        max_running=48 if launch.speculative else 2048,
    )
    return Service(launch, scheduler, clock, log)


def name_of(site: Site, launch: Launch) -> str:
    """The fleet's name of a launch: its arm decides."""
    return site.servers["speculative" if launch.speculative else "baseline"]


def _bind(launch: Launch) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", launch.port))
    except OSError:
        listener.close()
        raise
    return listener


async def _port(service: Service, trouble: Trouble, held: socket.socket | None) -> None:
    log, launch = service.log, service.launch
    starting = service.standing is Standing.STARTING
    if starting:
        say_started(service)
    await trouble.at("bind")
    try:
        listener = held or _bind(launch)
    except OSError:
        log.info(
            f"[Errno 98] error while attempting to bind on address ('127.0.0.1', {launch.port}): "
            "address already in use",
            "ERROR",
        )
        log.info("Waiting for application shutdown.")
        log.info("Application shutdown complete.")
        trouble.leave(1)
        raise

    def access(call: Call, status: int) -> None:
        service.answered[call.path, call.method, status] += 1
        log.access(call.peer, call.method, call.target, status)

    web = Web(lambda call: answer(service, call), access)
    await asyncio.start_server(web.connected, sock=listener, backlog=2048)
    if starting:
        say_running(service)


async def _serve(site: Site, launch: Launch, inherited: int) -> None:
    log = ServerLog(ScaledClock().now)
    name = name_of(site, launch)
    switches = site.switches(name)
    service = build(site, launch, log, name, os.environ)
    held = _held_port(launch) if switches.orphans else None
    children = Children(launch.tp_size, inherited, held.fileno() if held else -1)
    trouble = Trouble(service, children, site, name)
    loop = asyncio.get_running_loop()
    background = {loop.create_task(trouble.watch())}
    ago_s = site.up_since(name)
    if ago_s is not None:
        await live_through(service, ago_s)
    else:

        async def at(phase: str) -> None:
            await trouble.at(phase)
            if phase == "weights":
                say_nccl(log, os.environ, [child.pid for child in children.ranks])

        await load(service, switches, at)
    trouble.serving = True
    loop.add_signal_handler(signal.SIGTERM, trouble.drain)
    await _port(service, trouble, held)
    background.add(loop.create_task(service.scheduler.run()))
    if ago_s is None:
        await warm_up(service, trouble.at)
        service.standing = Standing.UP
    await trouble.at("serving")
    await asyncio.gather(*background)


def _held_port(launch: Launch) -> socket.socket | None:
    """Bound before the ranks start, so that they hold it too; None when it is taken."""
    try:
        return _bind(launch)
    except OSError:
        return None


def main(argv: list[str], host_dir: Path) -> None:
    """Run one server until it is stopped or fails; never returns normally."""
    site = load_site(host_dir)
    try:
        launch = parse(argv)
    except BadArguments as wrong:
        print(f"usage: sglang serve [options]\nsglang serve: error: {wrong}", file=sys.stderr)
        sys.exit(2)
    inherited = set_launcher_environment()
    asyncio.run(_serve(site, launch, inherited))


if __name__ == "__main__":
    main(sys.argv[2:], Path(sys.argv[1]))
