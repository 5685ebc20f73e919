"""A log on a host: how fast it comes through sshd to the pane, and how soon a line is seen.

The file lies on this machine and is reached over a real sshd, as a host's log is.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path

from textual.pilot import Pilot

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Host, LogId, LogSource
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.services.tail import tail
from console.transport.wires import wire_to
from console.ui.app import ConsoleApp
from tests.rig.sshd import Sshd
from tests.rig.terminal import Terminal
from tests.rig.waiting import auntil
from tests.ui.measure_logs import texts
from tests.ui.stage import Stage, staged

ROOT = Path(__file__).parents[2]
LINES = 1_000_000
BIG = 200_000_000
ROUNDS = 5
TOOLONG = "SPEC_CONSOLE_TOOLONG"
"""Where `tl` of toolong is: it needs a textual of its own, so it cannot be in this environment."""

WRITTEN = b"#running-req"
SEQUENCE = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
DEADLINE_S = 30.0
FLEET = """\
schema = "fleet/1"
[[host]]
name = "gpu8"
ssh = "{alias}"
ssh_config = "{config}"
[[slot]]
name = "gpu8a"
host = "gpu8"
gpus = [0]
port = 1
[[server]]
name = "base"
slot = "gpu8a"
arm = "baseline"
engine = "sglang"
url = "http://127.0.0.1:1"
log = "{log}"
"""


@asynccontextmanager
async def followed(sshd: Sshd, path: Path) -> AsyncIterator[tuple[Stage, ConsoleApp, Pilot[None]]]:
    """The log on the screen of its own, followed over sshd."""
    stage = Stage(clock=SystemClock())
    stage.host("gpu8")
    stage.server("base")
    pace, masks = Pace(), Masks()
    wire = wire_to(
        Host("gpu8", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config)), stage.clock, pace, Nobody()
    )

    async def follow() -> None:
        source = LogSource(path=str(path))
        async with aclosing(
            tail(LogId("base"), "base", source, wire, stage.clock, pace, masks)
        ) as events:
            async for event in events:
                stage.emit(event)

    async with staged(stage, (120, 40)) as (app, pilot):
        await pilot.press("2")
        task = asyncio.create_task(follow())
        try:
            await auntil(lambda: stage.timeline.state.logs["base"].mark.end, DEADLINE_S)
            yield stage, app, pilot
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await wire.close()


def on_screen(app: ConsoleApp, mark: str) -> bool:
    """Whether a text stands on the screen now."""
    strips = app.screen._compositor.render_strips(app.size)
    return any(mark in strip.text for strip in strips)


async def append_to_screen_ms(sshd: Sshd, folder: Path, times: int = 40) -> list[float]:
    """Milliseconds from the write into a file at rest until the line stands on the screen."""
    path = folder / "rest.log"
    path.write_text("".join(f"{line}\n" for line in texts(0, 100)))
    took = []
    async with followed(sshd, path) as (_, app, _pilot):
        for number in range(times):
            # Not in step with any beat on the way.
            await asyncio.sleep(0.6 + number * 0.137 % 0.5)
            mark = f"mark {number}."
            begun = time.perf_counter()
            with path.open("a") as file:
                file.write(f"{mark}\n")
            await auntil(partial(on_screen, app, mark), DEADLINE_S)
            took.append((time.perf_counter() - begun) * 1e3)
    return took


async def lines_per_s(sshd: Sshd, folder: Path) -> dict[str, float]:
    """A million lines written at once: how many come a second, and how long the loop is held.

    The lag at rest, just before, is what the machine's other work costs; `loop_held` counts what
    of a sleep's lateness this program itself was computing.
    """
    path, burst = folder / "burst.log", folder / "burst"
    path.write_text("begin\n")
    burst.write_text("".join(f"{line}\n" for line in texts(0, LINES)) + "end.\n")
    late: list[float] = []
    held: list[float] = []

    async def probe() -> None:
        while True:
            begun, used = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.005)
            late.append((time.perf_counter() - begun - 0.005) * 1e3)
            held.append(max(0.0, time.thread_time() - used - 0.005) * 1e3)

    async with followed(sshd, path) as (stage, app, _):
        probing = asyncio.create_task(probe())
        await asyncio.sleep(2.0)
        rest, late, held = late, [], []
        begun, used = time.perf_counter(), time.process_time()
        writer = await asyncio.create_subprocess_exec("sh", "-c", f"cat {burst} >>{path}")
        await writer.wait()
        await auntil(lambda: stage.timeline.state.logs["base"].mark.end > LINES, 10 * DEADLINE_S)
        await auntil(lambda: on_screen(app, "end."), DEADLINE_S)
        took, used = time.perf_counter() - begun, time.process_time() - used
        probing.cancel()
    return {
        "lines_per_s": round(LINES / took),
        "cpu_us_per_line": round(used / LINES * 1e6, 2),
        "loop_lag_p95_ms": p95(late),
        "loop_lag_max_ms": round(max(late), 1),
        "loop_lag_at_rest_p95_ms": p95(rest),
        "loop_held_p95_ms": p95(held),
    }


def p95(values: list[float]) -> float:
    """The value that 95 % do not exceed."""
    return round(sorted(values)[round((len(values) - 1) * 0.95)], 1)


def first_screen_s(argv: list[str], home: Path) -> float:
    """Seconds from a program's start until a line of the log stands on its terminal."""
    env = {
        **os.environ,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
    }
    begun = time.perf_counter()
    with Terminal(argv, cols=120, rows=40, env=env, cwd=ROOT) as terminal:
        while WRITTEN not in SEQUENCE.sub(b"", terminal.output):
            if time.perf_counter() - begun > DEADLINE_S or terminal.returncode is not None:
                raise TimeoutError(f"{argv}: no line of the log on\n{terminal.screen}")
            time.sleep(0.002)
        return time.perf_counter() - begun


def first_screens(sshd: Sshd, folder: Path) -> dict[str, object]:
    """A log of 200 MB: the console over sshd, lnav and toolong on the local file, in turn."""
    path = folder / "big.log"
    with path.open("w") as file:
        first = 0
        while file.tell() < BIG:
            file.write("".join(f"{line}\n" for line in texts(first, 10_000)))
            first += 10_000
    fleet = folder / "fleet.toml"
    fleet.write_text(FLEET.format(config=sshd.ssh_config, alias=sshd.alias, log=path))
    console = [sys.executable, "-m", "console", "--fleet", str(fleet), "--no-record"]
    programs = {"console over sshd": console}
    skipped = {}
    for name, found, how in (
        ("lnav", shutil.which("lnav"), "not installed: apt-get install lnav"),
        ("toolong", os.environ.get(TOOLONG), f"{TOOLONG} does not name its tl"),
    ):
        if found is None:
            skipped[name] = how
        else:
            programs[name] = [found, str(path)]
    took: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(ROUNDS):
        for name, argv in programs.items():
            took[name].append(first_screen_s(argv, folder))
    median = {name: statistics.median(times) for name, times in took.items()}
    ours = median["console over sshd"]
    return {
        "lines": first,
        "median_s": {name: round(value, 3) for name, value in median.items()},
        "console_over": {
            name: round(ours / value, 2) for name, value in median.items() if value != ours
        },
        "skipped": skipped,
    }


def figures() -> dict[str, object]:
    """All of it, over one sshd."""
    with tempfile.TemporaryDirectory() as name, Sshd(Path(name) / "sshd") as sshd:
        folder = Path(name)
        shown = asyncio.run(append_to_screen_ms(sshd, folder))
        return {
            "append_to_screen_ms": {
                "p50": round(statistics.median(shown), 1),
                "p95": p95(shown),
            },
            "sshd_to_pane": asyncio.run(lines_per_s(sshd, folder)),
            "first_screen_of_200_mb": first_screens(sshd, folder),
        }
