"""What a benchmark needs before it can begin: who answers at the address, and where to time it.

Owns finding engine and model and choosing the worker's place. Starts no request that makes tokens.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

from console.bench.job import Sampling, worker_argv
from console.engines.detect import Answer, Ask, Verdict, detect
from console.model.clock import Clock, Pace
from console.model.failure import Failure, WireError
from console.model.fleet import Arm, Engine, Host, Server
from console.model.mask import Masks
from console.model.text import Clean
from console.services.bench import Benching, Plan
from console.services.bench_run import Requests
from console.services.credential import key_headers
from console.services.timing import OWN_PYTHON, Place, place_of
from console.services.tunnel import tunnel
from console.transport.http import AnswerError, Http
from console.transport.local import LocalWire
from console.transport.wire import Wire

_MOST_ASKED = 8
_MOST_BYTES = 1_048_576


async def who_answers(server: Server, http: Http, deadline_s: float) -> Verdict:
    """Engine, version and model at a server's address.

    Raises:
        WireError: nothing answers there; NOT_HTTP for an engine that is not known.
    """
    answers: dict[str, Answer] = {}
    for _ in range(_MOST_ASKED):
        asked = detect(answers)
        if isinstance(asked, Verdict):
            if asked.engine is None:
                raise WireError(Failure.NOT_HTTP, f"no known engine answers: {asked.why}")
            return asked
        answers[asked.path] = await _answer(server, http, asked, deadline_s)
    raise WireError(Failure.NOT_HTTP, "no known engine answers")


async def _answer(server: Server, http: Http, asked: Ask, deadline_s: float) -> Answer:
    url = server.url.rstrip("/") + asked.path
    try:
        found = await http.get(url, deadline_s=deadline_s, most_bytes=_MOST_BYTES)
    except AnswerError as error:
        if error.code is None and error.kind in (Failure.REFUSED, Failure.NO_HOST):
            raise
        return Answer(error.code, why=error.why)
    body = found.body.decode("utf-8", "replace")
    return Answer(found.code, body, found.headers.get("server", ""))


@asynccontextmanager
async def prepared(
    bench: Clean,
    server: Server,
    arm: Arm,
    plan: Plan,
    sampling: Sampling,
    wire: Wire,
    http: Http,
    clock: Clock,
    pace: Pace,
    masks: Masks,
    probes: Callable[[], int],
) -> AsyncIterator[Benching]:
    """A benchmark that may begin; what it needs is open for as long as the body runs.

    Raises:
        WireError: the server does not answer, or its key cannot be had.
    """
    found = await who_answers(server, http, pace.read_deadline_s)
    headers = key_headers(server, masks)
    engine = found.engine or Engine.AUTO

    def requests(url: str) -> Requests:
        return Requests(
            server, engine, found.model or "", url, sampling, http, clock, pace, headers, probes
        )

    def benching(url: str, timed_on: Wire, place: Place) -> Benching:
        version = found.version or ""
        return Benching(bench, arm, version, plan, requests(url), wire, timed_on, place, masks)

    place = await place_of(wire, pace.read_deadline_s)
    if place is not None:
        yield benching(server.url, wire, place)
        return
    at = urlsplit(server.url)
    here = LocalWire(Host("this machine"))
    text = f"this machine, through the connection to {wire.host.name} (it has no python3)"
    try:
        async with tunnel(wire, at.hostname or "127.0.0.1", at.port or 80) as port:
            url = urlunsplit((at.scheme, f"127.0.0.1:{port}", at.path, "", ""))
            yield benching(url, here, Place(text, worker_argv(OWN_PYTHON), tunnelled=True))
    finally:
        await here.close()
