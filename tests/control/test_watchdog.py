"""What ends a step early: a log line, a process gone, nothing that moves, the script's own time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from console.control.port import Argument, Outcome
from console.control.script import load_script
from console.control.steps import Steps
from console.model.clock import US_PER_S, ManualClock
from console.model.exits import Exit
from console.model.mask import Masks
from console.services.live import listed
from console.stream.fact import FeedState, Standing
from console.stream.run_events import RunMeasured
from console.stream.server_events import (
    LoadAdvanced,
    LogAdvanced,
    LogFeedChanged,
    StandingChanged,
)
from console.stream.timeline import Timeline
from tests.control.test_repeat import Told, fleet_in
from tests.session.writing import c

HEAD = 'schema = "script/1"\nname = "s"\ntargets = ["base"]\n'


class Night:
    """A control in whose night something happens while a verb is done, one thing a second."""

    playback = None

    def __init__(self, folder: Path, *happens: object) -> None:
        self.clock = ManualClock()
        self.timeline = Timeline(self.clock)
        self.timeline.open(listed(fleet_in(folder), Masks()))
        self.happens = list(happens)
        self.done: list[str] = []
        self.lines = 0
        self.says("an old Traceback")

    def says(self, *lines: str) -> None:
        texts = tuple(map(c, lines))
        self.timeline.emit(LogAdvanced(c("base"), self.lines, len(texts), lines=texts))
        self.lines += len(texts)

    def can(self, verb: str, server: str = "") -> str | None:
        del verb, server
        return None

    async def pass_time(self, seconds: float) -> bool:
        self.clock.advance(seconds)
        await asyncio.sleep(0)
        if self.happens:
            self._happen(self.happens.pop(0))
        return True

    def _happen(self, what: object) -> None:
        if isinstance(what, str):
            self.says(what)
        elif what is not None:
            self.timeline.emit(what)  # type: ignore[arg-type]

    async def do(
        self,
        verb: str,
        server: str = "",
        arguments: Mapping[str, Argument] | None = None,
        timeout_s: float = 30.0,
    ) -> Outcome:
        del server, arguments, timeout_s
        self.done.append(verb)
        if verb == "tail":
            self.timeline.emit(LogFeedChanged(c("base"), FeedState.FOLLOWING))
            return Outcome(Exit.OK, c("1 line"))
        if verb == "health":
            return Outcome(Exit.UNREACHABLE, c("/health refused"))
        while True:
            await self.pass_time(1.0)


async def run(
    folder: Path, night: Night, *steps: str, head: str = HEAD
) -> tuple[Exit, list[Outcome]]:
    path = folder / "s.toml"
    path.write_text(head + "".join(f"[[step]]\n{step}\n" for step in steps))
    told: list[Outcome] = []

    class Kept(Told):
        def step_finished(self, step: object, server: str, outcome: Outcome) -> None:
            del step, server
            told.append(outcome)

    script = load_script(path, fleet_in(folder))
    code = await Steps(script, night, Kept(), Masks(), {}).go()
    return code, told


WAIT = 'wait = { until = "health", every = "1s" }\ntimeout = "900s"\n'
BENCH = 'bench = {}\ntimeout = "900s"\n'


@pytest.mark.parametrize("step", [WAIT, BENCH])
async def test_a_log_line_ends_it_and_what_was_there_before_does_not(
    tmp_path: Path, step: str
) -> None:
    night = Night(tmp_path, "weights", '"GET /x HTTP/1.1" 200', "CUDA out of memory", "later")
    code, (told,) = await run(
        tmp_path, night, step + 'fail_fast = ["log:/out of memory|Traceback/"]'
    )
    assert code is Exit.STEP
    assert told.text.endswith("ended: log:/out of memory|Traceback/ in base: CUDA out of memory")
    assert list(told.lines)[-1] == "CUDA out of memory"
    assert night.timeline.now_us <= 8 * US_PER_S


async def test_a_process_that_goes_ends_it_one_that_never_was_does_not(tmp_path: Path) -> None:
    gone = StandingChanged(c("base"), Standing.DOWN, c("its process ended"))
    night = Night(tmp_path, gone, StandingChanged(c("base"), Standing.STARTING, c("log")), gone)
    code, (told,) = await run(tmp_path, night, WAIT + 'fail_fast = ["process_exit"]')
    assert code is Exit.STEP
    assert told.text == "wait ended: base is gone: its process ended"
    assert round(night.timeline.now_us / US_PER_S) == 3


@pytest.mark.parametrize("step", [WAIT, BENCH])
async def test_nothing_that_moves_ends_it_and_polls_are_no_movement(
    tmp_path: Path, step: str
) -> None:
    loaded = [LoadAdvanced(c("base"), c("weights"), done=n, total=64) for n in range(8)]
    poll = '"GET /health HTTP/1.1" 503'
    night = Night(tmp_path, *loaded, *[poll] * 100)
    code, (told,) = await run(tmp_path, night, step + 'stall = "5s"')
    assert (code, told.text) == (Exit.DEADLINE, f"{step.split()[0]} ended: nothing moved for 5 s")
    assert 13 <= night.timeline.now_us / US_PER_S <= 18


async def test_the_time_of_the_whole_script_ends_it_but_what_always_runs(tmp_path: Path) -> None:
    night = Night(tmp_path, *[RunMeasured(c("b1"), 1)] * 900)
    head = HEAD.replace('name = "s"', 'name = "s"\ntimeout = "20s"')
    steps = (WAIT, BENCH, "health = {}\nalways = true")
    code, told = await run(tmp_path, night, *steps, head=head)
    assert code is Exit.DEADLINE
    assert [outcome.exit for outcome in told] == [Exit.DEADLINE, Exit.UNREACHABLE]
    assert told[0].text == "wait ended: the time of the whole script is over"
    assert night.timeline.now_us < 30 * US_PER_S


async def test_defaults_hold_for_every_step(tmp_path: Path) -> None:
    head = HEAD + '[defaults]\nstall = "5s"\nfail_fast = ["log:/Xid/"]\ntimeout = "900s"\n'
    night = Night(tmp_path, None, "NVRM: Xid 79")
    code, (told,) = await run(tmp_path, night, "bench = {}", head=head)
    assert (code, told.text) == (Exit.STEP, "bench ended: log:/Xid/ in base: NVRM: Xid 79")
