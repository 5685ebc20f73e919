"""The control port: what front ends and the step runner ask to have something done.

Whoever must differ between live and replay asks `can`; nobody asks which of the two it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from console.model.exits import Exit
from console.model.text import Clean
from console.stream.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a verb ended.

    Attributes:
        exit: OK, or why not; the exit code of a script that stops here.
        text: one line for a person.
        results: what later steps may refer to.
        lines: bulk for standard output (log lines).
    """

    exit: Exit
    text: Clean
    results: Mapping[str, str | int | float] = field(default_factory=dict)
    lines: Sequence[Clean] = ()

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return self.exit is Exit.OK


Argument = str | int | float | Sequence[str]


class Playback(Protocol):
    """The player's position, as a front end shows it."""

    @property
    def length_us(self) -> int:
        """How long the session is."""
        ...

    @property
    def speed(self) -> float:
        """Session seconds a second."""
        ...

    @property
    def playing(self) -> bool:
        """Whether time moves."""
        ...

    @property
    def skipped(self) -> str:
        """`148 s skipped` for a moment after an idle cut; else nothing."""
        ...

    def notches(self) -> Sequence[tuple[int, str]]:
        """What the bar shows: (microseconds, `act` | `error` | `gap` | `marker`)."""
        ...


class Control(Protocol):
    """What can be done now, and doing it."""

    @property
    def timeline(self) -> Timeline:
        """The stream everything ends in."""
        ...

    @property
    def playback(self) -> Playback | None:
        """The player, where there is one."""
        ...

    def can(self, verb: str, server: str = "") -> str | None:
        """None when the verb is allowed now; otherwise why not, in one line.

        Of a change also whether it could be confirmed for the server, where one is named.
        """
        ...

    async def pass_time(self, seconds: float) -> bool:
        """Let that much of the session's time pass; False when no more time is left."""
        ...

    async def do(
        self,
        verb: str,
        server: str = "",
        arguments: Mapping[str, Argument] | None = None,
        timeout_s: float = 30.0,
    ) -> Outcome:
        """Do it within the time. Failure is in the outcome, never raised."""
        ...
