"""One act under way: keep, stop, start, wait, roll back; each phase told as it begins.

Owns the order of the phases and what the end is called. Confirmation, the lock and the audit are
whose who calls it. A roll-back launches what was kept before anything was stopped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from console.control.acting_look import Look, session_of, texts
from console.control.acting_request import Request
from console.control.acting_wait import Readiness, Waited
from console.model.clock import Clock, Pace
from console.model.exits import Exit
from console.model.mask import Masks
from console.model.text import Clean
from console.nccl.truth import same_reading
from console.services.environ import Reader
from console.services.launcher import Captured, HostRefused, Launched, Launcher, Start
from console.services.process import HostCommands, Tree
from console.services.stopper import Limits, Stopped, Stopper
from console.stream.fact import Completeness
from console.stream.server_events import EnvRead
from console.stream.timeline import Timeline

if TYPE_CHECKING:
    from console.services.live import Watch

DONE = "done"
FAILED = "failed"
ROLLED_BACK = "rolled back"
WEDGED = "wedged GPU"
NOT_AS_ASKED = "up, but not as asked"


@dataclass(frozen=True, slots=True)
class End:
    """How an act ended."""

    exit: Exit
    outcome: str
    text: str
    results: dict[str, str | int | float] = field(default_factory=dict)
    lines: tuple[Clean, ...] = ()


@dataclass(slots=True)
class Flow:
    """The phases of one act.

    Attributes:
        say: (phase, text) as they come.
        may: asks a person for one thing more, with the name typed or not; False without one.
        tick: renews the lock; raises when it is lost.
        standing: what is known of the slot while nothing of this act was started, in words.
    """

    act: str
    request: Request
    look: Look
    watch: Watch
    timeline: Timeline
    clock: Clock
    pace: Pace
    masks: Masks
    commands: HostCommands
    launcher: Launcher
    say: Callable[[str, str], None]
    may: Callable[[str, tuple[str, ...], str, bool], Awaitable[bool]]
    tick: Callable[[], Awaitable[object]]
    kept: Captured | None = None
    started: Launched | None = None
    standing: str = ""

    async def run(self) -> End:
        """Do it.

        Raises:
            HostRefused: the host's side refused; nothing was stopped or started by that.
            WireError: the host was not reached for long.
        """
        request, look = self.request, self.look
        if request.verb == "adopt":
            return await self._adopt()
        if request.stops and look.tree.launcher is not None:
            why = await self._keep_before()
            if why and request.starts:
                return End(Exit.GUARD, FAILED, f"{why}; nothing was stopped")
            name = look.runs or "what ran"
            self.standing = f"{name} was told to stop; look at what runs"
            stopped = await self._stop(look.tree, look.records.launched)
            if stopped.gone:
                kept = f", kept as {self.kept.path}" if self.kept is not None else ""
                self.standing = f"{name} is stopped{kept}; nothing runs in this slot"
            if stopped.wedged:
                return End(Exit.STEP, WEDGED, f"{stopped.why()}; nothing is launched here")
            if not stopped.gone:
                return End(Exit.STEP, FAILED, f"not stopped: {stopped.why()}")
            if request.verb == "stop":
                memory = "released" if stopped.memory_read else "not looked at: no nvidia-smi"
                text = f"stopped: processes gone, port free, GPU memory {memory}"
                return End(Exit.OK, DONE, text)
        elif request.verb == "stop":
            return End(Exit.OK, DONE, f"nothing to stop: {look.tree.why}")
        return await self._up(self._start())

    async def _adopt(self) -> End:
        tree = self.look.tree
        if tree.launcher is None:
            return End(Exit.STEP, FAILED, f"nothing to adopt: {tree.why}")
        kept = await self._keep(f"adopted/{self.request.server}.recipe")
        said = [f"{kept.variables} variables", f"in {kept.cwd}"]
        if kept.unkept:
            said.append(f"{kept.unkept} of them with names that cannot be restored")
        if kept.through:
            said.append(f"its output goes through a pipe to {kept.through}")
        elif kept.log:
            said.append(f"its output goes to {kept.log}")
        else:
            said.append(f"its output goes to {kept.output or 'nowhere known'}, which is no log")
        if kept.program:
            said.append(f"its command line names no program; {kept.program} is taken")
        if self.look.kept.unit:
            said.append(f"unit {self.look.kept.unit} keeps it running")
        elif self.look.kept.by_hand:
            said.append(f"it runs in container {tree.container[:12] or 'of another name'}")
        said += kept.hints
        results: dict[str, str | int | float] = {
            "recipe": kept.path, "pid": tree.launcher.identity.pid, "log": kept.log,
        }  # fmt: skip
        text = f"process {tree.launcher.identity.pid} adopted: {', '.join(said)}"
        return End(Exit.OK, DONE, text, results, (*kept.words,))

    async def _keep(self, file: str) -> Captured:
        launcher = self.look.tree.launcher
        assert launcher is not None
        self.say("keep", f"keeping the recipe of process {launcher.identity.pid} on its host")
        return await self.launcher.capture(launcher, file)

    async def _keep_before(self) -> str:
        """Keep what runs now, to go back to; why there is no way back, "" where there is one."""
        look, launched = self.look, self.look.records.launched
        launcher = look.tree.launcher
        assert launcher is not None
        try:
            self.kept = await self._keep(f"port-{look.port}/{self.act}.before")
        except HostRefused as error:
            # Of a launch of a console whose leader is gone there is still the recipe.
            if launched is None or not launched.is_it(launcher) or error.unwritten:
                self.say("keep", f"{error}; what runs now cannot be brought back")
                return f"what runs now cannot be brought back: {error}"
            self.kept = Captured(launched.recipe)
        return ""

    async def _stop(self, tree: Tree, launched: Launched | None) -> Stopped:
        """Stop it; where politeness is not enough, ask for KILL."""
        limits = Limits(self.request.grace_s, self.request.kill_s)
        while True:
            stopper = Stopper(
                self.commands, self.look.port, tree, launched, limits, self.look.gpus,
                tick=self.tick,
            )  # fmt: skip
            async for phase, text in stopper.run():
                self.say(phase, text)
            if stopper.result.wedged and (why := await self.launcher.keep_wedged(self.look.port)):
                self.say("gone", f"no later launch is warned of the wedged GPUs: {why}")
            left = stopper.result.survivors
            if not left or stopper.result.changed or limits.kill_s is not None:
                return stopper.result
            detail = tuple(f"process {one.identity.pid}: {' '.join(one.argv)}" for one in left)
            if not await self.may("TERM did not end it. KILL what is left?", detail, "Kill", True):
                return stopper.result
            tree, limits = Tree(left[0], left[1:]), Limits(0.0, 0.0)

    def _start(self) -> Start:
        look, server = self.look, self.look.server
        log = server.log.path if server.log is not None else ""
        kept = self.kept
        base = look.base
        if server.recipe is None and not base:
            assert kept is not None
            base = kept.path
            log = log or kept.log
        return Start(
            server.name, look.port, log, base,
            None if base else server.recipe, self.request.wanted,
            self.request.method == "tmux", self.request.args,
        )  # fmt: skip

    async def _up(self, start: Start) -> End:
        try:
            waited = await self._launch(self.act, start, self.request.ready_s)
        except HostRefused as error:
            refused = End(Exit.STEP, FAILED, f"not launched: {error}")
            return refused if self.kept is None else await self._failed(refused, False)
        assert self.started is not None
        results: dict[str, str | int | float] = {
            "pid": self.started.pid, "ready_us": waited.took_us, "log": self.started.log,
        }  # fmt: skip
        if waited.exit is not Exit.OK:
            failed = End(waited.exit, FAILED, waited.text, results, waited.lines)
            return await self._failed(failed, waited.alive)
        wrong = await self._as_asked()
        if wrong:
            text = f"{waited.text}; {'; '.join(wrong[:8])}"
            return End(Exit.ASSERTION, NOT_AS_ASKED, text, results)
        return End(Exit.OK, DONE, waited.text, results)

    async def _launch(self, act: str, start: Start, ready_s: float) -> Waited:
        self.say("launch", f"launching {start.server}")
        self.watch.follow_log(start.server, 0)
        before = self.standing.removesuffix("; nothing runs in this slot")
        self.standing = f"{before}; " if before else ""
        self.standing += f"whether {start.server} was started is not known"
        self.started = await self.launcher.launch(act, start)
        log = self.started.log
        shown = f"; tmux attach -t {self.started.window}" if self.started.window else ""
        self.say("load", f"process {self.started.pid} was started; its output goes to {log}{shown}")
        readiness = Readiness(
            start.server, start.port, self.started, self.watch, self.timeline, self.commands,
            self.clock, self.pace, lambda text: self.say("load", text), self.tick,
        )  # fmt: skip
        return await readiness.wait(ready_s)

    async def _as_asked(self) -> list[str]:
        """What is not in effect as wanted, wherever it can be read."""
        look = self.look
        reader = Reader(
            look.server, look.port, self.commands.wire, self.clock, self.pace, self.masks
        )
        events = await self.commands.again(reader.read)
        for event in events:
            self.timeline.emit(event)
        wrong: list[str] = []
        for event in events:
            if not isinstance(event, EnvRead) or event.pid is None:
                continue
            held = texts(event)
            whole = event.completeness is Completeness.WHOLE
            for name, wanted in self.request.wanted.items():
                value = held.get(name)
                if value is None and (wanted is None or not whole):
                    continue
                if value is None:
                    wrong.append(f"{event.source} has no {name}")
                elif wanted is None or not same_reading(name, wanted, value):
                    wrong.append(f"{event.source} has {name}={value}")
        return wrong

    async def _failed(self, end: End, alive: bool) -> End:
        """Back to what was, by itself or when a person wants it."""
        detail = (end.text, *end.lines)
        back = "what ran before" if self.kept is not None else "an empty slot"
        wanted = self.request.roll_back or await self.may(
            f"{self.request.verb} failed. Back to {back}?", detail, "Roll back", False
        )
        if not wanted:
            return replace(end, text=end.text + self._slot(alive))
        self.say("roll back", f"{end.text}; back to {back}")
        if self.started is not None:
            stopped = await self._clear(self.started)
            if not stopped.gone:
                return replace(end, text=f"{end.text}; not rolled back: {stopped.why()}")
        if self.kept is None:
            return replace(
                end, exit=Exit.ROLLED_BACK, outcome=ROLLED_BACK,
                text=f"{end.text}; the slot is empty as before",
            )  # fmt: skip
        return await self._back(end, self.kept)

    def _slot(self, alive: bool) -> str:
        pid = self.started.pid if self.started is not None else 0
        return f"; process {pid} still runs" if alive and pid else "; the slot is empty"

    async def _clear(self, started: Launched) -> Stopped:
        """End whatever is left of a launch that failed: all of it is of our own session."""
        tree = await session_of(self.commands, started)
        return Stopped() if tree is None else await self._stop(tree, started)

    async def _back(self, end: End, kept: Captured) -> End:
        name = self.look.runs or self.request.server
        server = self.watch.fleet.server(name)
        log = kept.log or (server.log.path if server.log is not None else "")
        start = Start(name, self.look.port, log, kept.path)
        try:
            waited = await self._launch(f"{self.act}.back", start, self.request.ready_s)
        except HostRefused as error:
            text = f"{end.text}; roll back failed too: {error}{self._slot(False)}"
            return replace(end, text=f"{text}, what ran is kept as {kept.path}")
        if waited.exit is not Exit.OK:
            text = f"{end.text}; roll back failed too: {waited.text}{self._slot(waited.alive)}"
            return replace(end, text=text, lines=(*end.lines, *waited.lines))
        assert self.started is not None
        text = f"{end.text}; rolled back: {name} runs as before, {waited.text}"
        results = {**end.results, "pid": self.started.pid}
        return replace(end, exit=Exit.ROLLED_BACK, outcome=ROLLED_BACK, text=text, results=results)
