"""A script's step and a link that is lost for a while: waited for before the step, and looked again
after one that only looks.

Waits only. A link that is refused is no reason to wait: the step then says why itself.
"""

from __future__ import annotations

from console.control.until import until
from console.model.failure import Failure
from console.model.fleet import LogId
from console.stream.fact import FeedState, Link
from console.stream.state import State
from console.stream.timeline import Timeline

LOOKS = ("health", "tail", "env", "topology")
"""What may be done twice: it changes nothing and measures nothing."""
_SETTLE_S = 0.3
"""A command fails a moment before its link is known to be lost."""


async def link_back(timeline: Timeline, server: str, deadline_s: float) -> None:
    """Return once the link to a server's host is not lost, or the time is over."""
    await until(timeline, lambda state: not _away(state, server), deadline_s)


async def link_lost(timeline: Timeline, server: str) -> bool:
    """Whether the link to a server's host was lost just now."""
    return await until(timeline, lambda state: _away(state, server), _SETTLE_S)


def cut_for_now(state: State, log: LogId, server: str) -> bool:
    """Whether a log's feed was cut with its link, which is not refused since: it goes on soon."""
    cell, link = state.logs.get(log), _link(state, server)
    feed = cell.feed if cell is not None else None
    cut = feed is not None and feed.feed is FeedState.CUT and feed.failure is Failure.LINK_LOST
    return cut and link is not Link.REFUSED


def _away(state: State, server: str) -> bool:
    return _link(state, server) in (Link.LOST, Link.CONNECTING)


def _link(state: State, server: str) -> Link | None:
    cell = state.servers.get(server)
    host = state.hosts.get(cell.listed.host) if cell is not None and cell.listed else None
    return host.link.link if host is not None and host.link is not None else None
