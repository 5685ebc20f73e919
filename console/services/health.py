"""Asking a server whether it is there: one request to its health path after the other.

Owns when to ask and the one line that says what an answer means. Never has two requests in flight
and never decides how a server stands: that is a watch rule's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from console.model.clock import Clock, Pace
from console.model.fleet import Server
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.model.waiting import sleep_or
from console.services.credential import key_text
from console.stream.fact import NOTHING
from console.stream.server_events import HealthSeen
from console.transport.http import Answer, AnswerError, Http

PATH = "/health"
_OK = 200
_REFUSED = (401, 403)


async def health(
    server: Server,
    http: Http,
    clock: Clock,
    pace: Pace,
    masks: Masks,
    asked: asyncio.Event,
    turn: asyncio.Lock | None = None,
) -> AsyncGenerator[HealthSeen, None]:
    """Ask now, then every `health_starting_s` until 200 comes, every `health_up_s` while it does.

    Setting `asked` ends the present wait; it is cleared when the request begins. `turn` is held
    while a request is on its way, so that whoever takes it keeps the next one back.
    """
    turn = turn or asyncio.Lock()
    while True:
        asked.clear()
        async with turn:
            seen = await ask_once(server, http, pace, masks)
        yield seen
        up = seen.code == _OK and seen.failure is None
        await sleep_or(clock, pace.health_up_s if up else pace.health_starting_s, asked)


async def ask_once(
    server: Server, http: Http, pace: Pace, masks: Masks, path: str = PATH
) -> HealthSeen:
    """One request; a failure is in the event."""
    url = server.url.rstrip("/") + path
    name, shown = clean(server.name, masks), clean(path, masks)
    try:
        answer = await http.get(url, deadline_s=pace.health_deadline_s)
    except AnswerError as error:
        why = clean(error.why, masks)
        return HealthSeen(name, shown, error.wait_us, error.code, error.kind, why)
    why = _why(server, path, answer, masks)
    return HealthSeen(name, shown, answer.wait_us, answer.code, None, why)


def _why(server: Server, path: str, answer: Answer, masks: Masks) -> Clean:
    if answer.truncated:
        return clean(f"{answer.code}, body longer than {len(answer.body):,} bytes", masks)
    if answer.code == _OK:
        return NOTHING
    if "location" in answer.headers:
        where = answer.headers["location"]
        return clean(f"redirects with {answer.code} to {where}; not followed", masks)
    if answer.code in _REFUSED:
        return clean(key_text(server, server.engine, path, answer.code), masks)
    return clean(f"answers HTTP, but {answer.code}", masks)
