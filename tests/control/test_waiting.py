"""A wait of a script ends, whatever the load that it saw has come to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from console.control.port import Argument, Outcome
from console.model.exits import Exit
from console.stream.fact import Standing
from console.stream.server_events import LoadAdvanced, LoadEnded, StandingChanged
from tests.control.test_repeat import Box, check, go
from tests.session.writing import c

SCRIPT = """\
schema = "script/1"
targets = ["base"]
[[step]]
wait = {{ until = "{until}" }}
timeout = "5m"
"""


@pytest.mark.parametrize("until", ["log:/never said/", "health"])
async def test_a_load_that_has_ended_keeps_no_deadline_from_passing(
    tmp_path: Path, until: str
) -> None:
    looks: list[float] = []

    def answer(verb: str, server: str, _given: Mapping[str, Argument]) -> Outcome | None:
        if not looks:
            box.timeline.emit(StandingChanged(c(server), Standing.STARTING, c("loading: weights")))
            box.timeline.emit(LoadAdvanced(c(server), c("weights"), 3, 64))
        elif len(looks) == 8:
            box.timeline.emit(LoadEnded(c(server), True, 8 * 60_000_000))
        looks.append(box.timeline.now_us / 60e6)
        return Outcome(Exit.OK if verb == "tail" else Exit.ASSERTION, c("1 line"))

    box = Box(tmp_path, answer)
    code, told = await go(box, check(tmp_path, SCRIPT.format(until=until)))
    assert code is Exit.DEADLINE
    assert any("not within 300 s, but it moves: " in one for one in told.said)
    # While it loads the deadline only warns; it is over with the load, or once nobody answers.
    assert 9 <= len(looks) <= 11
