"""Processes of a server, known by more than a number: boot id, pid, start time, command line.

Owns how they are looked up and the one way a signal is sent: to an identity, verified in the same
command. Never by name, and never to a group but one that a caller says is its own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from console.model.clock import US_PER_S, Clock, Pace
from console.model.failure import Failure, WireError
from console.model.mask import Masks
from console.model.text import Clean, clean, clean_lines
from console.services.environ_said import CutShort, Said, read_said
from console.services.environ_script import environ_argv
from console.services.process_script import (
    last_lines_argv,
    look_argv,
    members_argv,
    signal_argv,
    size_argv,
)
from console.transport.wire import Use, Wire

T = TypeVar("T")

_NUMBER = re.compile(r"[0-9]{1,20}")
LOST = frozenset({Failure.LINK_LOST})
"""A link that was there: it comes back."""
UNREACHED = LOST | {Failure.NO_LINK, Failure.TIMEOUT, Failure.NO_CHANNEL}
"""Whatever keeps a command from its end."""


@dataclass(frozen=True, slots=True)
class Identity:
    """One process of one boot: a number used again is another one."""

    boot_id: str
    pid: int
    start_ticks: int
    cmdline_sum: str

    @property
    def target(self) -> str:
        """As the signalling command takes it."""
        return f"{self.pid}:{self.start_ticks}:{self.cmdline_sum}"


@dataclass(frozen=True, slots=True)
class Seen:
    """A process as it is now."""

    identity: Identity
    state: str
    parent: int
    group: int
    session: int
    argv: tuple[Clean, ...] = ()

    @property
    def alive(self) -> bool:
        """Neither gone nor a zombie: a zombie holds nothing but its number."""
        return self.state not in ("Z", "X")


@dataclass(frozen=True, slots=True)
class Tree:
    """What holds a port: the launcher, what runs below it and whoever else has its socket.

    Attributes:
        launcher: None where nothing was found; `why` says so.
        listening: something listens on the port, found or not.
    """

    launcher: Seen | None = None
    below: tuple[Seen, ...] = ()
    listening: bool = False
    container: str = ""
    started: str = ""
    why: str = ""

    @property
    def all(self) -> tuple[Seen, ...]:
        """The launcher first."""
        return () if self.launcher is None else (self.launcher, *self.below)


class Sent(StrEnum):
    """What became of one signal."""

    SENT = "sent"
    GONE = "gone"
    REUSED = "reused"
    RENAMED = "renamed"
    REFUSED = "refused"
    REBOOTED = "rebooted"


@contextmanager
def understood() -> Iterator[None]:
    """Around the reading of an answer: what cannot be read is a failure of the host.

    Raises:
        WireError: REMOTE.
    """
    try:
        yield
    except (ValueError, IndexError, KeyError) as error:
        why = f"the host answered what makes no sense: {str(error)[:80]}"
        raise WireError(Failure.REMOTE, why) from error


@dataclass(slots=True)
class HostCommands:
    """Commands on one host. An act waits for a link and gives the command again: every command
    given through `run` must be safe to repeat.

    Attributes:
        waits: told once for each loss, with what is waited for.
        awaited: failures that are waited for; any other, and all where none is, ends it at once.
    """

    wire: Wire
    clock: Clock
    pace: Pace
    masks: Masks
    waits: Callable[[str], None] = field(default=lambda _text: None)
    awaited: frozenset[Failure] = frozenset()

    async def run(self, argv: list[str], stdin: bytes = b"") -> list[str]:
        """The lines it printed, once it has printed its `@end`.

        Raises:
            WireError: the host is not reached, in an act for `act_link_s`, or the command failed.
        """
        return await self.again(lambda: self._once(argv, stdin))

    async def again(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it, in an act until no lost link comes between."""
        told_us: int | None = None
        while True:
            try:
                return await work()
            except WireError as error:
                if error.kind not in self.awaited:
                    raise
                now_us = self.clock.now_us()
                if told_us is None:
                    told_us = now_us
                    self.waits(f"{error.kind.value}: {error.why}; trying again")
                if now_us - told_us > self.pace.act_link_s * US_PER_S:
                    raise
            await self.clock.sleep(self.pace.reconnect_first_s)
            # A link that is down is waited for; how long in all is decided above.
            with suppress(TimeoutError):
                await self._up()

    async def _up(self) -> None:
        async with asyncio.timeout(self.pace.act_link_s):
            await self.wire.up()

    async def _once(self, argv: list[str], stdin: bytes) -> list[str]:
        deadline_s = self.pace.read_deadline_s * self.pace.scale
        done = await self.wire.run(argv, stdin=stdin, deadline_s=deadline_s, use=Use.ACT)
        rows = done.out.decode("utf-8", "surrogateescape").split("\n")
        if "@end" not in rows:
            said = done.err.decode("utf-8", "replace").strip().splitlines()[-1:]
            why = f"exit {done.code}" + (f": {said[0]}" if said else "")
            # A link that ends takes its commands along: half an answer is none.
            raise WireError(Failure.LINK_LOST if done.code < 0 else Failure.REMOTE, why)
        return rows

    async def look(self, pids: Iterable[int]) -> dict[int, Seen]:
        """Those of the processes that exist, zombies among them."""
        wanted = list(pids)
        if not wanted:
            return {}
        boot, found = "", dict[int, Seen]()
        words: list[Clean] = []
        last: list[str] = []

        def close() -> None:
            if last:
                pid, start, state, parent, group, session, summed = last
                identity = Identity(boot, int(pid), int(start), summed)
                found[identity.pid] = Seen(
                    identity, state, int(parent), int(group), int(session), tuple(words)
                )
            last.clear()
            words.clear()

        rows = await self.run(look_argv(wanted))
        with understood():
            for row in rows:
                if row.startswith(" "):
                    words.append(self.clean(row[1:].replace("\1", "\n")))
                    continue
                if row.startswith("@"):
                    close()
                name, *rest = row.split(" ")
                if name == "@boot":
                    boot = rest[0]
                elif name == "@process":
                    last += rest
        return found

    async def tree(self, port: int) -> Tree:
        """What holds a port now, and all below it."""
        said = await self.again(lambda: self._said(port))
        launcher = said.launcher
        if launcher is None:
            why = f"nothing listens on port {port}"
            if said.holder != "nobody":
                whose = f"uid {said.holder_uid}" if said.holder_uid else "another user"
                why = f"port {port} is held by a process of {whose} that cannot be looked at"
            return Tree(listening=said.holder != "nobody", why=why)
        below = [one.pid for one in said.processes if one.kind != "init"]
        # Orphans of a launcher that is gone hold its socket side by side.
        pids = [*below, *(pid for pid in said.holders if pid not in below)]
        seen = await self.look(pids)
        first = seen.get(launcher.pid)
        if first is None or first.identity.start_ticks != launcher.start_ticks:
            return Tree(why="what held the port is gone")
        started = said.moment(launcher.start_ticks)
        others = tuple(seen[pid] for pid in pids if pid in seen and pid != launcher.pid)
        when = started.strftime("%Y-%m-%d %H:%M:%SZ") if started is not None else ""
        return Tree(first, others, True, said.container, when)

    async def _said(self, port: int) -> Said:
        deadline_s = self.pace.read_deadline_s * self.pace.scale
        done = await self.wire.run(environ_argv(port), deadline_s=deadline_s, use=Use.ACT)
        try:
            return read_said(done.out)
        except CutShort as error:
            cut = b"\n@end\n" not in done.out
            raise WireError(Failure.LINK_LOST if cut else Failure.REMOTE, str(error)) from error

    async def members(self, group: int) -> list[int]:
        """Who is in a process group, zombies left out."""
        rows = await self.run(members_argv(group))
        with understood():
            return [int(row.split(" ")[1]) for row in rows if row.startswith("@member ")]

    async def signal(
        self, name: str, targets: Iterable[Identity], *, group: bool = False
    ) -> dict[int, Sent]:
        """Send TERM or KILL to processes, or to the groups they lead, that are still the same."""
        wanted = list(targets)
        if not wanted:
            return {}
        words = [one.target for one in wanted]
        rows = await self.run(signal_argv(name, group, wanted[0].boot_id, words))
        if "@rebooted" in rows:
            return {one.pid: Sent.REBOOTED for one in wanted}
        found: dict[int, Sent] = {}
        with understood():
            for row in rows:
                word, _, rest = row.removeprefix("@").partition(" ")
                pid = rest.partition(" ")[0]
                if _NUMBER.fullmatch(pid):
                    found[int(pid)] = Sent(word)
        return found

    async def alive(self, identities: Iterable[Identity]) -> list[Seen]:
        """Those that are still the same processes and still run."""
        wanted = {one.pid: one for one in identities}
        seen = await self.look(wanted)
        return [
            one
            for pid, one in seen.items()
            if one.alive
            and one.identity.boot_id == wanted[pid].boot_id
            and one.identity.start_ticks == wanted[pid].start_ticks
        ]

    async def last_lines(self, path: str, count: int) -> tuple[Clean, ...]:
        """The last lines of a file on the host; none where it cannot be read."""
        argv = last_lines_argv(path, count)
        deadline_s = self.pace.read_deadline_s * self.pace.scale
        done = await self.again(lambda: self.wire.run(argv, deadline_s=deadline_s, use=Use.ACT))
        return tuple(clean_lines(done.out.splitlines()[-count:], self.masks))

    async def size(self, path: str) -> int:
        """Bytes of a file on the host; 0 where it cannot be read."""
        deadline_s = self.pace.read_deadline_s * self.pace.scale
        argv = size_argv(path)
        done = await self.again(lambda: self.wire.run(argv, deadline_s=deadline_s, use=Use.ACT))
        word = done.out.decode("utf-8", "replace").strip().partition(" ")[0]
        return int(word) if _NUMBER.fullmatch(word) else 0

    def clean(self, text: str) -> Clean:
        """Remote text, safe and masked."""
        return clean(text.encode("utf-8", "surrogateescape"), self.masks)
