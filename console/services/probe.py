"""The generate probe: one token, asked for on demand and after a restart, never on a schedule.

Owns which request makes a server generate where its health path does not. Changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from console.engines.dialect import Dialect
from console.engines.versions import Version
from console.model.clock import Pace
from console.model.failure import Failure
from console.model.fleet import Engine, Server
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.services.credential import key_text
from console.stream.events import Event
from console.stream.server_events import TokenSeen
from console.stream.session_events import Noticed
from console.transport.http import AnswerError, Http

COMPLETIONS = "/v1/completions"
_HEALTH_GENERATES = Version(0, 4, 10)


def by_health(dialect: Dialect) -> bool:
    """Whether this server's ordinary health path generates already."""
    known = dialect.version
    return dialect.engine is Engine.SGLANG and (known is None or known >= _HEALTH_GENERATES)


@dataclass(frozen=True, slots=True)
class Probed:
    """What became of one token asked for; `why` is "" where it came."""

    path: str
    wait_us: int
    why: str = ""
    failure: Failure | None = None


async def ask_token(server: Server, http: Http, dialect: Dialect, model: str, pace: Pace) -> Probed:
    """Ask for one token, by the path that is made for it or as a client would."""
    paths = dialect.paths("generate probe")
    path = paths[0].path if paths else COMPLETIONS
    base, deadline_s = server.url.rstrip("/"), pace.health_deadline_s
    try:
        if paths:
            answer = await http.get(base + path, deadline_s=deadline_s)
        else:
            asked = {"model": model, "prompt": "1", "max_tokens": 1, "temperature": 0}
            answer = await http.post(base + path, json.dumps(asked).encode(), deadline_s=deadline_s)
    except AnswerError as error:
        return Probed(path, error.wait_us, f"{path}: {error.why}", error.kind)
    why = "" if answer.code == 200 else f"{path} answers {answer.code}"
    if answer.code in (401, 403):
        why = key_text(server, dialect.engine, path, answer.code)
    if not why and not paths and not _has_choice(answer.body):
        why = f"{path} answers 200 without a completion"
    return Probed(path, answer.wait_us, why)


def _has_choice(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    choices = found.get("choices") if isinstance(found, dict) else None
    return isinstance(choices, list) and bool(choices)


def probed_events(names: Sequence[str], probed: Probed, masks: Masks) -> list[Event]:
    """A sign of the token for every server of that name, or a notice of what came instead."""
    found: list[Event] = []
    for name in names:
        subject = clean(name, masks)
        if probed.why:
            text = clean(f"no token for the generate probe: {probed.why}", masks)
            found.append(Noticed(subject, Clean("warning"), text))
        else:
            found.append(TokenSeen(subject, clean(f"probe of {probed.path}", masks)))
    return found
