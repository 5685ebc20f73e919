"""Which endpoint answers what, with the real server's access rules and status codes.

/health, /metrics and /ready are open; everything else needs the key where one is set.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from console.lab import answers
from console.lab.generate import completions, generate
from console.lab.metrics import exposition
from console.lab.service import Service, Standing
from console.lab.web import Answer, Call, Events, as_json

_OPEN = ("/health", "/metrics", "/ready")
_PLAIN = "text/plain; version=0.0.4; charset=utf-8"

Endpoint = Callable[[Service, Call], Awaitable[Answer | Events]]


async def _health(service: Service, _: Call) -> Answer:
    return Answer(await service.health())


async def _flag(service: Service, _: Call) -> Answer:
    return Answer(200 if service.reachable else 503)


async def _root(_service: Service, _: Call) -> Answer:
    return as_json("SGLang is running")


async def _model_info(service: Service, call: Call) -> Answer:
    _deprecated(service, call, "/model_info")
    return as_json(answers.model_info(service))


async def _server_info(service: Service, call: Call) -> Answer:
    _deprecated(service, call, "/server_info")
    await service.unstuck()
    return as_json(answers.server_info(service))


def _deprecated(service: Service, call: Call, path: str) -> None:
    if call.path != path:
        service.log.line(
            f"Endpoint '{call.path}' is deprecated and will be removed in a future version. "
            f"Please use '{path}' instead."
        )


async def _models(service: Service, _: Call) -> Answer:
    return as_json(answers.models(service))


async def _loads(service: Service, call: Call) -> Answer:
    if call.query.get("format") == "prometheus":
        return Answer(200, answers.loads_prometheus(service).encode(), _PLAIN)
    return as_json(answers.loads(service))


async def _metrics(service: Service, _: Call) -> Answer:
    if not service.launch.args["enable_metrics"]:
        return as_json({"detail": "Not Found"}, 404)
    return Answer(200, exposition(service).encode(), _PLAIN)


async def _flush(service: Service, _: Call) -> Answer:
    await service.unstuck()
    if service.scheduler.flush():
        service.log.line("Cache flushed successfully!")
        status, said = 200, "Cache flushed."
    else:
        status, said = 400, "Cache not flushed."
    return Answer(
        status,
        f"{said}\nPlease check backend logs for more details. (When there are running or waiting "
        "requests, the operation will not be performed.)\n".encode(),
    )


async def _done(_service: Service, _: Call) -> Answer:
    return Answer(200)


ROUTES: dict[str, tuple[frozenset[str], Endpoint]] = {
    "/": (frozenset({"GET", "HEAD"}), _root),
    "/health": (frozenset({"GET"}), _health),
    "/health_generate": (frozenset({"GET"}), _health),
    "/ready": (frozenset({"GET"}), _flag),
    "/ping": (frozenset({"GET"}), _flag),
    "/model_info": (frozenset({"GET"}), _model_info),
    "/get_model_info": (frozenset({"GET"}), _model_info),
    "/server_info": (frozenset({"GET"}), _server_info),
    "/get_server_info": (frozenset({"GET"}), _server_info),
    "/v1/models": (frozenset({"GET"}), _models),
    "/v1/loads": (frozenset({"GET"}), _loads),
    "/metrics": (frozenset({"GET"}), _metrics),
    "/flush_cache": (frozenset({"GET", "POST"}), _flush),
    "/freeze_gc": (frozenset({"POST"}), _done),
    "/abort_request": (frozenset({"POST"}), _done),
    "/generate": (frozenset({"POST", "PUT"}), generate),
    "/v1/completions": (frozenset({"POST"}), completions),
    "/v1/chat/completions": (frozenset({"POST"}), completions),
}


def _allowed(service: Service, call: Call) -> bool:
    key = service.launch.api_key
    if not key or call.path.startswith(_OPEN):
        return True
    scheme, _, given = call.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and given == key


async def answer(service: Service, call: Call) -> Answer | Events:
    """Answer one call."""
    if service.crashed:
        await service.hang()
    where = (call.path, call.method)
    service.asked[where] += 1
    service.active[where] += 1
    try:
        return await _answer(service, call)
    finally:
        service.active[where] -= 1


async def _answer(service: Service, call: Call) -> Answer | Events:
    if not _allowed(service, call):
        return as_json({"error": "Unauthorized"}, 401, vary=False)
    methods, endpoint = ROUTES.get(call.path, (frozenset(), None))
    if endpoint is None:
        return as_json({"detail": "Not Found"}, 404)
    if call.method not in methods:
        return as_json({"detail": "Method Not Allowed"}, 405)
    if service.standing is Standing.UNHEALTHY and endpoint in (generate, completions):
        await service.unstuck()
    return await endpoint(service, call)
