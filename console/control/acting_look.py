"""What is in a slot before an act, and what the act would do: looked at, and told in lines.

Owns how it is known whose process that is and which lines a person sees before confirming.
Changes nothing; an environment that cannot be read is said to be unread, never empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from console.control.acting_request import Request
from console.control.guard import UNKNOWN_LOAD
from console.model.clock import US_PER_S, Clock, Pace
from console.model.fleet import Fleet, Server
from console.model.mask import MASKED, Masks, is_secret_key
from console.model.text import Clean, clean
from console.nccl.check import check
from console.nccl.finding import Severity
from console.nccl.version import NEWEST
from console.services.environ import Reader, port_of
from console.services.launcher import (
    HostRefused,
    Launched,
    Launcher,
    Records,
    own,
)
from console.services.process import HostCommands, Seen, Tree
from console.services.stopper_gpu import look_at_gpus
from console.services.supervised import NOTHING_KEEPS_IT, Supervised, supervised
from console.stream.environment import machine, nccl_version
from console.stream.fact import Completeness
from console.stream.loads import last_load_s
from console.stream.server_events import EnvRead
from console.stream.state import Server as Cell
from console.stream.state import State

_NOT_OURS = {"adopted": "adopted", "somebody else": "somebody else started it"}


@dataclass(frozen=True, slots=True)
class Look:
    """What is in a slot.

    Attributes:
        runs: name of the server that runs there; "" where nobody or nobody knows.
        before: showable variables of what runs; None where they could not be read.
        after: showable variables of the recipe to come, without what is wanted over it.
        words: the command line to come, masked.
        base: recipe on the host to start from; "" for the fleet file's.
        no_start: why nothing can be started.
        kept: what keeps running what runs now, beside itself.
        findings: what NCCL makes of a variable to come that it reads otherwise than written.
        load_s: what the last load of that server took, None where none was seen.
    """

    server: Server
    slot: str
    host: str
    port: int
    gpus: tuple[int, ...]
    tree: Tree
    records: Records
    runs: str = ""
    running: float | None = None
    queued: float | None = None
    before: Mapping[str, str] | None = None
    before_why: str = ""
    after: Mapping[str, str] = field(default_factory=dict)
    words: tuple[Clean, ...] = ()
    base: str = ""
    no_start: str = ""
    load_s: float | None = None
    findings: tuple[str, ...] = ()
    kept: Supervised = NOTHING_KEEPS_IT

    @property
    def owner(self) -> str:
        """Who started what runs: `a console`, `adopted` or `somebody else`."""
        launcher = self.tree.launcher
        launched = self.records.launched
        if launcher is not None and launched is not None and launched.is_it(launcher):
            return "a console"
        if launcher is not None and self.adopted_it(launcher):
            return "adopted"
        return "somebody else"

    def adopted_it(self, seen: Seen) -> bool:
        """Whether the adopted recipe is of that very process."""
        one = seen.identity
        return self.records.of == f"{one.pid} {one.start_ticks} {one.boot_id}"

    def reasons(self, request: Request) -> list[str]:
        """Why the name must be typed."""
        if self.tree.launcher is None or not request.stops:
            return []
        found = [why for owner, why in _NOT_OURS.items() if owner == self.owner]
        if self.running is None:
            found.append(UNKNOWN_LOAD)
        elif self.running or self.queued:
            found.append("busy")
        if request.kill_s is not None:
            found.append("KILL")
        return found


@dataclass(frozen=True, slots=True)
class _Coming:
    """What would be started: command line, showable variables, recipe on the host, why not."""

    words: tuple[Clean, ...] = ()
    after: Mapping[str, str] = field(default_factory=dict)
    base: str = ""
    no_start: str = ""


@dataclass(slots=True)
class Looker:
    """Looks at slots."""

    fleet: Fleet
    clock: Clock
    pace: Pace
    masks: Masks
    commands: HostCommands
    launcher: Launcher

    async def look(self, request: Request, state: State, now_us: int) -> Look:
        """What is there now.

        Raises:
            WireError: the host was not reached.
        """
        server = self.fleet.server(request.server)
        slot = self.fleet.slot(server.slot)
        port = port_of(self.fleet, server)
        tree = await self.commands.tree(port)
        records = await self.launcher.records(server, port)
        if tree.launcher is None and not tree.listening and records.launched is not None:
            # What a console launched and what still loads listens to nothing yet.
            tree = await session_of(self.commands, records.launched) or tree
        runs = self._runs(server, tree, records, state)
        cell = state.servers.get(runs or server.name, Cell())
        figures = self._figures(cell, now_us)
        before, why, recipe = await self._environ(server, port)
        coming = _Coming(after=texts(recipe))
        if request.starts:
            coming = await self._coming(request, server, tree, records, recipe, before)
            if stuck := await self._wedged(records, slot.gpus):
                coming = replace(coming, no_start=stuck)
        kept = NOTHING_KEEPS_IT
        if tree.launcher is not None:
            kept = await supervised(self.commands, tree.launcher, tree.container)
        own = state.servers.get(server.name, Cell())
        return Look(
            server, slot.name, slot.host, port, slot.gpus, tree, records, runs,
            figures.get(Clean("running")), figures.get(Clean("queued")),
            before, why, coming.after, coming.words, coming.base, coming.no_start,
            last_load_s(own.history, self.pace.scale),
            _findings({**coming.after, **request.wanted}, own, state) if request.starts else (),
            kept,
        )  # fmt: skip

    async def _coming(
        self,
        request: Request,
        server: Server,
        tree: Tree,
        records: Records,
        recipe: EnvRead | None,
        before: Mapping[str, str] | None,
    ) -> _Coming:
        """What is to be started, from which recipe; or why nothing can be."""
        more = shown_words(request.args, self.masks)
        base = request.recipe or ("" if server.recipe is not None else records.adopted)
        if base:
            try:
                words, after = await self.launcher.show(base)
            except HostRefused as error:
                return _Coming(base=base, no_start=str(error))
            return _Coming((*words, *more), after, base)
        if server.recipe is not None:
            no_start = ""
            if recipe is None or recipe.completeness is Completeness.UNREADABLE:
                no_start = f"its environment file: {recipe.why if recipe else 'not read'}"
            words = shown_words(server.recipe.argv, self.masks)
            return _Coming((*words, *more), texts(recipe), no_start=no_start)
        if request.verb == "restart" and tree.launcher is not None:
            return _Coming((*tree.launcher.argv, *more), before or {})
        why = f"{server.name} has no recipe: neither in the fleet file nor adopted"
        return _Coming(more, texts(recipe), no_start=why)

    async def _wedged(self, records: Records, gpus: tuple[int, ...]) -> str:
        """Why nothing may be launched since an earlier stop; empty once the GPUs are free."""
        if not records.wedged:
            return ""
        stuck = (await look_at_gpus(self.commands)).all_stuck(gpus)
        return f"wedged since an earlier stop: {'; '.join(stuck)}" if stuck else ""

    def _runs(self, server: Server, tree: Tree, records: Records, state: State) -> str:
        launcher, launched = tree.launcher, records.launched
        if launcher is None:
            return ""
        if launched is not None and launched.is_it(launcher):
            return launched.server
        others = [one for one in self.fleet.servers if one.slot == server.slot]
        for one in others:
            words = shown_words(one.recipe.argv, self.masks) if one.recipe else ()
            if words and alike(words, launcher.argv[-len(words) :]):
                return one.name
        for one in others:
            arm = state.servers.get(one.name, Cell()).arm
            if arm is not None and arm.arm is one.arm:
                return one.name
        return server.name if len(others) == 1 else ""

    def _figures(self, cell: Cell, now_us: int) -> Mapping[Clean, float]:
        """The newest figures; none where they are old."""
        metric = cell.metric
        if metric is None or now_us - metric.t_us > 5 * self.pace.metrics_s * US_PER_S:
            return {}
        return dict(metric.figures)

    async def _environ(
        self, server: Server, port: int
    ) -> tuple[Mapping[str, str] | None, str, EnvRead | None]:
        """Of what runs, with the reason where unread; and of the recipe's file and words."""
        reader = Reader(server, port, self.commands.wire, self.clock, self.pace, self.masks)
        events = await self.commands.again(reader.read)
        read = {event.source: event for event in events if isinstance(event, EnvRead)}
        launcher, recipe = read.get(Clean("launcher")), read.get(Clean("recipe"))
        if launcher is None or launcher.completeness is not Completeness.WHOLE:
            return None, launcher.why if launcher is not None else "not read", recipe
        return texts(launcher), "", recipe


def _findings(env: Mapping[str, str | None], cell: Cell, state: State) -> tuple[str, ...]:
    """What is no note of NCCL's reading of what is to come, the worst first."""
    values = {name: value for name, value in env.items() if value is not None}
    found = check(values, nccl_version(cell) or NEWEST, machine(cell, state))
    worst = sorted(found, key=lambda one: -one.severity.rank)
    return tuple(
        f"{one.severity.value}: {', '.join(one.names)}: {one.why}"
        for one in worst
        if one.severity is not Severity.NOTE
    )


def shown_words(words: Sequence[str], masks: Masks) -> tuple[Clean, ...]:
    """A command line to be shown: the word after a secret's option is masked and learned."""
    shown: list[Clean] = []
    secret = ""
    for word in words:
        if secret:
            masks.learn_pair(secret, word)
        shown.append(Clean(MASKED) if secret else clean(word, masks))
        name = word.lstrip("-").replace("-", "_")
        secret = name if word.startswith("-") and is_secret_key(name) else ""
    return tuple(shown)


def alike(words: Sequence[Clean], running: Sequence[Clean]) -> bool:
    """Whether it is the same command line, as far as it is shown."""
    return len(words) == len(running) and all(
        one == other or MASKED in (one, other) for one, other in zip(words, running, strict=True)
    )


async def session_of(commands: HostCommands, launched: Launched) -> Tree | None:
    """What runs of a launch, its leader first; None when nothing does."""
    pids = {launched.pid, *await commands.members(launched.pid)}
    seen = await commands.look(sorted(pids))
    left = [one for one in seen.values() if one.alive and launched.is_it(one)]
    left.sort(key=lambda one: (not own(launched, one.identity), one.identity.pid))
    return Tree(left[0], tuple(left[1:])) if left else None


def texts(read: EnvRead | None) -> Mapping[str, str]:
    """The values of a reading; none of none."""
    return {str(name): str(value) for name, value in read.values} if read is not None else {}
