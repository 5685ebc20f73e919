"""Launching on a host: adopting what runs, starting a recipe once, the host's lock.

Owns what the host's answers mean. Exact command lines and environments stay in files there; what
comes here is masked. A command that a lost link cut is given again and does nothing twice.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from console.model.fleet import Recipe, Server
from console.model.text import Clean
from console.services.launcher_script import (
    capture_argv,
    launch_argv,
    lock_argv,
    record_argv,
    show_argv,
    unlock_argv,
    wedged_argv,
)
from console.services.process import HostCommands, Identity, Seen, understood
from console.stream.fact import NOTHING


class HostRefused(Exception):
    """The host's side refused, with the reason; nothing was changed by the command."""

    @property
    def unwritten(self) -> bool:
        """Whether the console's folder there takes nothing more: then it takes no launch either."""
        return str(self).startswith("cannot write")


@dataclass(frozen=True, slots=True)
class Captured:
    """The recipe of a running process, kept on its host.

    Attributes:
        path: of the file on the host, 0600.
        words: the masked command line.
        unkept: variables whose names no shell can hold; they are not restored.
        output: where its standard output goes; `through` the file a reader of that pipe writes.
        program: of a command line that names no program any more.
        hints: where else something of its start may be read; no value is in them.
    """

    path: str
    cwd: Clean = NOTHING
    words: tuple[Clean, ...] = ()
    variables: int = 0
    unkept: int = 0
    output: Clean = NOTHING
    through: Clean = NOTHING
    program: Clean = NOTHING
    hints: tuple[Clean, ...] = ()

    @property
    def log(self) -> str:
        """The file its output ends in, "" where it is none."""
        if self.through:
            return self.through
        return self.output if self.output.startswith("/") and "/dev/" not in self.output else ""


@dataclass(frozen=True, slots=True)
class Launched:
    """A process that a console started: leader of a group and session of its own.

    Attributes:
        window: of tmux, as SESSION:INDEX; empty for one in the background.
    """

    act: str
    pid: int
    start_ticks: int
    boot_id: str
    server: str
    log: str = ""
    recipe: str = ""
    window: str = ""

    def is_it(self, seen: Seen) -> bool:
        """Whether that is the process, or one of the session it leads."""
        own = seen.identity
        if own.boot_id != self.boot_id:
            return False
        same = own.pid == self.pid and own.start_ticks == self.start_ticks
        return same or (seen.session == self.pid and own.start_ticks >= self.start_ticks)


@dataclass(frozen=True, slots=True)
class Records:
    """What the host keeps of a slot and a server.

    Attributes:
        adopted: the recipe adopted for the server, and `of` which process.
        wedged: after an earlier stop the slot's GPUs were not free, though nothing held them.
    """

    launched: Launched | None = None
    adopted: str = ""
    of: str = ""
    wedged: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """What to start.

    Attributes:
        base: a recipe on the host; empty for `recipe`, the fleet file's.
        wanted: variables put over those of the recipe; None leaves one out.
        window: in a window of tmux, not in the background.
        args: words put behind the recipe's command line.
    """

    server: str
    port: int
    log: str
    base: str = ""
    recipe: Recipe | None = None
    wanted: Mapping[str, str | None] = field(default_factory=dict)
    window: bool = False
    args: tuple[str, ...] = ()

    @property
    def env_file(self) -> str:
        """The recipe's environment file as a path on the host."""
        if self.base or self.recipe is None or not self.recipe.env_file:
            return ""
        path, cwd = self.recipe.env_file, self.recipe.cwd
        return path if path.startswith("/") else f"{cwd.rstrip('/')}/{path}"

    def text(self) -> bytes:
        """Its part of the recipe, in the form of the file on the host."""
        lines: list[str] = []
        if not self.base and self.recipe is not None:
            lines += [f"c {self.recipe.cwd or '/'}", *(f"a {word}" for word in self.recipe.argv)]
        lines += [f"a {word}" for word in self.args]
        for name, value in self.wanted.items():
            lines.append(f"u {name}" if value is None else f"e {name}={value}")
        text = "".join(line.replace("\n", "\1") + "\n" for line in (*lines, "."))
        return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Held:
    """Another act has the host: who and since when, where the lock is, renewed how long ago."""

    act: str
    owner: Clean
    place: Clean
    age_s: int
    stale: bool


@dataclass(slots=True)
class Launcher:
    """Launches on one host."""

    host: HostCommands

    async def capture(self, seen: Seen, file: str) -> Captured:
        """Keep the exact recipe of a running process on its host.

        Raises:
            HostRefused: it is gone, or its environment cannot be read.
            WireError: the host was not reached.
        """
        one = seen.identity
        rows = _accepted(await self.host.run(capture_argv(one.pid, one.start_ticks, file)))
        said = _said(rows)
        with understood():
            kept, unkept = map(int, said.get("variables", "0 0").split())
        clean = self.host.clean
        return Captured(
            said.get("recipe", ""),
            clean(said.get("cwd", "")),
            self._words(rows),
            kept,
            unkept,
            clean(said.get("stdout", "")),
            clean(said.get("through", "")),
            clean(said.get("program", "")),
            tuple(clean(row[6:]) for row in rows if row.startswith("@hint ")),
        )

    async def launch(self, act: str, start: Start) -> Launched:
        """Start it, once for each act.

        Raises:
            HostRefused: the port is taken, an earlier launch still runs, or the recipe is unusable.
            WireError: the host was not reached.
        """
        argv = launch_argv(
            act, start.server, start.port, start.log,
            base=start.base, env_file=start.env_file, window=start.window,
        )  # fmt: skip
        said = _said(_accepted(await self.host.run(argv, start.text())))
        launched = _launched(said)
        if launched is None:
            raise HostRefused("the host did not tell what it started")
        return launched

    async def records(self, server: Server, port: int) -> Records:
        """What was launched last in the slot, and what was adopted for the server."""
        said = _said(await self.host.run(record_argv(port, server.name)))
        return Records(
            _launched(said), said.get("adopted", ""), said.get("of", ""), "wedged" in said
        )

    async def keep_wedged(self, port: int) -> str:
        """Keep on the host that the GPUs of a slot are wedged: nothing is launched there. Why that
        is not kept; empty where it is."""
        return _said(await self.host.run(wedged_argv(port))).get("refused", "")

    async def show(self, path: str) -> tuple[tuple[Clean, ...], dict[str, str]]:
        """The masked command line and the showable variables of a recipe on the host."""
        rows = _accepted(await self.host.run(show_argv(path)))
        with understood():
            at = rows.index("@environment")
        pairs = (row[1:].partition("=") for row in rows[at:] if row.startswith(" "))
        values = {name: str(self.host.clean(value)) for name, _, value in pairs}
        return self._words(rows[:at]), values

    async def lock(self, act: str, owner: str, over: str = "") -> Held | None:
        """Take or renew the host's lock; who has it, where another act does."""
        stale_s = round(self.host.pace.lock_stale_s)
        rows = _accepted(await self.host.run(lock_argv(act, owner, max(1, stale_s), over)))
        said = _said(rows)
        for word in ("held", "stale"):
            if word in said:
                with understood():
                    other, age = said[word].split()
                    who, place = self._words(rows)
                    return Held(other, who, place, int(age), word == "stale")
        return None

    async def unlock(self, act: str) -> None:
        """Let go of the lock."""
        await self.host.run(unlock_argv(act))

    def _words(self, rows: list[str]) -> tuple[Clean, ...]:
        return tuple(
            self.host.clean(row[1:].replace("\1", "\n")) for row in rows if row.startswith(" ")
        )


def _said(rows: list[str]) -> dict[str, str]:
    pairs = (row[1:].partition(" ") for row in rows if row.startswith("@"))
    return {name: rest for name, _, rest in pairs}


def _accepted(rows: list[str]) -> list[str]:
    refused = _said(rows).get("refused")
    if refused is not None:
        raise HostRefused(refused)
    return rows


def _launched(said: Mapping[str, str]) -> Launched | None:
    words = said.get("launched", "").split(" ")
    if len(words) != 5:
        return None
    act, pid, start, boot, server = words
    log, recipe = said.get("log", ""), said.get("recipe", "")
    window = said.get("window", "")
    with understood():
        return Launched(act, int(pid), int(start), boot, server, log, recipe, window)


def shown_command(words: tuple[Clean, ...]) -> str:
    """A command line as a person would type it."""
    return shlex.join(words)


def own(launched: Launched | None, identity: Identity) -> bool:
    """Whether this console's kind started that very process."""
    return launched is not None and (launched.pid, launched.start_ticks, launched.boot_id) == (
        identity.pid,
        identity.start_ticks,
        identity.boot_id,
    )
