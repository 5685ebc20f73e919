"""The `guard` of a step: read with its places, held against time and load, kept in a session."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from console.control.recorded import recorded
from console.control.script import load_script
from console.control.step_guard import StepGuard
from console.control.written import Written
from console.model.mask import Masks
from console.model.verbs import VERBS
from console.store.toml import BadFile
from tests.control.test_repeat import fleet_in

HEAD = 'schema = "script/1"\ntargets = ["base"]\n[[step]]\n'
WHOLE = 'guard = { confirm = "base", idle = true, max_running = 2, window = "22:00-06:00" }'


def read(folder: Path, text: str) -> object:
    path = folder / "s.toml"
    path.write_text(HEAD + text)
    return load_script(path, fleet_in(folder))


def test_it_is_read_kept_in_a_session_and_written_again(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f"{HEAD}restart = {{}}\n{WHOLE}\n")
    (step,) = load_script(path, fleet_in(tmp_path)).steps
    assert StepGuard.of(step.arguments) == StepGuard(2, True, "22:00-06:00")
    given = recorded(step, {}, Masks())
    assert Written().lines(VERBS["restart"], given) == [
        "restart = {}",
        WHOLE,
        'timeout = "30s"',
    ]
    path.write_text(f'{HEAD}restart = {{}}\nguard = {{ idle = false, window = "any" }}\n')
    (step,) = load_script(path, fleet_in(tmp_path)).steps
    assert StepGuard.of(step.arguments) == StepGuard()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('stop = {}\nguard = { confirm = "bace" }', ':5:11: confirm: "bace" is not what the '),
        ("stop = {}\nguard = { idle = 1 }", ":5:11: idle: true or false was expected"),
        ("stop = {}\nguard = { max_running = -1 }", ":5:11: max_running: -1 is outside 0 to"),
        ('stop = {}\nguard = { window = "22-06" }', ':5:11: window: "HH:MM-HH:MM" or "any" was'),
        ('stop = {}\nguard = { window = "24:00-06:00" }', ":5:11: window: "),
        ('stop = {}\nguard = { window = "06:00-06:00" }', "begins when it ends"),
        ("stop = {}\nguard = { maxrunning = 1 }", ':5:11: unknown key "maxrunning" (did you mean'),
        ("stop = {}\nguard = true", ":5:1: guard: a table was expected"),
        ("health = {}\nguard = { idle = true }", ":5:1: guard: only acts have one: adopt, "),
        ("health = {}\ngard = { idle = true }", ':5:1: unknown key "gard" (did you mean "guard"?)'),
    ],
)  # fmt: skip
def test_a_wrong_one_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadFile) as caught:
        read(tmp_path, text)
    problems = [str(problem) for problem in caught.value.problems]
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("window", "clock", "allowed"),
    [
        ("any", "12:00", True),
        ("22:00-06:00", "21:59", False),
        ("22:00-06:00", "22:00", True),
        ("22:00-06:00", "05:59", True),
        ("22:00-06:00", "06:00", False),
        ("01:30-02:00", "01:30", True),
        ("01:30-02:00", "02:00", False),
    ],
)
def test_the_time_of_the_day(window: str, clock: str, allowed: bool) -> None:
    zone = timezone(timedelta(hours=2), "CEST")
    hour, minute = map(int, clock.split(":"))
    said = StepGuard(window=window).untimely(datetime(2026, 7, 1, hour, minute, 59, tzinfo=zone))
    refused = f"guard: it is {clock} CEST, outside its window {window}"
    assert said == ("" if allowed else refused)


@pytest.mark.parametrize(
    ("guard", "running", "queued", "said"),
    [
        (StepGuard(), None, None, ""),
        (StepGuard(most_running=2), 2.0, 9.0, ""),
        (StepGuard(most_running=2), 3.0, 0.0, "guard: 3 requests run, more than 2"),
        (StepGuard(most_running=0), None, None, "guard: whether it is busy is not known"),
        (StepGuard(idle=True), 0.0, None, ""),
        (StepGuard(idle=True), 0.0, 1.0, "guard: not idle: 0 requests run, 1 wait"),
        (StepGuard(idle=True), 1.0, 0.0, "guard: not idle: 1 requests run, 0 wait"),
    ],
)
def test_the_load(guard: StepGuard, running: float | None, queued: float | None, said: str) -> None:
    assert guard.busy(running, queued) == said
