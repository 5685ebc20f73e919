"""Who may change a host, and how it was confirmed: read-only by default, unlocked for a while.

Owns the unlocked time, what must be typed, and the words of every refusal. It changes nothing
itself, and nothing here can be unlocked by a script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from console.model.ask import Ask, NobodyToAsk, Question
from console.model.clock import US_PER_S, Clock, Pace
from console.model.fleet import Fleet, Server
from console.model.zone import UTC_ZONE

READ_ONLY = "read-only: nothing on a host is changed; unlock first"
APPLY = "read-only: nothing on a host is changed without --apply"
UNKNOWN_LOAD = "whether it is busy is not known"
_ASKED_ANEW = frozenset({"busy", "KILL"})


class Refused(Exception):
    """A guard refuses; the text says why, `lines` what a person does by hand instead."""

    def __init__(self, why: str, lines: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.lines = tuple(lines)


@dataclass(frozen=True, slots=True)
class Series:
    """One of several acts that a person confirmed together, with the reasons known then."""

    server: str
    reasons: frozenset[str]

    def covers(self, server: str, reasons: Sequence[str]) -> bool:
        """Whether no more is asked: nothing has come up since, nobody's request would end."""
        return server == self.server and {*reasons} <= self.reasons - _ASKED_ANEW


@dataclass(slots=True)
class Guard:
    """The lock of one console.

    Attributes:
        apply: given on the command line; never locked again by itself.
        yes_targets: servers named on the command line as confirmed, where no person is.
        dry: everything is looked at and nothing done.
        attended: whether there is a person who could unlock.
        series: the act under way belongs to several that were confirmed together.
        zone: of the times of the day in scripts.
    """

    clock: Clock
    pace: Pace
    apply: bool = False
    yes_targets: frozenset[str] = frozenset()
    dry: bool = False
    attended: bool = False
    series: Series | None = None
    zone: str = UTC_ZONE
    _until_us: int | None = field(default=None)

    def unlock(self) -> None:
        """Allow acts until nothing was done for `unlock_idle_s`."""
        self._until_us = self.clock.now_us() + round(self.pace.unlock_idle_s * US_PER_S)

    def lock(self) -> None:
        """Read-only again, from now on and whatever the command line said."""
        self._until_us = None
        self.apply = False

    @property
    def unlocked(self) -> bool:
        """Whether acts are allowed now."""
        until_us = self._until_us
        return self.apply or (until_us is not None and self.clock.now_us() < until_us)

    def refusal(self) -> str | None:
        """Why no act is allowed now; None when one is."""
        if self.unlocked or self.dry:
            return None
        return READ_ONLY if self.attended else APPLY

    def unconfirmed(self, server: str) -> str | None:
        """Why a change of this server cannot be confirmed; None when it can be, or asked for."""
        if self.attended or self.dry or server in self.yes_targets:
            return None
        return f"not confirmed: --yes-target {server} is missing"

    def touch(self) -> None:
        """An act was done: the idle time begins again."""
        if self._until_us is not None and self.unlocked:
            self.unlock()

    async def confirm(
        self, ask: Ask, verb: str, server: str, detail: Sequence[str], reasons: Sequence[str]
    ) -> str:
        """Have one act confirmed; how it was.

        Args:
            reasons: why the name must be typed; empty for one's own idle server.

        Raises:
            Refused: the person declined, or there is none and the command line does not name it.
        """
        if server in self.yes_targets and not self.attended:
            return "--yes-target"
        if self.series is not None and self.series.covers(server, reasons):
            return "confirmed with the benchmark"
        because = f"; the name must be typed: {', '.join(reasons)}" if reasons else ""
        question = Question(
            server,
            f"{verb} {server}{because}",
            tuple(detail),
            must_type=server if reasons else None,
            choices=("Cancel", verb.capitalize()),
            deliberate=True,
        )
        try:
            answer = await ask.ask(question)
        except NobodyToAsk:
            raise Refused(
                self.unconfirmed(server) or f"not confirmed: nobody can be asked about {server}"
            ) from None
        if answer != question.choices[1]:
            raise Refused("not confirmed")
        return "name typed" if reasons else "confirmed"

    async def may(
        self, ask: Ask, server: str, text: str, detail: Sequence[str], yes: str, *, typed: bool
    ) -> bool:
        """Ask in the midst of an act for one thing more; without a person the answer is no.

        `typed`: the server's name must be typed for it.
        """
        question = Question(
            server,
            text,
            tuple(detail),
            must_type=server if typed else None,
            choices=("Cancel", yes),
            deliberate=True,
        )
        try:
            return await ask.ask(question) == yes
        except NobodyToAsk:
            return False


def never(fleet: Fleet, server: Server) -> str | None:
    """Why a server is never changed, whatever is unlocked; None when it may be."""
    host = fleet.host_of(server)
    if server.read_only:
        return f"{server.name} is read_only in the fleet file"
    if host.read_only:
        return f"host {host.name} is read_only in the fleet file"
    return None
