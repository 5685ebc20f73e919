"""What every step of a script came to, kept for the files that are written when it ends.

Passes everything on to the report that tells it while it happens.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.control.arguments import Step
from console.control.port import Outcome
from console.control.steps import Report
from console.model.exits import Exit
from console.stream.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Entry:
    """One step on one server.

    Attributes:
        outcome: how it ended; None when it was left out.
        why: why it was left out.
        took_us: of the session's time.
    """

    step: Step
    server: str
    outcome: Outcome | None
    why: str = ""
    took_us: int = 0

    @property
    def name(self) -> str:
        """`ready: wait kimi-base`."""
        return f"{self.step.id}: {self.step.verb} {self.server}".rstrip()


class Ledger:
    """Every step, in the order in which they ended."""

    def __init__(self, timeline: Timeline, report: Report) -> None:
        self.entries: list[Entry] = []
        self._timeline = timeline
        self._report = report
        self._begun_us = 0

    def step_started(self, step: Step, server: str) -> None:
        self._begun_us = self._timeline.now_us
        self._report.step_started(step, server)

    def progress(self, step: Step, server: str, text: str) -> None:
        self._report.progress(step, server, text)

    def step_finished(self, step: Step, server: str, outcome: Outcome) -> None:
        took_us = max(0, self._timeline.now_us - self._begun_us)
        self.entries.append(Entry(step, server, outcome, took_us=took_us))
        self._report.step_finished(step, server, outcome)

    def step_left_out(self, step: Step, why: str) -> None:
        self.entries.append(Entry(step, "", None, why))
        self._report.step_left_out(step, why)


@dataclass(frozen=True, slots=True)
class Ended:
    """A script that ended, as the files tell it."""

    name: str
    fleet: str
    code: Exit
    utc: str
    session: str
    entries: tuple[Entry, ...]

    def count(self, *codes: Exit) -> int:
        """How many steps ended so."""
        return sum(e.outcome is not None and e.outcome.exit in codes for e in self.entries)
