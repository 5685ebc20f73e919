"""Draws charts of hostile input, in a process of its own: `python -m tests.render.charting`.

Prints one JSON object: how many were drawn, and the longest line against its width. A point that is
not finite used to end the whole process. Charts of 100x30 from the worst input are made here too.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from array import array
from collections.abc import Callable
from dataclasses import replace

from console.bench.breakeven import Cycle
from console.model.fleet import Arm
from console.model.palette import Role
from console.model.text import Clean
from console.render import bench_charts as charts
from console.render.charts import BRAILLE, Axes, Points, plotted
from console.render.spans import cells
from console.stream.fold import fold_all
from console.stream.run_events import AssumptionStated, BenchStarted, RunMeasured
from console.stream.series import Columns
from console.stream.session_events import HistoryKnown
from console.stream.state import State

NASTY = (
    math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 1e-308, 5e-324, 62.9, 62.9, 63.1, -1.0,
    1e9, 1e12,
)  # fmt: skip
MANY = 1_000_000


def state_of(rates: list[float], assumed: list[float]) -> State:
    """Both arms with these rates, and assumptions."""
    events: list[BenchStarted | RunMeasured | AssumptionStated] = []
    for arm in Arm:
        bench = Clean(arm.value)
        events.append(BenchStarted(bench, Clean("s"), arm, 1, Clean("look"), (), Clean("here")))
        for number, value in enumerate(rates):
            figures = ((Clean("accept_1"), value), (Clean("accept_2"), value))
            void = Clean("void") if number % 7 == 3 else Clean("")
            warm = number % 5 == 0
            events.append(
                RunMeasured(bench, number, 500, 1000, value, figures, warm_up=warm, void=void)
            )
    events += [AssumptionStated(Clean(f"a{n}"), v, Clean("x")) for n, v in enumerate(assumed)]
    return fold_all(State(), [replace(event, seq=n) for n, event in enumerate(events)])


def values(dice: random.Random, count: int) -> list[float]:
    """Nasty and plain numbers mixed."""
    return [
        dice.choice(NASTY) if dice.random() < 0.5 else dice.gauss(62.9, 10) for _ in range(count)
    ]


def everything(dice: random.Random, width: int, height: int) -> int:
    """One of each chart; how far its longest line goes beyond the width."""
    found = values(dice, dice.choice((0, 1, 2, 5, 40, 600)))
    state = state_of(found[:60], values(dice, dice.choice((0, 1, 3))))
    times = array("q", (dice.randrange(0, 10**12) for _ in found))
    columns = Columns(array("q", sorted(times)), array("d", found))
    history = HistoryKnown(
        Clean("s"), Clean("t"), tuple((Clean(str(n)), v) for n, v in enumerate(found)), ()
    )
    drawn = [
        charts.runs_chart(state, width, height),
        charts.live_chart(columns, Arm.BASELINE, width, height),
        charts.history_chart(history, width, height),
        plotted([Points([(v, v) for v in found], "●", Role.TEXT)], Axes(), width, height),
    ]
    wide = [line for chart in drawn[1:] for line in chart[1:-1]]
    return max((cells(line) - width for line in wide), default=0)


def cpu_ms(draw: Callable[[], object]) -> float:
    """The CPU time of one drawing, the best of five."""
    best = math.inf
    for _ in range(5):
        began = time.process_time()
        draw()
        best = min(best, time.process_time() - began)
    return round(best * 1e3, 2)


def worst_inputs() -> dict[str, Callable[[], object]]:
    """Charts of 100x30 from the largest and the wildest input."""
    dice = random.Random(5)
    wild = [(dice.random() * 1e6, dice.random() * 1e6) for _ in range(MANY)]
    joined = Points(wild, BRAILLE, Role.TEXT)
    scattered = Points(wild, "●", Role.TEXT)
    crowd = [replace(scattered, marker=mark) for mark in "●▲×·┃"]
    columns = Columns(
        array("q", range(0, MANY * 1000, 1000)),
        array("d", (dice.gauss(60, 5) for _ in range(MANY))),
    )
    state = state_of([dice.gauss(62.9, 5) for _ in range(250)], [90.0, 80.0])
    usual = state_of([62.7, 63.1, 62.9, 62.6, 63.2], [90.0])
    return {
        "story": lambda: charts.runs_chart(usual, 100, 30),
        "500 runs": lambda: charts.runs_chart(state, 100, 30),
        "a million points joined": lambda: plotted([joined], Axes(), 100, 30),
        "a million points five times": lambda: plotted(crowd, Axes(), 100, 30),
        "a million samples": lambda: charts.live_chart(columns, Arm.BASELINE, 100, 30),
    }


def main() -> None:
    dice = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    rounds, beyond = 60, 0
    for _ in range(rounds):
        beyond = max(beyond, everything(dice, dice.randrange(0, 200), dice.randrange(0, 60)))
    everything(dice, 10**6, 10**6)
    charts.cycle_chart(Cycle(2.33, 31.0, 62.9, 27.0), 60)
    print(json.dumps({"rounds": rounds, "beyond": beyond}))


if __name__ == "__main__":
    main()
