"""What a server or its host is asked for on demand only: a token, how GPUs are joined.

Owns what must hold before anything is sent. Never on a schedule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.control.answers import token_outcome, topology_outcome
from console.control.port import Outcome
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.mask import Masks
from console.model.text import clean
from console.stream.fact import NOTHING
from console.stream.timeline import Timeline

if TYPE_CHECKING:
    from console.services.live import Watch


async def token_now(watch: Watch, server: str, timeline: Timeline, masks: Masks) -> Outcome:
    """Have a server make one token; nothing is sent to one that its slot has not loaded."""
    arm = timeline.state.servers[server].arm
    if arm is not None and arm.arm is None:
        return Outcome(Exit.STEP, clean(f"not loaded: {arm.evidence}", masks))
    probed = await watch.asking.ask_token(server)
    return token_outcome(timeline.state, server, probed, masks)


async def topology_now(watch: Watch, server: str, masks: Masks) -> Outcome:
    """Links and peer access between the GPUs of a server's host."""
    try:
        found = await watch.asking.read_topology(server)
    except WireError as error:
        return Outcome(error.kind.exit, clean(error.told, masks))
    if isinstance(found, str):
        return topology_outcome(None, clean(found, masks))
    return topology_outcome(found, NOTHING)
