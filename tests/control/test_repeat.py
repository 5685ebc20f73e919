"""`repeat`: rounds written out, time told first, what ran before at the end, and going on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from console.control.port import Argument, Outcome
from console.control.resuming import Resumed, resumed
from console.control.script import Script, load_script
from console.control.steps import Steps
from console.control.to_script import to_script
from console.model.clock import US_PER_S, ManualClock
from console.model.exits import Exit, NotStarted
from console.model.fleet import Arm, Command, Engine, Fleet, Host, Server, Slot
from console.model.mask import Masks
from console.services.live import listed
from console.session.journal import Journal
from console.session.recorder import Recorder
from console.store.toml import BadFile
from console.stream.loads import load_known
from console.stream.session_events import StepFinished
from console.stream.state import Item, State
from console.stream.timeline import Timeline
from tests.session.writing import c

SWEEP = """\
schema = "script/1"
name = "sweep"
targets = ["base"]

[vars]
few = 3

[[step]]
id = "before"
health = {}

[[step]]
id = "sweep"

[step.repeat]
over = [
    { name = "bare" },
    { name = "plan", profile = "nccl-7", env = "NCCL_DEBUG=WARN" },
    { name = "six", args = "--draft 6", tokens = 64 },
]

[[step.repeat.step]]
id = "up"
restart = { env = "${each.env}", args = "${each.args}", ready_within = "20m" }

[[step.repeat.step]]
id = "rate"
bench = { runs = 3, tokens = "${each.tokens}" }
when = "${up.outcome} == done"

[[step.repeat.step]]
assert = "${rate.decode_tok_s} > 0"

[[step]]
note = "${sweep.best}: ${sweep_3_rate.decode_tok_s} after ${before.code}"
always = true
"""
PROFILES = """\
schema = "profiles/1"
[[profile]]
name = "nccl-7"
[profile.env]
NCCL_PROTO = "LL"
NCCL_ALGO = "Ring"
"""


def fleet_in(folder: Path) -> Fleet:
    (folder / "profiles.toml").write_text(PROFILES)
    servers = tuple(
        Server(name, "box:1", arm, "http://127.0.0.1:1", Engine.SGLANG)
        for name, arm in (("base", Arm.BASELINE), ("spec", Arm.SPECULATIVE))
    )
    slots = (Slot("box:1", "box", port=1),)
    look = Command("look", "box", ("true",), read_only=True)
    return Fleet("f", (Host("box"),), slots, servers, str(folder / "fleet.toml"), (look,))


def check(folder: Path, text: str) -> Script:
    path = folder / "sweep.toml"
    path.write_text(text)
    return load_script(path, fleet_in(folder))


@dataclass
class Told:
    """A report that keeps what it is told."""

    said: list[str] = field(default_factory=list)

    def step_started(self, step: object, server: str) -> None:
        pass

    def progress(self, step: object, server: str, text: str) -> None:
        del step, server
        self.said.append(text)

    def step_finished(self, step: object, server: str, outcome: Outcome) -> None:
        pass

    def step_left_out(self, step: object, why: str) -> None:
        del step
        self.said.append(f"left out: {why}")


Results = dict[str, str | int | float]
Answer = Callable[[str, str, Mapping[str, Argument]], Outcome | None]


class Box:
    """A control over one slot in which servers run; its clock moves with what it does."""

    playback = None

    def __init__(self, folder: Path, answer: Answer, session: str = "s.toml") -> None:
        self.clock = ManualClock()
        self.timeline = Timeline(self.clock)
        self.recorder = Recorder(folder / session, self.timeline.emit)
        self.timeline.subscribe(self.recorder.take)
        self.timeline.open(listed(fleet_in(folder), Masks()))
        self.timeline.subscribe(self._keep)
        self.answer = answer
        self.done: list[str] = []
        self.runs = "base"
        self.spread = 0.5
        self.allowed = {"base", "spec"}
        self.items: list[Item] = []

    def _keep(self, item: Item, _state: State) -> None:
        self.items.append(item)

    def can(self, verb: str, server: str = "") -> str | None:
        changes = verb in ("restart", "swap", "stop", "adopt", "launch")
        wrong = changes and server and server not in self.allowed
        return f"not confirmed: --yes-target {server} is missing" if wrong else None

    async def pass_time(self, seconds: float) -> bool:
        self.clock.advance(seconds)
        return True

    async def do(
        self,
        verb: str,
        server: str = "",
        arguments: Mapping[str, Argument] | None = None,
        timeout_s: float = 30.0,
    ) -> Outcome:
        del timeout_s
        given = dict(arguments or {})
        words = " ".join(f"{name}={value}" for name, value in given.items())
        self.done.append(f"{verb} {server} {words}".strip())
        self.clock.advance(60.0)
        answer = self.answer(verb, server, given)
        if answer is not None:
            return answer
        match verb:
            case "adopt" if self.runs == server:
                results: Results = {"recipe": f"/home/me/.spec-console/adopted/{server}.recipe"}
                return Outcome(Exit.OK, c("adopted"), results)
            case "adopt" if not self.runs:
                return Outcome(Exit.STEP, c("nothing to adopt: nothing listens on port 1"))
            case "adopt":
                return Outcome(Exit.GUARD, c(f"adopt refused: {self.runs} runs in this slot"))
            case "restart" if self.runs not in ("", server):
                return Outcome(Exit.GUARD, c(f"{self.runs} runs in this slot; swap changes arms"))
            case "restart" | "swap":
                self.runs = server
                return Outcome(
                    Exit.OK, c("ready after 1 s"), {"outcome": "done", "ready_us": 240_000_000}
                )
            case "stop":
                self.runs = ""
                return Outcome(Exit.OK, c("stopped"))
            case "bench":
                rate = 50.0 + len(self.done)
                low, high = rate - self.spread, rate + self.spread
                figures: Results = {"decode_tok_s": rate, "low": low, "high": high}
                return Outcome(Exit.OK, c(f"{rate:.1f} tok/s"), figures)
            case _:
                return Outcome(Exit.OK, c("200"), {"code": 200})


def is_end_of(item: Item, step: str) -> bool:
    return isinstance(item, StepFinished) and item.step == step


def is_round(item: Item) -> bool:
    return isinstance(item, StepFinished) and item.verb == "repeat"


def nothing(_verb: str, _server: str, _given: Mapping[str, Argument]) -> Outcome | None:
    return None


async def go(
    box: Box, script: Script, before: Resumed | None = None, stopped: Callable[[], bool] = bool
) -> tuple[Exit, Told]:
    told = Told()
    steps = Steps(
        script, box, told, Masks(), {"date": "2026-11-29"}, stopped, resumed=before or Resumed()
    )
    try:
        return await steps.go(), told
    finally:
        box.recorder.close()


RECIPE = "recipe=/home/me/.spec-console/adopted/base.recipe"


async def test_every_item_runs_and_what_ran_before_runs_again(tmp_path: Path) -> None:
    box = Box(tmp_path, nothing)
    stages = [("weights", 200.0), ("graphs", 40.0)]
    box.timeline.emit(load_known(c("base"), "load 1", "warm", stages))
    code, told = await go(box, check(tmp_path, SWEEP))
    assert code is Exit.OK
    assert box.done == [
        "health base",
        "adopt base",
        "restart base ready_within=1200.0",
        "bench base runs=3",
        "restart base env=NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_DEBUG=WARN ready_within=1200.0",
        "bench base runs=3",
        "restart base args=--draft 6 ready_within=1200.0",
        "bench base runs=3 tokens=64",
        f"restart base {RECIPE}",
        "note  text=six: 58.0 after 200",
    ]
    # 4 loads of 240 s; 500 tokens at 60 tok/s and 0.5 s: 4 runs twice, 64 tokens 4 times.
    expected = 4 * 240 + 8 * (0.5 + 500 / 60) + 4 * (0.5 + 64 / 60)
    assert round(expected / 60) == 17
    assert told.said[0].startswith("3 rounds, about 17 minutes for 4 loads and 3 benchmarks")
    assert "round 1 of 3, bare: about 4 minutes left" in told.said
    (ended,) = [item for item in box.items if is_end_of(item, "sweep")]
    assert isinstance(ended, StepFinished)
    assert dict(ended.results)[c("best")] == "six"
    assert dict(ended.results)[c("passed")] == "3"
    assert ended.text == "3 of 3 rounds passed; the best is six with 58.0 tok/s"


@pytest.mark.parametrize(
    ("spread", "alike"),
    [(0.9, ""), (1.0, ", not told apart from plan"), (2.0, ", not told apart from bare, plan")],
)
async def test_the_best_is_told_with_those_whose_interval_reaches_into_its_own(
    tmp_path: Path, spread: float, alike: str
) -> None:
    box = Box(tmp_path, nothing)
    box.spread = spread
    script = check(
        tmp_path, SWEEP.replace("${sweep.best}: ${sweep_3_rate", "${sweep.line}: ${sweep_3_rate")
    )
    await go(box, script)
    said = f"the best is six with 58.0 tok/s{alike}"
    assert box.done[-1] == f"note  text={said}: 58.0 after 200"


async def test_a_round_that_fails_is_told_and_the_others_run(tmp_path: Path) -> None:
    def answer(verb: str, _server: str, given: Mapping[str, Argument]) -> Outcome | None:
        if verb == "restart" and "PROTO" in str(given.get("env")):
            return Outcome(Exit.ASSERTION, c("CUDA out of memory"), {"outcome": "failed"})
        return None

    box = Box(tmp_path, answer)
    code, told = await go(box, check(tmp_path, SWEEP))
    assert code is Exit.ASSERTION
    assert sum(one.startswith("bench") for one in box.done) == 2
    assert f"restart base {RECIPE}" in box.done
    assert told.said.count("left out: a step before it failed") == 2
    stops = SWEEP.replace("[[step.repeat.step]]", 'on_fail = "stop"\n\n[[step.repeat.step]]', 1)
    box = Box(tmp_path, answer, "second.toml")
    code, _ = await go(box, check(tmp_path, stops))
    assert sum(one.startswith("bench") for one in box.done) == 1
    assert box.done[-1] == f"restart base {RECIPE}"


@pytest.mark.parametrize(
    ("runs", "end"),
    [
        ("spec", "swap spec recipe=/home/me/.spec-console/adopted/spec.recipe"),
        ("", "stop base"),
    ],
)
async def test_another_server_or_none_ran_before(tmp_path: Path, runs: str, end: str) -> None:
    box = Box(tmp_path, nothing)
    box.runs = runs
    script = check(tmp_path, SWEEP.replace("restart = {", "swap = {"))
    code, _ = await go(box, script)
    assert (code, box.runs) == (Exit.OK, runs)
    assert end in box.done


async def test_what_may_not_come_back_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    box = Box(tmp_path, nothing)
    box.runs, box.allowed = "spec", {"base"}
    code, _ = await go(box, check(tmp_path, SWEEP.replace("restart = {", "swap = {")))
    assert code is Exit.GUARD
    assert not [one for one in box.done if one.startswith(("swap", "restart", "stop"))]
    box = Box(tmp_path, nothing, "second.toml")
    box.allowed = set()
    code, _ = await go(box, check(tmp_path, SWEEP))
    assert code is Exit.GUARD
    assert box.done == ["health base"]


def interrupted(
    stop: asyncio.Event, step: str, there: Callable[[Mapping[str, Argument]], bool]
) -> Answer:
    """An interruption where a step of this verb is the one meant, and nothing elsewhere."""

    def answer(verb: str, _server: str, given: Mapping[str, Argument]) -> Outcome | None:
        if verb != step or not there(given):
            return None
        stop.set()
        return Outcome(Exit.INTERRUPTED, c("interrupted"))

    return answer


async def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    stop = asyncio.Event()
    box = Box(
        tmp_path,
        interrupted(stop, "bench", lambda given: given.get("tokens") == 64),
    )
    script = check(tmp_path, SWEEP)
    code, _ = await go(box, script, stopped=stop.is_set)
    assert code is Exit.INTERRUPTED
    assert f"restart base {RECIPE}" not in box.done
    again = Box(tmp_path, nothing, "again.toml")
    before = resumed(tmp_path / "s.toml")
    code, told = await go(again, script, before)
    assert code is Exit.OK
    assert again.done[:4] == [
        "health base",
        "restart base args=--draft 6 ready_within=1200.0",
        "bench base runs=3 tokens=64",
        f"restart base {RECIPE}",
    ]
    # What that night measured: 240 s a load, 56 tok/s.
    assert told.said[0] == "1 round, 2 done before, about 8 minutes for 2 loads and 1 benchmark"
    kept = [event for event in Journal(tmp_path / "again.toml").events() if is_round(event)]
    assert len(kept) == 5
    # Interrupted again, the third night still knows what the first one did.
    assert resumed(tmp_path / "again.toml").round("sweep_1", "bare") is not None
    renamed = check(tmp_path, SWEEP.replace('"plan"', '"other plan"'))
    third = Box(tmp_path, nothing, "third.toml")
    await go(third, renamed, before)
    assert sum(one.startswith("bench") for one in third.done) == 2


async def test_interrupted_on_the_way_back_it_still_brings_back_what_ran_before(
    tmp_path: Path,
) -> None:
    stop = asyncio.Event()
    script = check(tmp_path, SWEEP)
    box = Box(tmp_path, interrupted(stop, "restart", lambda given: "recipe" in given))
    code, _ = await go(box, script, stopped=stop.is_set)
    assert code is Exit.INTERRUPTED
    again = Box(tmp_path, nothing, "again.toml")
    code, told = await go(again, script, resumed(tmp_path / "s.toml"))
    assert code is Exit.OK
    assert again.done == ["health base", f"restart base {RECIPE}", "note  text=six: 58.0 after 200"]
    assert told.said[0].startswith("0 rounds, 3 done before, about 4 minutes for 1 load and 0 ")
    third = Box(tmp_path, nothing, "third.toml")
    await go(third, script, resumed(tmp_path / "again.toml"))
    assert third.done == ["health base", "note  text=six: 58.0 after 200"]


async def test_its_time_is_over_and_what_ran_before_still_comes_back(tmp_path: Path) -> None:
    box = Box(tmp_path, nothing)
    timed = SWEEP.replace('id = "sweep"\n', 'id = "sweep"\ntimeout = "3m"\n')
    code, _ = await go(box, check(tmp_path, timed))
    assert code is Exit.DEADLINE
    assert f"restart base {RECIPE}" in box.done
    assert box.timeline.now_us < 12 * 60 * US_PER_S


def test_a_file_that_is_no_session_cannot_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("x = 1\n")
    with pytest.raises(NotStarted, match=r"--resume .*not a session file"):
        resumed(tmp_path / "x.toml")


async def test_the_sweep_of_a_session_becomes_its_steps(tmp_path: Path) -> None:
    await go(Box(tmp_path, nothing), check(tmp_path, SWEEP))
    text = to_script(Journal(tmp_path / "s.toml"))
    path = tmp_path / "out.toml"
    path.write_text(text)
    steps = load_script(path, fleet_in(tmp_path)).steps
    verbs = ["health", *["restart", "bench", "assert"] * 3]
    assert [step.verb for step in steps] == verbs
    assert steps[2].when[0].text == "${sweep_1_up.outcome} == done"
    assert "sweep_2: holds" in text
    assert 'note: ${sweep.best}: no step before this one has the id "sweep"' in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('profile = "nccl-7"', 'profile = "nccl-8"', ':18:22: over: no profile is named "nccl-8"'),
        ("${each.args}", "${each.arg}", ':24:34: ${each.arg}: no item of over has "arg" (did you'),
        ("tokens = 64", "tokens = [64]", ":19:41: over: tokens: a text or a number was expected"),
        ('{ name = "bare" }', "{ }", ':17:5: over: name = "…" was expected in each table'),
        ('{ name = "bare" }', "true", ":17:5: over: a text, a number or a table"),
        ("runs = 3", 'runs = "3"', ":28:11: runs: a whole number was expected, not a text"),
        ("${up.outcome}", "${upp.outcome}", ':29:1: ${upp.outcome}: no step before this one'),
        ("${up.outcome}", "${up.outcom}", 'restart gives no "outcom" (did you mean "outcome"?)'),
        ("assert = \"${rate", "tial = \"${rate", ':32:1: "tial" is no verb'),
        ('id = "rate"', 'id = "up"', ':27:1: id: "sweep_1_up" is taken'),
        ("${sweep_3_rate.decode_tok_s}", "${sweep_4_rate.decode_tok_s}", "no step before this one"),
        ("bench = {", "repeat = {", ":28:1: repeat: no repeat within a repeat"),
        ("over = [", "over = []\nother = [", ":16:1: repeat: over = [ … ] was expected"),
        ("ready_within", "ready_whithin", ':24:57: unknown key "ready_whithin" (did you mean'),
    ],
)  # fmt: skip
def test_a_wrong_repeat_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in SWEEP
    with pytest.raises(BadFile) as caught:
        check(tmp_path, SWEEP.replace(old, new, 1))
    problems = [str(problem) for problem in caught.value.problems]
    assert any(said in problem for problem in problems), problems
    assert len(problems) == len(set(problems))


def test_a_profile_that_cannot_be_read_is_one_mistake(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    (tmp_path / "profiles.toml").write_text(PROFILES.replace("nccl-7", "nccl 7"))
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    with pytest.raises(BadFile) as caught:
        load_script(path, fleet)
    (problem,) = caught.value.problems
    assert f":18:22: profile: {tmp_path}/profiles.toml:3:1: name: letters, digits" in str(problem)


def test_an_empty_value_leaves_its_field_out(tmp_path: Path) -> None:
    script = check(tmp_path, SWEEP.replace('"--draft 6"', '""'))
    (_, sweep, _) = script.steps
    up = sweep.rounds[2].steps[0]
    assert up.arguments == {"ready_within": 1200.0}
