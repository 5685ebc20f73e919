"""Stopping a server and seeing that it is gone: processes, port, GPU memory.

Owns the order: TERM to the launcher alone, which lets it drain; then to what is left of it; KILL
only where it was allowed. A group is signalled only where a console created it and its leader is
verified to live. What stays is told with what it holds; nothing is killed to make it go.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from console.model.clock import US_PER_S
from console.services.launcher import Launched, own
from console.services.process import HostCommands, Identity, Seen, Sent, Tree
from console.services.stopper_gpu import GpuMemory, look_at_gpus, still_held

_LOOKS_AFTER_LAUNCHER = 3
"""Looks until what outlives its launcher is told to end."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a stop ended.

    Attributes:
        survivors: processes still there.
        holder: what holds the port, "" for nothing.
        gpu: what holds GPU memory of it, one text each.
        wedged: memory or processes stay though everything was killed: nothing may be launched.
        changed: it was not what was looked at any more; no signal went out.
        memory_read: whether GPU memory could be looked at.
    """

    survivors: tuple[Seen, ...] = ()
    holder: str = ""
    gpu: tuple[str, ...] = ()
    wedged: bool = False
    changed: str = ""
    memory_read: bool = False

    @property
    def gone(self) -> bool:
        """Processes gone, port free, GPU memory released."""
        return not (self.survivors or self.holder or self.gpu or self.changed)

    def why(self) -> str:
        """What is left, in one line."""
        if self.changed:
            return self.changed
        left = [f"process {one.identity.pid} ({one.state})" for one in self.survivors[:8]]
        left += [self.holder] if self.holder else []
        left += list(self.gpu)
        return ("wedged: " if self.wedged else "") + "; ".join(left)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to be polite, and whether KILL is allowed; `kill_s` counts from the first TERM."""

    grace_s: float
    kill_s: float | None = None


async def nothing() -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class Stopper:
    """One stop of what holds a port.

    Attributes:
        gpus: those of the slot; empty for all.
        known: every process of the server seen so far.
        tick: called at every look, for whoever must renew something.
    """

    host: HostCommands
    port: int
    tree: Tree
    launched: Launched | None
    limits: Limits
    gpus: tuple[int, ...] = ()
    known: dict[int, Identity] = field(default_factory=dict)
    result: Stopped = field(default_factory=Stopped)
    tick: Callable[[], Awaitable[object]] = field(default=nothing)
    _memory: GpuMemory = field(default_factory=GpuMemory)

    async def run(self) -> AsyncIterator[tuple[str, str]]:
        """Phases with a line for a person each; the end is in `result`."""
        launcher = self.tree.launcher
        assert launcher is not None
        self.known = {one.identity.pid: one.identity for one in self.tree.all}
        self._memory = await look_at_gpus(self.host)
        begun_us = self.host.clock.now_us()
        sent = (await self.host.signal("TERM", [launcher.identity]))[launcher.identity.pid]
        if sent not in (Sent.SENT, Sent.GONE):
            what = "an unpermitted one" if sent is Sent.REFUSED else f"another one ({sent.value})"
            self.result = Stopped(
                changed=f"process {launcher.identity.pid} is {what}; nothing was signalled"
            )
            return
        yield "term", f"TERM sent to process {launcher.identity.pid}; it may drain"
        left = await self._wait(begun_us, self.limits.grace_s, launcher_only=True)
        if left:
            told = await self._signal_all("TERM", left)
            yield "term", f"TERM sent to what is left: {told}"
            grace_s = self.limits.grace_s + self.host.pace.kill_grace_s
            if self.limits.kill_s is not None:
                grace_s = max(self.limits.kill_s, 0.0)
            left = await self._wait(begun_us, grace_s)
        killed = False
        if left and self.limits.kill_s is not None:
            told = await self._signal_all("KILL", left)
            killed = True
            yield "kill", f"KILL sent to {told}"
            now_us = self.host.clock.now_us()
            left = await self._wait(now_us, self._own_s)
        yield "gone", "looking at port and GPU memory"
        self.result = await self._ended(left, killed)

    async def _wait(
        self, since_us: int, limit_s: float, *, launcher_only: bool = False
    ) -> list[Seen]:
        """Who is left once nobody is, or the time is over; with `launcher_only` that of the
        launcher: what outlives it by a while is told to end, not waited for."""
        launcher = self.tree.launcher
        assert launcher is not None
        outlived = 0
        while True:
            left = await self._left()
            over_us = self.host.clock.now_us() - since_us
            if not left or over_us > limit_s * US_PER_S:
                return left
            if launcher_only and all(one.identity.pid != launcher.identity.pid for one in left):
                outlived += 1
                if outlived > _LOOKS_AFTER_LAUNCHER:
                    return left
            await self.tick()
            await self.host.clock.sleep(self.host.pace.act_look_s)

    async def _left(self) -> list[Seen]:
        """Those of the known that live, and whatever was born to the same session since."""
        if self.launched is not None and self._is_own:
            for pid in await self.host.members(self.launched.pid):
                if pid not in self.known:
                    seen = (await self.host.look([pid])).get(pid)
                    if seen is not None and self.launched.is_it(seen):
                        self.known[pid] = seen.identity
        left = await self.host.alive(self.known.values())
        for one in left:
            self.known[one.identity.pid] = one.identity
        return left

    @property
    def _own_s(self) -> float:
        """How long the machine may take, by its own time: a lab does not make it quicker."""
        return self.host.pace.kill_grace_s * self.host.pace.scale

    @property
    def _is_own(self) -> bool:
        launcher = self.tree.launcher
        return launcher is not None and self.launched is not None and self.launched.is_it(launcher)

    async def _signal_all(self, name: str, left: list[Seen]) -> str:
        leader = next((one for one in left if own(self.launched, one.identity)), None)
        if leader is not None and leader.group == leader.identity.pid:
            await self.host.signal(name, [leader.identity], group=True)
            return f"the group of process {leader.identity.pid}, which a console created"
        await self.host.signal(name, [one.identity for one in left])
        return "processes " + ", ".join(str(one.identity.pid) for one in left[:12])

    async def _ended(self, left: list[Seen], killed: bool) -> Stopped:
        """Port and GPU memory, looked at until they are free or the time is over."""
        begun_us = self.host.clock.now_us()
        while True:
            tree = await self.host.tree(self.port)
            now = await look_at_gpus(self.host)
            gpu, stuck = still_held(self._memory, now, self.gpus, self.known)
            holder = ""
            if tree.launcher is not None:
                pid, words = tree.launcher.identity.pid, " ".join(tree.launcher.argv)[:120]
                holder = f"port {self.port} is held by process {pid}: {words}"
            elif tree.listening:
                holder = tree.why
            over_us = self.host.clock.now_us() - begun_us
            patience_s = self._own_s if not left else 0.0
            if (not holder and not gpu) or over_us > patience_s * US_PER_S:
                wedged = stuck or (killed and bool(left))
                return Stopped(tuple(left), holder, gpu, wedged, memory_read=now.readable)
            await self.tick()
            await self.host.clock.sleep(self.host.pace.act_look_s)
