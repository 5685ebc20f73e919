"""The console where nothing can be drawn: lines, prompts, and how it is left."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from console.model.ask import Question
from console.model.exits import Exit
from console.plain.prompts import Prompts
from console.plain.telling import MOST_LINES, Telling
from console.stream.fact import Standing
from console.stream.host_events import LinkChanged
from console.stream.server_events import LoadAdvanced, StandingChanged
from console.stream.session_events import Noticed
from tests.rig.terminal import Terminal
from tests.rig.waiting import until
from tests.ui.stage import Stage, c, story

ROOT = Path(__file__).parents[2]
NIGHT = ROOT / "sample_sessions" / "lab-night.toml"


def told(stage: Stage) -> tuple[Telling, Stage]:
    telling = Telling(stage.timeline, "UTC")
    stage.timeline.subscribe(telling.take)
    return telling, stage


def test_it_begins_with_how_everything_stands() -> None:
    stage = story()
    telling = Telling(stage.timeline, "UTC")
    telling.begin()
    assert telling.drain() == [
        "17:01:40  host           gpu8 ssh 3 ms",
        "17:01:40  host           gpu9 ssh 4 ms",
        "17:01:40  kimi-base      ◆ generating",
        "17:01:40  kimi-eagle3    ○ down  connection refused",
        "17:01:40  kimi-tuned     ◔ loading 74/163 ~6 min",
    ]
    assert telling.drain() == []


def test_a_line_for_each_change_and_none_for_what_stayed() -> None:
    telling, stage = told(story())
    stage.lines("kimi-base", b"\x1b[31mred\x1b[0m\x07 line")
    stage.emit(StandingChanged(c("kimi-base"), Standing.IDLE, c("no request runs")))
    stage.emit(StandingChanged(c("kimi-base"), Standing.IDLE, c("no request runs")))
    stage.emit(Noticed(c("kimi-base"), c("error"), c("out of memory"), c("e")))
    stage.health("kimi-base", 200)
    assert telling.drain() == [
        "kimi-base | red<BEL> line",
        "17:01:40  kimi-base      ◇ idle",
        "17:01:40  kimi-base      error: out of memory (e)",
    ]


def test_a_load_is_told_at_once_and_then_every_ten_seconds() -> None:
    telling, stage = told(story())
    for done in range(80, 101):
        stage.emit(LoadAdvanced(c("kimi-tuned"), c("loading"), done, 163))
        stage.manual.advance(1)
    found = [line.split("loading ")[1] for line in telling.drain()]
    assert found == ["80/163", "90/163", "100/163"]


def test_what_nobody_reads_is_bounded_and_counted() -> None:
    telling, stage = told(story())
    stage.lines("kimi-base", *(f"line {n}" for n in range(MOST_LINES + 30)))
    first, second, *_ = lines = telling.drain()
    assert first.endswith("30 lines left out: they came faster than they were read")
    assert second == "kimi-base | line 30"
    assert len(lines) == MOST_LINES + 1


def test_a_link_that_is_refused_says_why_and_what_to_do() -> None:
    from console.model.failure import Failure
    from console.stream.fact import Link

    telling, stage = told(story())
    detail = (c("SHA256:abcd"), c("compare it, then: ssh gpu9"))
    stage.emit(LinkChanged(c("gpu9"), Link.REFUSED, Failure.KEY_UNKNOWN, c("unknown"), detail))
    assert telling.drain() == [
        "17:01:40  host           gpu9 ✗ refused: host key unknown: unknown",
        "    SHA256:abcd",
        "    compare it, then: ssh gpu9",
    ]


@pytest.mark.parametrize(
    ("question", "typed", "answer"),
    [
        (Question("gpu8", "Password", secret=True), "hunter2\n", "hunter2"),
        (Question("gpu8", "Address"), "\n", None),
        (Question("gpu8", "Address"), "", None),
        (Question("gpu8", "Name", offered="kimi"), "\n", "kimi"),
        (Question("gpu8", "Name", offered="kimi"), "base\n", "base"),
        (Question("gpu8", "Name", offered="kimi"), ".\n", None),
        (Question("gpu8", "Accept it?", choices=("No", "Yes")), "1\n", "Yes"),
        (Question("gpu8", "Accept it?", choices=("No", "Yes")), "\n", "No"),
        (Question("gpu8", "Accept it?", choices=("No", "Yes")), "7\n", "No"),
        (Question("gpu8", "Accept it?", choices=("No", "Yes")), "yes\n", "No"),
        (Question("base", "Stop?", must_type="base", choices=("No", "Yes")), "base\n", "Yes"),
        (Question("base", "Stop?", must_type="base", choices=("No", "Yes")), "1\n", "No"),
        (Question("base", "Stop?", must_type="base"), "bass\n", None),
    ],
)
async def test_a_question_is_lines_and_its_answer_a_line(
    question: Question, typed: str, answer: str | None
) -> None:
    out = io.StringIO()
    secrets: list[bool] = []

    def read(secret: bool) -> str:
        secrets.append(secret)
        return typed

    assert await Prompts(out, read).ask(question) == answer
    assert secrets == [question.secret]
    assert out.getvalue().startswith(f"{question.subject}: {question.text}\n")
    assert "hunter2" not in out.getvalue()


async def test_questions_come_one_at_a_time() -> None:
    answers = iter(("one\n", "two\n"))
    prompts = Prompts(io.StringIO(), lambda _: next(answers))
    asked = (prompts.ask(Question("a", "?")), prompts.ask(Question("b", "?")))
    assert list(await asyncio.gather(*asked)) == ["one", "two"]
    assert not prompts.asking


def dumb(*words: str, term: str = "dumb") -> Sequence[str]:
    return ["env", f"TERM={term}", f"PYTHONPATH={ROOT}", sys.executable, "-m", "console", *words]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, Exit.OK), (signal.SIGTERM, Exit.INTERRUPTED)]
)
def test_a_dumb_terminal_gets_lines_without_an_escape(number: signal.Signals, code: Exit) -> None:
    with Terminal(dumb("--replay", str(NIGHT)), cols=100, rows=40, cwd=ROOT) as terminal:
        until(lambda: b"kimi-base | " in terminal.output, 30, "log lines")
        if number is signal.SIGINT:
            terminal.press("ctrl+c")
        else:
            os.kill(terminal.pid, number)
        assert terminal.wait_exit(20) == code
        shown = terminal.output.decode()
    assert shown.startswith('spec-console: TERM is "dumb": nothing can be drawn')
    assert "--script FILE" in shown
    assert "kimi-base      ? not asked yet" in shown
    assert "\x1b" not in shown.replace("^C", "")
    assert "Traceback" not in shown


def test_a_first_run_asks_in_lines(tmp_path: Path) -> None:
    with Terminal(dumb(term=""), cols=100, rows=40, cwd=tmp_path) as terminal:
        until(lambda: b"nothing for " in terminal.output, 30, "the first question")
        assert "Welcome to spec-console: There is no fleet file yet." in terminal.screen
        terminal.press("enter")
        assert terminal.wait_exit(20) == Exit.OK
    assert b"\x1b" not in terminal.output
