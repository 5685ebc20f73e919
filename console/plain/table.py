"""A live table of a script's steps below what it tells, on a terminal only.

Draws with cursor movements on the stream it was given and takes itself away before every line that
others write; on anything but a terminal there is none.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TextIO

from console.control.arguments import Step
from console.control.port import Outcome
from console.control.steps import Report
from console.model.clock import US_PER_S, Clock
from console.model.text import plain
from console.render.units import duration
from console.stream.timeline import Timeline

MOST_ROWS = 8
DRAW_S = 0.25
_UP = "\x1b[{}A\r\x1b[J"
_SIGNS = {"": "·", "runs": "▶", "passed": "✓", "left out": "-"}


class Table:
    """The steps, what each has come to, and how long the one that runs has been at it.

    Args:
        report: told everything, after the table has noted it.
    """

    def __init__(
        self, err: TextIO, report: Report, steps: Sequence[Step], timeline: Timeline
    ) -> None:
        self._err = err
        self._report = report
        self._timeline = timeline
        self._rows = {step.id: f"{step.verb} {' '.join(step.servers)}".rstrip() for step in steps}
        self._state = dict.fromkeys(self._rows, "")
        self._took: dict[str, int] = {}
        self._said: dict[str, str] = {}
        self._now = ""
        self._begun_us = 0
        self._drawn = 0

    def step_started(self, step: Step, server: str) -> None:
        self._rows.setdefault(step.id, f"{step.verb} {server}".rstrip())
        self._state[step.id], self._now = "runs", step.id
        self._begun_us = self._timeline.now_us
        self._report.step_started(step, server)

    def progress(self, step: Step, server: str, text: str) -> None:
        self._said[step.id] = text
        self._report.progress(step, server, text)

    def step_finished(self, step: Step, server: str, outcome: Outcome) -> None:
        word = "passed" if outcome.ok else f"exit {outcome.exit.value}"
        self._state[step.id] = word
        self._took[step.id] = self._timeline.now_us - self._begun_us
        self._said[step.id] = plain(outcome.text)
        self._report.step_finished(step, server, outcome)

    def step_left_out(self, step: Step, why: str) -> None:
        self._state[step.id], self._said[step.id] = "left out", why
        self._report.step_left_out(step, why)

    def erase(self) -> None:
        """Take it away, so that others can write where it stood."""
        if self._drawn:
            self._err.write(_UP.format(self._drawn))
            self._err.flush()
            self._drawn = 0

    def draw(self) -> None:
        """Draw it where the cursor is, in place of what stood there."""
        columns = shutil.get_terminal_size((80, 24)).columns
        lines = [line[: columns - 1] for line in self._lines()]
        before = _UP.format(self._drawn) if self._drawn else ""
        self._err.write(before + "".join(f"{line}\n" for line in lines))
        self._err.flush()
        self._drawn = len(lines)

    def _lines(self) -> list[str]:
        """The rows around the step that runs."""
        ids = list(self._rows)
        here = ids.index(self._now) if self._now in ids else 0
        first = max(0, min(here - MOST_ROWS // 2, len(ids) - MOST_ROWS))
        shown = ids[first : first + MOST_ROWS]
        lines = [self._row(step_id) for step_id in shown]
        done = sum(state not in ("", "runs") for state in self._state.values())
        return [f"── {done} of {len(ids)} steps ──", *lines]

    def _row(self, step_id: str) -> str:
        state = self._state.get(step_id, "")
        took_us = self._took.get(step_id)
        if state == "runs":
            took_us = max(0, self._timeline.now_us - self._begun_us)
        took = duration(took_us // US_PER_S * US_PER_S) if took_us is not None else ""
        sign = _SIGNS.get(state, "✗")
        said = self._said.get(step_id, "")
        return f"{sign} {step_id:<12.12} {self._rows[step_id]:<24.24} {state:<9} {took:>7}  {said}"


@asynccontextmanager
async def drawn(table: Table | None, clock: Clock) -> AsyncIterator[None]:
    """Draw it anew a few times a second while the body runs; then it is gone."""

    async def drawing(one: Table) -> None:
        while True:
            one.draw()
            await clock.sleep(DRAW_S)

    task = asyncio.create_task(drawing(table)) if table is not None else None
    try:
        yield
    finally:
        if table is not None and task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            table.erase()


class Beside:
    """A stream that has the table taken away before each write; the next beat draws it again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._table: Table | None = None

    def show(self, table: Table) -> None:
        """From now on there is a table on this terminal; on anything else there is none."""
        self._table = table if self._stream.isatty() else None

    def write(self, text: str) -> int:
        """Write where the table stood."""
        if self._table is not None:
            self._table.erase()
        return self._stream.write(text)

    def flush(self) -> None:
        """Hand on what was written."""
        self._stream.flush()


def wanted(err: TextIO, *, as_json: bool, quiet: bool) -> bool:
    """Whether a table can be drawn and is not in the way."""
    return err.isatty() and os.environ.get("TERM", "") not in ("", "dumb") and not as_json | quiet
