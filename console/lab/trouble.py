"""What happens to a running server: switches thrown, ranks that die or stop, signals, its end.

Every end kills the children first and then leaves as the real server would: exit code 0 after a
drain, 137 after a crash.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import NoReturn

from console.lab.answers import DRAFT_GB, GRAPH_GB, KV_GB, WEIGHT_GB
from console.lab.faults import FAULTS, End, Fault
from console.lab.processes import Child, Children
from console.lab.service import Service
from console.lab.site import Site
from console.lab.switches import Switches

_LOOK_S = 0.1
_DRAIN_S = 2.0
_MIB_PER_GB = 1024
_HELD_MIB = {
    "init": 620,
    "weights": 620 + WEIGHT_GB / 2 * _MIB_PER_GB,
    "kv": (WEIGHT_GB + 0.6) * _MIB_PER_GB,
    "graphs": (WEIGHT_GB + KV_GB + 0.6) * _MIB_PER_GB,
}
_FULL_MIB = (WEIGHT_GB + KV_GB + GRAPH_GB + DRAFT_GB + 0.6) * _MIB_PER_GB


class Trouble:
    """Watches over one server and ends it.

    Attributes:
        serving: whether the port is open, which changes what a dead child leads to.
    """

    def __init__(self, service: Service, children: Children, site: Site, name: str) -> None:
        self.serving = False
        self._service = service
        self._children = children
        self._site = site
        self._name = name
        self._switches = site.switches(name)
        self._seen = site.switched()
        self._phase = "init"
        self._noted: dict[str, object] = {}
        self._ending: asyncio.Task[None] | None = None
        self._struck = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def at(self, phase: str) -> None:
        """Called as each phase begins: a fault of that phase strikes now."""
        self._phase = phase
        self._note()
        if self._switches.never_ready == phase:
            await self._service.hang()
        await self._strike()
        if phase == "serving":
            self._obey(Switches())
            if self._switches.dies_after_s:
                self._start(self._die_later(self._switches.dies_after_s))

    async def watch(self) -> None:
        """Look after the children and the switches until the server ends."""
        while True:
            if (dead := self._children.dead()) is not None:
                await self._crashed(*dead)
            scheduler = self._service.scheduler
            scheduler.stuck = self._switches.stuck or self._children.stopped()
            if self._site.switched() != self._seen:
                self._seen = self._site.switched()
                self._read_switches()
            self._note()
            await asyncio.sleep(_LOOK_S)

    def _read_switches(self) -> None:
        before = self._switches
        try:
            self._switches = self._site.switches(self._name)
        except ValueError as wrong:
            self._service.log.raw(f"lab: {wrong}\n")
        else:
            self._obey(before)

    def drain(self) -> None:
        """SIGTERM: finish what runs, refuse health, leave with 0."""
        if self._ending is None and not self._service.crashed:
            self._ending = asyncio.get_running_loop().create_task(self._drain())

    def leave(self, code: int) -> NoReturn:
        """Kill the children and exit at once."""
        self._children.kill()
        os._exit(code)

    def _start(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _obey(self, before: Switches) -> None:
        now = self._switches
        self._service.scheduler.slowdown = now.slowdown
        self._service.static_health = now.static_health
        if now.fault != before.fault:
            self._struck = False
        if self.serving and now.foreign_probe_s and now.foreign_probe_s != before.foreign_probe_s:
            self._start(self._foreign_probe(now.foreign_probe_s))
        if self.serving and now.fault and not self._struck:
            self._start(self._strike())

    async def _strike(self) -> None:
        fault = FAULTS.get(self._switches.fault)
        if fault is None or fault.phase != self._phase or self._struck:
            return
        self._struck = True
        _write(fault, self._service, self._children.ranks[-1].pid)
        match fault.end:
            case End.LIVES:
                return
            case End.EXITS:
                self.leave(1)
            case End.KILLED:
                await self._crash_out()

    async def _crashed(self, child: Child, code: int) -> None:
        log = self._service.log
        if self._service.draining and code == 0:
            return
        if self.serving:
            log.line(
                f"Subprocess {child.name} (pid={child.pid}) crashed with exit code {code}. "
                "Triggering SIGQUIT for cleanup..."
            )
            log.line(
                "SIGQUIT received. signum=None, frame=None. It usually means one child failed."
            )
        else:
            log.line("Received sigquit from a child process. It usually means the child failed.")
        await self._crash_out()

    async def _crash_out(self) -> None:
        log, pid = self._service.log, os.getpid()
        self._service.crashed = True
        if self._ending is not None:
            self._ending.cancel()
        self._children.kill()
        if self.serving:
            log.line("Sleeping 5 seconds before crash diagnostics to let GPU activity settle.")
            await self._service.clock.sleep(5.0)
            log.line("No live scheduler processes found; skipping py-spy and CUDA coredump.")
        log.line(f"kill_process_tree called: parent_pid={pid}, include_parent=True, pid={pid}")
        os.kill(pid, signal.SIGKILL)
        await self._service.hang()

    async def _drain(self) -> None:
        service, log, pid = self._service, self._service.log, os.getpid()
        log.line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        service.draining = True
        await service.clock.sleep(_DRAIN_S)
        # A request is over once its answer is on the wire, not with its last token.
        while service.scheduler.running or service.scheduler.waiting or service.active.total():
            await service.clock.sleep(0.1)
        log.line(
            "Gracefully exiting... Remaining number of requests 0. Remaining requests "
            "remaining_rids=[]."
        )
        log.line(f"kill_process_tree called: parent_pid={pid}, include_parent=False, pid={pid}")
        log.info("Shutting down")
        log.info("Waiting for application shutdown.")
        log.info("Application shutdown complete.")
        log.info(f"Finished server process [{pid}]")
        self.leave(0)

    async def _die_later(self, seconds: float) -> None:
        await self._service.clock.sleep(seconds)
        os.kill(self._children.ranks[0].pid, signal.SIGKILL)

    async def _foreign_probe(self, every_s: float) -> None:
        service, port = self._service, 51_514
        while self._switches.foreign_probe_s == every_s:
            await service.clock.sleep(every_s)
            status = await service.health()
            service.log.access(f"10.0.0.7:{port}", "GET", "/health", status)
            port = 51_514 + (port + 2 - 51_514) % 4_000

    def _note(self) -> None:
        held = _HELD_MIB.get(self._phase, _FULL_MIB)
        state: dict[str, object] = {
            "launcher": os.getpid(),
            "ranks": [child.pid for child in self._children.ranks],
            "held_mib": int(held),
            "busy": bool(self._service.scheduler.running),
        }
        if state != self._noted:
            self._noted = state
            self._site.note_gpus(state)


def _write(fault: Fault, service: Service, pid: int) -> None:
    for line in fault.lines:
        text = line.text.replace("{pid}", str(pid))
        text = text.replace("{port}", str(service.launch.port))
        if line.rank is None:
            service.log.raw(text + "\n")
        else:
            service.log.line(text, None if line.rank < 0 else line.rank)
