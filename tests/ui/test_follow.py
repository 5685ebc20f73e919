"""After a rest the screen looks at once; what then follows waits for the beat."""

from __future__ import annotations

import asyncio

from console.model.clock import Pace
from console.ui.follow import Follow
from console.ui.sight import Sight
from tests.rig.waiting import auntil
from tests.ui.stage import Stage


async def settled() -> None:
    """Every task has had its turn."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_the_first_event_after_a_rest_is_looked_at_as_it_comes() -> None:
    stage, shown = Stage(), list[Sight]()
    stage.server("base")
    pace = Pace()
    task = asyncio.create_task(Follow(stage.control, stage.clock, pace, shown.append).run())
    await auntil(lambda: len(shown) == 1)

    def ends() -> list[int]:
        return [sight.state.logs["base"].mark.end for sight in shown]

    stage.lines("base", "one")
    await settled()
    assert ends() == [0, 1]
    stage.lines("base", "two")
    stage.lines("base", "three")
    await settled()
    assert ends() == [0, 1]
    stage.manual.advance(pace.screen_s)
    await settled()
    assert ends() == [0, 1, 3]
    # The beat goes on with nothing new, and rest is rest again.
    stage.manual.advance(pace.screen_s)
    await settled()
    assert ends() == [0, 1, 3, 3]
    stage.lines("base", "four")
    await settled()
    assert ends() == [0, 1, 3, 3, 4]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    stage.lines("base", "five")
    await settled()
    assert len(shown) == 5
