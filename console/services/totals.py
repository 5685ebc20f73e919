"""A server's counters around a run: what it has made in all, and what runs on it now.

Owns what of each engine's metrics serves as a total. A figure that a server does not export is
None and never 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.bench.acceptance import Counters
from console.bench.alone import Queue
from console.engines.dialect import Dialect
from console.engines.metrics import Worker, read_metrics
from console.model.failure import WireError
from console.model.fleet import Engine, Server
from console.transport.http import Http

_MOST_BYTES = 8 * 1024 * 1024
_FINISHED, _DECODED = "finished_tokens_total", "decode_tokens_total"


@dataclass(frozen=True, slots=True)
class Totals:
    """One reading of a server's metrics."""

    counters: Counters | None
    queue: Queue


NOT_TOLD = Totals(None, Queue(None, None))


async def read_totals(server: Server, engine: Engine, http: Http, deadline_s: float) -> Totals:
    """Ask once; nothing told where the server exports no metrics or cannot be asked."""
    path = Dialect(engine).next_path("metrics")
    if path is None:
        return NOT_TOLD
    url = server.url.rstrip("/") + path.path
    try:
        answer = await http.get(url, deadline_s=deadline_s, most_bytes=_MOST_BYTES)
    except WireError:
        return NOT_TOLD
    body = answer.body.decode("utf-8", "replace")
    only = read_metrics(answer.code, body, histograms=False).only
    return NOT_TOLD if only is None else totals_of(only)


def totals_of(worker: Worker) -> Totals:
    """Generated tokens are those of finished requests where an engine tells them apart, since they
    move only when a run is over."""

    def whole(name: str) -> int | None:
        value = worker.get(name)
        return None if value is None else round(value)

    finished = whole(_FINISHED)
    return Totals(
        Counters(
            generated=whole(_DECODED) if finished is None else finished,
            passes=whole("verify_total"),
            proposed=whole("proposed_total"),
            accepted=whole("accepted_total"),
            per_position=tuple(round(value) for value in worker.positions),
        ),
        Queue(whole("running"), whole("queued")),
    )
