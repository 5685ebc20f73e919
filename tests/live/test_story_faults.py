"""Every step of the story's script on the simulated box when its server dies in the middle of it,
and when its link is cut: the right exit code, a line that says why, how the servers are, a session.

Steps come in the script's order, each run alone with what those before it gave; one that changes a
server is struck while that loads, a benchmark once it has measured.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from console.cli import parser
from console.control.live import Live
from console.control.live_session import LiveSession, Stage
from console.model.ask import Nobody
from console.model.exits import MEANINGS, Exit
from console.plain.run import run_script
from console.session.journal import Journal
from console.store.fleet import load_fleet
from console.stream.fact import Link
from console.stream.run_events import ActAdvanced, RunMeasured
from console.stream.session_events import StepStarted
from console.stream.state import Item, State
from tests.lab.running import Lab, lab
from tests.live.test_acts_lab import ranks
from tests.live.test_story_script import SCRIPT, YES, pace
from tests.rig.proxy import TcpProxy
from tests.rig.waiting import auntil
from tests.services.launching import cmdline

pytestmark = pytest.mark.rig

SCALE = 50.0
PACE = 25.0
"""How much faster the console looks: as fast as the lab it would take a processor for itself."""
# How fast the arms are says nothing at this pace.
HEAD, *STEPS = SCRIPT.read_text().replace(', expect = "FASTER"', "").split("[[step]]\n")
KEPT = '[[step]]\nid = "kept"\nsave = "{saved}"\nalways = true\n'
PURE = ("marker", "assume", "compare", "plan", "assert", "note")
ENDS = {
    # verb: where the server dies, where the link is cut
    "wait": (Exit.DEADLINE, Exit.OK),
    "bench": (Exit.STEP, Exit.UNREACHABLE),
    "swap": (Exit.ROLLED_BACK, Exit.OK),
    "env": (Exit.STEP, Exit.OK),
    "tail": (Exit.OK, Exit.OK),
    **dict.fromkeys(PURE, (Exit.OK, Exit.OK)),
}
SAYS = {
    ("wait", Exit.DEADLINE): r"idle: not within 4 s; .*connection refused|nothing moved for 4 s",
    ("bench", Exit.STEP): r"not valid: unreachable: .*[Cc]onnection refused",
    ("bench", Exit.UNREACHABLE): r"not valid: link lost: ",
    (
        "swap",
        Exit.ROLLED_BACK,
    ): r"ended before it was ready; (rolled back: .* runs as before|the slot"
    r" is empty as before)",
    ("env", Exit.STEP): r"nothing listens on port \d+",
}


@dataclass(frozen=True, slots=True)
class Ended:
    """How one run ended."""

    code: Exit
    out: str
    err: str
    saved: Path


@dataclass
class Night:
    """The lab, the way to it through a proxy that can be cut, and one console on both."""

    running: Lab
    proxy: TcpProxy
    live: Live
    folder: Path
    capsys: pytest.CaptureFixture[str]
    values: dict[str, str] = field(default_factory=dict)
    runs: int = 0
    up: bool = True

    def dies(self) -> None:
        """kill -9 of the server and everything below it."""
        pids = ranks(self.running)
        for pid in self.running.processes():
            with suppress(OSError):
                if "serve" in cmdline(pid) or any("launch_server" in w for w in cmdline(pid)):
                    pids.append(pid)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def run(self, step: str, fault: str = "none") -> Ended:
        """One step as a script, its references written out; the fault comes in its middle."""
        await auntil(self._linked, 30, "the link")
        self.runs += 1
        script, saved = (self.folder / f"{name}{self.runs}.toml" for name in ("step", "saved"))
        limit = "4s" if "wait =" in step and fault == "dies" else "60s"
        told = re.sub(r"\$\{(\w+\.\w+)\}", lambda m: self.values.get(m[1], m[0]), step)
        head = HEAD.replace("300s", limit)
        script.write_text(f"{head}[[step]]\n{told}{KEPT.format(saved=saved)}")
        words = [*YES, "--script", str(script), "--json", "--var", "tokens=60"]
        struck: list[str] = []
        faults: dict[str, Callable[[], object]] = {"dies": self.dies, "cut": self.proxy.cut}

        def take(item: Item, _state: State) -> None:
            middle = isinstance(item, RunMeasured) or (
                isinstance(item, ActAdvanced) and item.text.startswith("weights")
            )
            begun = isinstance(item, StepStarted) and item.verb not in ("bench", "swap")
            if (middle or begun) and fault not in struck:
                struck.append(fault)
                faults.get(fault, bool)()

        self.live.timeline.subscribe(take)
        code = await run_script(parser().parse_args(words), self.live, self.live.fleet)
        self.live.timeline.unsubscribe(take)
        self.up = fault != "dies" and self.up
        shown = self.capsys.readouterr()
        assert struck == [fault], shown.err
        for line in shown.out.splitlines():
            record = json.loads(line)
            for name, value in record.get("results", {}).items() if code is Exit.OK else ():
                self.values[f"{record['step']}.{name}"] = str(value)
        return Ended(code, shown.out, shown.err, saved)

    async def begin(self) -> None:
        """The baseline again, after it died."""
        env = self.values.get("new.env", "")
        given = f'env = "{env}"' if env else ""
        assert (await self.run(f"launch = {{ {given} }}\n")).code is Exit.OK
        self.up = True

    def _linked(self) -> bool:
        link = self.live.timeline.state.hosts["gpu8"].link
        return link is None or link.link is Link.UP


def through(running: Lab, port: int, folder: Path) -> Path:
    """A fleet file whose one host is reached through another port."""
    config, way = Path(running.ready["ssh_config"]), folder / "ssh_config"
    old, text = running.ssh_ports()[0], config.read_text()
    way.write_text(text.replace(f"Port {old}", f"Port {port}", 1))
    known = Path(re.findall(r'UserKnownHostsFile "([^"]+)', text)[0])
    known.write_text(known.read_text() + known.read_text().replace(f"]:{old}", f"]:{port}"))
    fleet = Path(running.ready["fleet"])
    found = fleet.with_name("through.toml")
    found.write_text(fleet.read_text().replace(str(config), str(way)))
    return found


@asynccontextmanager
async def night(folder: Path, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Night]:
    with lab(folder / "lab", scale=SCALE) as running, TcpProxy(running.ssh_ports()[0]) as proxy:
        stage = Stage(load_fleet(through(running, proxy.port, folder)), "simulated")
        options = parser().parse_args([*YES, "--script", "x", "--record", str(folder / "n.toml")])
        async with LiveSession(options, pace(PACE)).live(stage, Nobody(), on_demand=True) as live:
            yield Night(running, proxy, live, folder, capsys)


def verb_of(step: str) -> str:
    (found,) = [verb for verb in ENDS if re.search(rf"^{verb} = ", step, re.M)]
    return found


def judged(step: str, fault: str, ended: Ended) -> None:
    """The right code, one line that says why, how the servers are, and a session."""
    verb, case = verb_of(step), f"{step}\n{fault}: {ended.err}"
    wanted = ENDS[verb][("dies", "cut").index(fault)]
    assert ended.code is wanted, case
    assert "Traceback" not in ended.err + ended.out, case
    if wanted is not Exit.OK:
        (line,) = [line for line in ended.err.splitlines() if f": FAILED ({wanted.value})" in line]
        assert re.search(SAYS[verb, wanted], line), case
        (servers,) = [line for line in ended.err.splitlines() if line.startswith("servers: ")]
        assert re.search(r"kimi-base \w+.*, kimi-eagle3 \w+", servers), case
        assert f"exit {wanted.value}: {MEANINGS[wanted]}" in ended.err, case
    assert Journal(ended.saved).losses() == [], case


async def test_a_fault_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_STATE", str(tmp_path / "state"))
    assert len(STEPS) == 19
    async with night(tmp_path, capsys) as box:
        for step in STEPS:
            verb = verb_of(step)
            if verb in ("wait", "bench", "env") and not box.up:
                await box.begin()
            if verb == "bench":
                assert (await box.run(step)).code is Exit.OK
            # A swap that dies is rolled back: the one that goes on through a cut comes last.
            for fault in ("dies", "cut") if verb == "swap" else ("cut", "dies"):
                judged(step, fault, await box.run(step, fault))
            box.up = box.up or verb == "swap"
    journal = Journal(tmp_path / "n.toml")
    assert journal.losses() == []
    assert journal.closed
