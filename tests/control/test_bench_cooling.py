"""Before a launch is measured its GPUs are as cool as before the first, or it is said."""

from __future__ import annotations

import asyncio

import pytest

from console.control.bench_cooling import MOST_S, cooled, temperatures
from console.model.clock import ManualClock
from console.model.mask import Masks
from console.model.text import Clean
from console.stream.host_events import GpuSeen
from console.stream.timeline import Timeline

BOX = Clean("gpu8")


class Box:
    """A host with two GPUs."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.timeline = Timeline(self.clock)

    def has(self, *degrees: float) -> None:
        for gpu, temp_c in enumerate(degrees):
            self.timeline.emit(GpuSeen(BOX, gpu, ((Clean("temp_c"), temp_c),)))

    def waiting(self) -> asyncio.Task[bool]:
        first = {("gpu8", 0): 50.0, ("gpu8", 1): 52.0}
        return asyncio.create_task(cooled(self.timeline, self.clock, 1.0, first, "base", Masks()))

    def said(self) -> list[tuple[str, str]]:
        notices = self.timeline.state.session.notices
        return [(str(one.severity), str(one.text)) for one in notices]


async def passes(box: Box, seconds: int) -> None:
    for _ in range(seconds):
        await asyncio.sleep(0)
        box.clock.advance(1)
    await asyncio.sleep(0)


@pytest.mark.parametrize("degrees", [(50.0, 52.0), (53.0, 55.0), (20.0, 20.0), (50.0,), ()])
async def test_cool_ones_are_not_waited_for(degrees: tuple[float, ...]) -> None:
    box = Box()
    box.has(*degrees)
    assert await box.waiting()
    assert box.said() == []


async def test_a_warm_one_is_waited_for_and_that_is_said_once() -> None:
    box = Box()
    box.has(50, 71)
    task = box.waiting()
    await passes(box, 5)
    assert not task.done()
    box.has(50, 56)
    await passes(box, 2)
    assert not task.done()
    box.has(50, 55)
    await passes(box, 1)
    assert await task
    assert box.said() == [
        (
            "note",
            "waits until GPUs have cooled: GPU 1 of gpu8 has 71 °C, 52 before the first launch",
        )
    ]


async def test_one_that_stays_warm_is_measured_all_the_same_and_that_is_said() -> None:
    box = Box()
    box.has(60, 52)
    task = box.waiting()
    await passes(box, round(MOST_S) + 1)
    assert not await task
    severity, text = box.said()[-1]
    assert severity == "warning"
    assert text.startswith("not cooled within 300 s, measured all the same: GPU 0 of gpu8 has 60")


def test_only_what_is_told_is_a_temperature() -> None:
    box = Box()
    box.has(50)
    box.timeline.emit(GpuSeen(BOX, 1, ((Clean("power_w"), 300.0),)))
    assert temperatures(box.timeline.state, ["gpu8", "gpu9"]) == {("gpu8", 0): 50.0}
