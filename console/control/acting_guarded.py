"""Holding the guard of a script's step against what is there, before an act changes anything.

Finds out what the guard asks for; what it then says is the guard's own. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from console.control.acting_look import Look
from console.control.acting_request import Request
from console.control.step_guard import StepGuard
from console.control.until import until
from console.model.zone import in_zone
from console.stream.state import State

if TYPE_CHECKING:
    from console.control.acting import Acts


async def with_load(acts: Acts, request: Request, look: Callable[[], Awaitable[Look]]) -> Look:
    """What is there now; where the guard asks for the load, once that is known.

    Raises:
        WireError: the host was not reached.
    """
    found = await look()
    untimely = guarded_by_time(acts, request.guard)
    if untimely or not request.guard.of_load or found.tree.launcher is None:
        return found
    if found.running is not None:
        return found
    name, since = found.runs or request.server, acts.timeline.seq
    acts.watch.follow_health(name)
    acts.watch.follow_status(name)

    def fresh(state: State) -> bool:
        cell = state.servers.get(name)
        return cell is not None and cell.metric is not None and cell.metric.seq > since

    await until(acts.timeline, fresh, acts.pace.read_deadline_s)
    return await look()


def guarded_by_time(acts: Acts, guard: StepGuard) -> str:
    """Why not at this time of the day; empty where it is allowed."""
    return guard.untimely(in_zone(acts.clock.utc(), acts.guard.zone))


def guarded(acts: Acts, guard: StepGuard, look: Look) -> str:
    """Why the guard refuses; empty where it does not."""
    running = 0.0 if look.tree.launcher is None else look.running
    return guarded_by_time(acts, guard) or guard.busy(running, look.queued)
