"""The story's script on the simulated box when its server dies or its link is cut, at each kind of
step, started at that step: it ends with its code, keeps the session, and does what always runs."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from console.cli import parser
from console.control.live_session import LiveSession, Stage
from console.model.ask import Nobody
from console.model.exits import Exit
from console.plain.run import run_script
from console.session.journal import Journal
from console.store.fleet import load_fleet
from console.stream.session_events import StepFinished, StepStarted
from console.stream.state import Item, State
from tests.lab.running import Lab, lab
from tests.live.test_acts_lab import ranks
from tests.live.test_story_script import PACE, SCALE, YES
from tests.rig.proxy import TcpProxy
from tests.services.launching import cmdline

pytestmark = [pytest.mark.rig, pytest.mark.xdist_group("acts")]

HEAD = 'schema = "script/1"\ntargets = ["kimi-base"]\n[defaults]\ntimeout = "120s"\n'
ALWAYS = '[[step]]\nid = "kept"\nsave = "{saved}"\nalways = true\n'
STEPS = {
    "wait": 'wait = { until = "log:/never said/", every = "1s" }\n'
    'fail_fast = ["process_exit"]\ntimeout = "10s"',
    "bench": "bench = { tokens = 120 }",
    "tail": "tail = { lines = 3 }",
    "env": "env = {}",
    "swap": 'target = "kimi-eagle3"\nswap = { on_fail = "rollback" }',
    "restart": "restart = {}",
    "back": "restart = {}",
    "over": "swap = {}",
}
DIES = {
    "wait": (Exit.STEP, Exit.DEADLINE, Exit.ASSERTION),
    "bench": (Exit.STEP, Exit.UNREACHABLE),
    "tail": (Exit.OK,),
    "env": (Exit.OK, Exit.STEP, Exit.ASSERTION, Exit.UNREACHABLE),
    "swap": (Exit.OK,),
    "restart": (Exit.OK,),
}
CUT = {
    "wait": (Exit.DEADLINE,),
    "bench": (Exit.OK, Exit.STEP, Exit.UNREACHABLE),
    "tail": (Exit.OK,),
    "env": (Exit.OK, Exit.STEP, Exit.UNREACHABLE),
    "swap": (Exit.OK,),
    "restart": (Exit.OK,),
}


@dataclass
class Night:
    """The lab, and the way to it through a proxy that can be cut."""

    running: Lab
    proxy: TcpProxy
    fleet: Path
    whole: bool = False

    def die(self) -> None:
        """kill -9 of the server and everything below it."""
        pids = ranks(self.running)
        for pid in self.running.processes():
            with suppress(OSError):
                if "serve" in cmdline(pid) or any("launch_server" in w for w in cmdline(pid)):
                    pids.append(pid)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    folder = tmp_path_factory.mktemp("night")
    with lab(folder / "lab", scale=SCALE) as running, TcpProxy(running.ssh_ports()[0]) as proxy:
        config = Path(running.ready["ssh_config"])
        way = folder / "ssh_config"
        old, new = running.ssh_ports()[0], proxy.port
        text = config.read_text()
        way.write_text(text.replace(f"Port {old}", f"Port {new}", 1))
        known = Path(re.findall(r'UserKnownHostsFile "([^"]+)', text)[0])
        known.write_text(known.read_text() + known.read_text().replace(f"]:{old}", f"]:{new}"))
        fleet = Path(running.ready["fleet"])
        through = fleet.with_name("through.toml")
        through.write_text(fleet.read_text().replace(str(config), str(way)))
        yield Night(running, proxy, through)


async def run(night: Night, folder: Path, step: str, fault: str) -> tuple[Exit, Path]:
    """Run the step; the fault comes once the step has begun."""
    script, session_file = folder / "s.toml", folder / "night.toml"
    always = ALWAYS.format(saved=folder / "saved.toml")
    script.write_text(f'{HEAD}[[step]]\nid = "it"\n{STEPS[step]}\n{always}')
    options = parser().parse_args([*YES, "--script", str(script), "--record", str(session_file)])
    fleet = load_fleet(night.fleet)
    session = LiveSession(options, PACE)
    async with session.live(Stage(fleet, "simulated"), Nobody(), on_demand=True) as live:
        begun = asyncio.Event()

        def take(item: Item, _state: State) -> None:
            if isinstance(item, StepStarted) and item.step == "it":
                begun.set()

        live.timeline.subscribe(take)
        running = asyncio.create_task(run_script(options, live, fleet))
        await begun.wait()
        await asyncio.sleep(0)
        if fault == "dies":
            night.die()
        elif fault == "cut":
            night.proxy.cut()
        return await running, session_file


@pytest.mark.parametrize("fault", ["dies", "cut"])
@pytest.mark.parametrize("step", list(DIES))
async def test_a_fault_at_the_step(
    night: Night,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    step: str,
    fault: str,
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_STATE", str(tmp_path / "state"))
    (tmp_path / "up").mkdir()
    if not night.whole:
        up, _ = await run(night, tmp_path / "up", "back", "none")
        if up is Exit.GUARD:
            (tmp_path / "over").mkdir()
            up, _ = await run(night, tmp_path / "over", "over", "none")
        assert up is Exit.OK
    night.whole = fault == "cut" and step != "swap"
    code, session_file = await run(night, tmp_path, step, fault)
    shown = capsys.readouterr()
    assert code in (DIES if fault == "dies" else CUT)[step], shown.err
    assert "Traceback" not in shown.err + shown.out
    journal = Journal(session_file)
    assert journal.losses() == []
    assert journal.closed
    ended = {e.step: e.exit for e in journal.events() if isinstance(e, StepFinished)}
    assert ended == {"it": code, "kept": 0}
    assert (tmp_path / "saved.toml").exists()
