"""The samples of a session file: what charts look back on from any place in it.

A player gives State at once after a seek; the samples before it are read here, newest first and
within a bound, so that a seek stays instant.
"""

from __future__ import annotations

from console.model.clock import US_PER_S
from console.model.text import Clean
from console.session.journal import Journal
from console.stream.fold import whole
from console.stream.series import Samples
from console.stream.server_events import MetricSeen, TokenSeen

LOOK_BACK_US = 180 * US_PER_S
MOST_BLOCKS = 2000
"""Blocks that are read at most; the oldest samples are missing then."""

_KINDS = ("metric", "token")


def look_back(samples: Samples, journal: Journal, number: int, at_us: int) -> None:
    """Add the samples of the blocks before `number`, as far as LOOK_BACK_US before `at_us`."""
    index = journal.index
    wanted = {index.kinds.index(kind) for kind in _KINDS if kind in index.kinds}
    found: list[int] = []
    for place in range(number - 1, -1, -1):
        if index.t_us[place] < at_us - LOOK_BACK_US or len(found) >= MOST_BLOCKS:
            break
        if index.kind[place] in wanted:
            found.append(place)
    metrics: dict[str, MetricSeen] = {}
    for place in reversed(found):
        event = journal.event(place)
        if isinstance(event, MetricSeen):
            metric = metrics[event.server] = whole(metrics.get(event.server), event)
            samples.take(event.server, index.t_us[place], metric.figures)
        elif isinstance(event, TokenSeen) and event.decode_tok_s is not None:
            figure = ((Clean("decode_tok_s"), event.decode_tok_s),)
            samples.take(event.server, index.t_us[place], figure)
