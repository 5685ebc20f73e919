"""Charts: what they show without colour, at 60 columns, and that no input ends the process."""

from __future__ import annotations

import json
import subprocess
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.bench.breakeven import Cycle
from console.model.fleet import Arm
from console.model.palette import Role
from console.model.span import Spans, plain_text
from console.model.text import Clean
from console.render import bench_charts as charts
from console.render.charts import (
    BRAILLE,
    MOST_POINTS,
    Axes,
    Points,
    finite,
    plotted,
    thinned,
    y_ticks,
)  # fmt: skip
from console.stream.series import Columns
from console.stream.session_events import HistoryKnown
from console.stream.state import State
from tests.render.charting import state_of

STORY = state_of([70.0, 62.7, 63.1, 62.9, 62.6, 63.2], [90.0])


def text(lines: Sequence[Spans]) -> list[str]:
    return [plain_text(line) for line in lines]


def test_runs_of_both_arms_are_told_apart_without_colour() -> None:
    drawn = charts.runs_chart(STORY, 60, 14)
    rows = text(drawn)
    assert rows[0] == "tok/s per run, decode only"
    assert all(len(row) <= 60 for row in rows)
    assert len(rows) <= 14
    legend = next(at for at, row in enumerate(rows) if row.startswith("● baseline 62.8 ┃ ["))
    body = "\n".join(rows[1:legend])
    # Of six runs the first and last are warm-ups, the fourth is void.
    assert (body.count("●"), body.count("▲")) == (3, 3)
    assert (body.count("×"), body.count("·")) == (2, 4)
    assert "┄┄┄┄" in next(row for row in rows if row.startswith("90┤"))
    assert rows[legend - 1].split() == ["w", *"BBBB", "w", "w", *"SSSS", "w"]
    assert any(row.endswith("┄ 90 assumed (a0)") for row in rows[legend:])
    roles = {span.role for line in drawn for span in line}
    assert {Role.BASELINE, Role.SPECULATIVE, Role.DIM, Role.NOTE, Role.WARNING} <= roles


def test_nothing_measured_draws_nothing() -> None:
    assert charts.runs_chart(State(), 100, 30) == ()
    assert charts.live_chart(Columns(array("q"), array("d")), Arm.BASELINE, 60, 10) == ()


@pytest.mark.parametrize(("width", "height"), [(0, 0), (10, 3), (23, 30), (60, 5)])
def test_where_no_chart_fits_the_legend_stands(width: int, height: int) -> None:
    rows = text(charts.runs_chart(STORY, width, height))
    assert any(row.startswith("● baseline 62.8") for row in rows)


def test_the_live_rate_is_a_line_from_zero() -> None:
    columns = Columns(array("q", range(0, 60_000_000, 1_000_000)), array("d", [62.9] * 60))
    rows = text(charts.live_chart(columns, Arm.BASELINE, 60, 10))
    assert rows[-1].split() == ["-59", "s", "-30", "s", "now"]
    assert any(row.startswith(" 0┤") for row in rows)
    lined = [row for row in rows if any("\u2800" < char <= "\u28ff" for char in row)]
    assert len(lined) == 1
    assert rows.index(lined[0]) <= 2


def test_a_line_goes_through_its_points() -> None:
    pairs = [(0.0, 0.0), (50.0, 100.0), (100.0, 0.0)]
    rows = text(plotted([Points(pairs, BRAILLE, Role.TEXT)], Axes(floor=0.0), 60, 12))
    dots = [
        (y, x) for y, row in enumerate(rows) for x, c in enumerate(row) if "\u2800" < c <= "\u28ff"
    ]
    top = min(dots)
    assert top[0] == 0
    assert abs(top[1] - 32) <= 3
    assert max(dots)[0] >= 9


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(5, 60))
def test_ticks_are_round_few_and_within(low: float, span: float, height: int) -> None:
    high = low + span
    ticks = y_ticks(low, high, height)
    assert len(ticks) <= max(3, height)
    assert all(low - span * 1e-6 <= tick <= high + span * 1e-6 for tick in ticks)


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=50))
def test_only_numbers_stay(pairs: list[tuple[float, float]]) -> None:
    kept = finite(pairs)
    assert all(-1e9 <= value <= 1e9 for pair in kept for value in pair)
    assert len(kept) <= len(pairs)


def test_thinning_keeps_the_dip_and_the_peak() -> None:
    pairs = [(float(n), 60.0) for n in range(3000)]
    pairs[1234], pairs[2345] = (1234.0, 2.0), (2345.0, 99.0)
    kept = thinned(pairs, 200)
    assert len(kept) <= 200
    assert (1234.0, 2.0) in kept
    assert (2345.0, 99.0) in kept
    assert list(kept) == sorted(kept)


def test_acceptance_by_position() -> None:
    bench = state_of([0.5, 0.8, 0.8, 0.8, 0.8], []).benches["speculative"]
    rows = text(charts.acceptance_chart(bench, 60))
    assert rows[0] == "share of passes with the draft right, by position"
    assert [row.split()[0] for row in rows[1:]] == ["1", "2"]
    assert rows[1].endswith(" 73 %")


def test_a_cycle_to_the_scale_of_the_baselines_token() -> None:
    rows = text(charts.cycle_chart(Cycle(2.33, 31.0, 62.9, 27.0), 60))
    assert rows[0].count("█") == 25
    assert (rows[1].count("█"), rows[1].count("▒")) == (42, 6)
    assert rows[2:] == [
        "cycle 31.0 ms for 2.33 tokens: █ verify 27.0 ms, ▒ draft and",
        "rest 4.0 ms",
        "one token 15.9 ms; break-even at 1.95 tokens a cycle",
    ]
    untold = text(charts.cycle_chart(Cycle(2.33, 31.0, 62.9), 60))
    assert "▒" not in untold[1]
    assert " ".join(untold[2:4]).endswith("the server does not tell verify and draft apart")
    narrow = text(charts.cycle_chart(Cycle(2.33, 31.0, 62.9), 40))
    assert all(len(row) <= 40 for row in narrow)
    assert "the server does not tell verify and draft apart" in " ".join(narrow)


def test_the_history_marks_what_changed() -> None:
    days = [Clean(f"2026-02-{day:02}T10:00:00.000000Z") for day in range(10, 18)]
    rates = (90.1, 90.3, 89.9, 90.0, 90.2, 62.9, 62.7, 63.0)
    marks = ((days[3], Clean("restart")), (days[5], Clean("reboot, environment")))
    history = HistoryKnown(
        Clean("s"), Clean("baseline of record"), tuple(zip(days, rates, strict=True)), marks
    )
    rows = text(charts.history_chart(history, 60, 12))
    assert rows[0] == "baseline of record, tok/s"
    assert rows[-3].split() == ["R", "E"]
    foot = "2026-02-10 to 2026-02-17 · E environment changed, R restarted, B rebooted"
    assert " ".join(rows[-2:]) == foot
    assert len(rows) <= 12
    assert [row.split("┤")[0].strip() for row in rows if "┤" in row] == ["90", "80", "70"]
    assert sum(row.count("●") for row in rows) >= 7


@pytest.mark.parametrize("seed", [1, 2])
def test_no_input_ends_the_process(seed: int) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "tests.render.charting", str(seed)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    told = json.loads(child.stdout)
    assert told["rounds"] == 60
    assert told["beyond"] == 0


@pytest.mark.parametrize(("width", "height"), [(60, 12), (100, 30), (200, 50)])
def test_a_chart_has_the_room_it_was_given(width: int, height: int) -> None:
    """Whatever terminal the drawing library believes to be in: here there is none."""
    pairs = [(float(n), float(n % 97)) for n in range(300)]
    rows = text(plotted([Points(pairs, "●", Role.TEXT)], Axes(), width, height))
    assert (len(rows), max(map(len, rows))) == (height, width)


@pytest.mark.parametrize("each", [1, 5])
def test_what_draws_gets_few_points_whatever_there_are(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chart's time grows with the points that plotext gets; `make bench` says how long."""
    import plotext

    given: list[int] = []
    scatter = plotext.scatter

    def counted(xs: list[float], ys: list[float], **more: object) -> None:
        given.append(len(xs))
        scatter(xs, ys, **more)

    monkeypatch.setattr(plotext, "scatter", counted)
    pairs = [(float(n), float(n % 97)) for n in range(200_000)]
    plotted([Points(pairs, mark, Role.TEXT) for mark in "●▲×·┃"[:each]], Axes(), 100, 30)
    assert 0 < sum(given) <= MOST_POINTS
