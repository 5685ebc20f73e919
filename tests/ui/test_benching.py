"""Measuring and comparing from the screen: the question, the progress, the chart, the verdict."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from console.control.port import Outcome
from console.model.exits import Exit
from console.model.fleet import Arm
from console.model.text import Clean
from console.render import bench_charts, charts
from console.stream.loads import load_known
from console.stream.run_events import (
    BenchFinished,
    BenchStarted,
    CircumstancesTaken,
    RunMeasured,
    VerdictReached,
)
from console.stream.server_events import TokenSeen
from console.ui.app import ConsoleApp
from tests.rig.waiting import auntil
from tests.ui.stage import Player, Stage, c, look, press, staged, story, text


@pytest.fixture(autouse=True)
def drawing_is_loaded() -> None:
    charts.load()


def running(stage: Stage) -> Stage:
    """A benchmark of the baseline under way: warm-up and two of five runs."""
    workload = ((c("runs"), c("5")),)
    stage.emit(
        BenchStarted(c("b1"), c("kimi-base"), Arm.BASELINE, 1, c("look"), workload, c("here")),
        CircumstancesTaken(c("b1"), c("env"), c("d"), ()),
    )
    for number, rate in enumerate((60.0, 62.7, 63.1), 1):
        stage.manual.advance(8)
        stage.emit(RunMeasured(c("b1"), number, 500, 310_000, rate, warm_up=number == 1))
    stage.emit(TokenSeen(c("kimi-base"), c("bench"), 62.4))
    return stage


def verdict_text(app: ConsoleApp) -> str:
    """All words of the verdict's pane."""
    pane = app.dashboard.verdict
    rows = ("".join(part.text for part in pane.row(y)) for y in range(pane.depth))
    return " ".join(" ".join(rows).split())


async def test_b_asks_with_the_minutes_of_each_protocol_and_measures() -> None:
    stage = story()
    stage.control.outcome = Outcome(Exit.OK, Clean("b1: kimi-base (baseline) 62.9 tok/s"))
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "b")
        shown = text(app)
        assert "Measure kimi-base (baseline)?" in shown
        assert "look   3 runs of 1 prompt: about 1 minute" in shown
        assert "story  5 runs of 1 prompt: about 1 minute" in shown
        assert "quick  5 runs of 3 prompts: about 2 minutes" in shown
        assert "500 tokens a run, at 62.0 tok/s as it decoded last; it is up: no" in shown
        assert stage.control.done == []
        await press(app, pilot, "right", "right", "enter")
        assert stage.control.done == [("bench", "kimi-base", {"protocol": "story"})]
        assert "b1: kimi-base (baseline) 62.9 tok/s" in text(app)


async def test_against_the_other_arm_the_order_and_the_loads_are_told() -> None:
    stage = story()
    stage.emit(load_known(c("kimi-eagle3"), "load", "warm", [("weights", 600.0)]))
    async with staged(stage, (120, 40)) as (app, pilot):
        await press(app, pilot, "b", "right", "right", "right", "right", "enter")
        shown = " ".join(text(app).split())
        assert "Measure kimi-base against kimi-eagle3?" in shown
        assert "story B S: about 12 minutes, 1 load" in shown
        assert "confirmed B S S B B S: about 37 minutes, 5 loads" in shown
        assert "a load of kimi-eagle3: about 10 minutes as the last" in shown
        assert "a load of kimi-base: not known yet and not in it" in shown
        assert "One slot: one is ended to start the other; you are asked once." in shown
        assert stage.control.done == []
        await press(app, pilot, "right", "right", "right", "enter")
        given = {"protocol": "confirmed", "against": "kimi-eagle3"}
        assert stage.control.done == [("bench", "kimi-base", given)]


@pytest.mark.parametrize("keys", [("enter",), ("escape",)])
async def test_the_safe_answer_measures_nothing(keys: tuple[str, ...]) -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "b", *keys)
        assert stage.control.done == []


async def test_c_compares_and_capital_b_ends_a_benchmark() -> None:
    stage = story()
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "c", "B")
        assert [verb for verb, _, _ in stage.control.done] == ["compare", "bench.stop"]


async def test_a_replay_measures_nothing_but_compares() -> None:
    stage = story(Stage(Player()))
    async with staged(stage) as (app, pilot):
        await press(app, pilot, "b")
        assert "Measure: not in a replay" in text(app)
        await press(app, pilot, "c")
        assert [verb for verb, _, _ in stage.control.done] == ["compare"]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_is_measured_says_how_far_it_is(size: tuple[int, int]) -> None:
    stage = running(story())
    async with staged(stage, size) as (app, pilot):
        shown = verdict_text(app)
        assert "kimi-base: run 3 of 5 · 24 s · about 24 s left ·" in shown
        assert "62.4 tok/s now" in shown
        stage.emit(BenchFinished(c("b1"), True, c(""), ()))
        await look(app, pilot)
        assert "run 3 of 5" not in text(app)


async def test_the_chart_is_drawn_again_only_when_something_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[int] = []
    draw = bench_charts.runs_chart

    def counted(*given: object) -> object:
        drawn.append(1)
        return draw(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("console.ui.panes.chart.runs_chart", counted)
    stage = running(story())
    async with staged(stage, (120, 40)) as (app, pilot):
        before = len(drawn)
        assert before >= 1
        for _ in range(5):
            stage.token("kimi-base", 62.0)
            await look(app, pilot)
        assert len(drawn) == before
        stage.emit(RunMeasured(c("b1"), 4, 500, 310_000, 62.9))
        await look(app, pilot)
        assert len(drawn) == before + 1


async def test_the_chart_comes_once_what_draws_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "plotext")
    stage = running(story())
    async with staged(stage, (120, 40)) as (app, pilot):
        await auntil(charts.loaded, 20)
        await look(app, pilot)
        assert "tok/s per run, decode only" in text(app)


async def test_a_long_verdict_is_wrapped_and_nothing_of_it_is_cut() -> None:
    six = "NCCL_ALGO, NCCL_BUFFSIZE, NCCL_MAX_NCHANNELS, NCCL_NTHREADS, NCCL_P2P_LEVEL, NCCL_PROTO"
    line = f"NOT COMPARABLE: {six} differ or are unknown"
    stage = story()
    stage.emit(VerdictReached(c("b1"), c("s2"), c("NOT COMPARABLE"), c(line)))
    async with staged(stage, (120, 40)) as (app, _):
        assert f"✗ {line}" in verdict_text(app)


async def test_the_screen_of_benchmarks_shows_runs_and_circumstances() -> None:
    stage = running(story())
    stage.emit(replace(RunMeasured(c("b1"), 4), void=c("another request ran in 2 of 3 samples")))
    async with staged(stage, (120, 40)) as (app, pilot):
        await press(app, pilot, "4")
        shown = text(app)
        assert "● b1 kimi-base look, timed on here" in shown
        assert "void: another request ran in 2 of 3 samples" in " ".join(shown.split())
        assert "decode tok/s = (N - n1) / (tn - t1)" in shown
        await press(app, pilot, "tab", "z")
        assert "tok/s per run" not in text(app)


async def test_what_stands_beside_takes_the_room_it_gets() -> None:
    stage = running(story())
    stage.emit(RunMeasured(c("b1"), 9, void=c("one two three four five six seven eight nine ten")))
    async with staged(stage, (80, 24)) as (app, pilot):
        await press(app, pilot, "4", "tab", "tab", "z")
        rows = [row for row in text(app).splitlines() if row.startswith("│")]
        assert any(len(row.strip("│ ")) > 50 for row in rows), rows


@pytest.mark.parametrize("size", [(60, 24), (80, 24)])
async def test_every_pane_can_be_reached_where_two_have_no_room_side_by_side(
    size: tuple[int, int],
) -> None:
    shows = {
        "runs": "RUN   TOK/S",
        "beside": "Cycle, history, circumstances",
        "chart": "tok/s per run, decode only",
        "verdict": "run 3 of 5",
    }
    async with staged(running(story()), size) as (app, pilot):
        await press(app, pilot, "4")
        for words in shows.values():
            await press(app, pilot, "tab")
            assert words in text(app)
        await press(app, pilot, "z")
        for words in shows.values():
            await press(app, pilot, "tab")
            shown = text(app)
            assert [other for other in shows.values() if other in shown] == [words]
