"""The generate probe: one token, asked for on demand and after a restart, never on a schedule.

Owns which request makes a server generate where its health path does not. Changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from console.engines.dialect import Dialect
from console.engines.versions import Version
from console.model.clock import Pace
from console.model.fleet import Engine
from console.model.mask import Masks
from console.model.text import Clean, clean
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


async def probe(
    names: Sequence[str],
    url: str,
    http: Http,
    dialect: Dialect,
    model: str,
    pace: Pace,
    masks: Masks,
) -> list[Event]:
    """Ask for one token; a sign of it, or a notice of what came instead."""
    paths = dialect.paths("generate probe")
    path = paths[0].path if paths else COMPLETIONS
    base, deadline_s = url.rstrip("/"), pace.health_deadline_s
    said = ""
    try:
        if paths:
            answer = await http.get(base + path, deadline_s=deadline_s)
        else:
            asked = {"model": model, "prompt": "1", "max_tokens": 1, "temperature": 0}
            answer = await http.post(base + path, json.dumps(asked).encode(), deadline_s=deadline_s)
        if answer.code != 200:
            said = f"{path} answers {answer.code}"
    except AnswerError as error:
        said = f"{path}: {error.why}"
    found: list[Event] = []
    for name in names:
        subject = clean(name, masks)
        if said:
            text = clean(f"no token for the generate probe: {said}", masks)
            found.append(Noticed(subject, Clean("warning"), text))
        else:
            found.append(TokenSeen(subject, clean(f"probe of {path}", masks)))
    return found
