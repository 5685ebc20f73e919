"""Which paths each engine answers, in which versions, and what a call costs.

A pure table with its look-ups. A need lists paths in fall-back order: the next one is tried on
404 only, since newer servers keep old paths but write a warning for every call of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from console.engines.versions import Version
from console.model.fleet import Engine

Need = Literal["health", "generate probe", "info", "model", "models", "loads", "metrics", "version"]
Auth = Literal["open", "key", "admin"]
Cost = Literal["free", "logs a line", "generates", "asks the scheduler", "drains"]


@dataclass(frozen=True, slots=True)
class Path:
    """One path. `since` and `until` are the first and last version that is known to have it.

    `auth`: "open" is answered without a key even where one is set; "admin" takes the admin key
    where the server has one, else the ordinary key.
    """

    need: Need
    path: str
    auth: Auth
    cost: Cost
    since: Version | None = None
    until: Version | None = None
    note: str = ""


_V = Version
_SGLANG = (
    Path("health", "/health", "open", "generates", note="one token while idle from 0.4.10 on"),
    Path("generate probe", "/health_generate", "open", "generates"),
    Path("info", "/server_info", "key", "asks the scheduler", since=_V(0, 5, 6)),
    Path("info", "/get_server_info", "key", "asks the scheduler", note="warns from 0.5.6 on"),
    Path("model", "/model_info", "key", "logs a line", since=_V(0, 5, 6)),
    Path("model", "/get_model_info", "key", "logs a line", note="warns from 0.5.6 on"),
    Path("models", "/v1/models", "key", "logs a line"),
    Path("loads", "/v1/loads?include=all", "key", "logs a line", since=_V(0, 5, 7)),
    Path("loads", "/get_load", "key", "asks the scheduler", until=_V(0, 5, 22)),
    Path("metrics", "/metrics", "open", "logs a line", note="needs --enable-metrics"),
)
_VLLM = (
    Path("health", "/health", "open", "logs a line", note="reads a flag: 200 with a hung engine"),
    Path("models", "/v1/models", "key", "logs a line"),
    Path("version", "/version", "open", "logs a line"),
    Path("info", "/server_info", "open", "logs a line", note="development mode only"),
    Path("loads", "/load", "open", "logs a line", note="needs --enable-server-load-tracking"),
    Path("metrics", "/metrics", "open", "logs a line", note="absent with --disable-log-stats"),
)
_LLAMACPP = (
    Path("health", "/health", "open", "free", note="static once the model is loaded"),
    Path("health", "/v1/health", "open", "free"),
    Path("info", "/props", "key", "free"),
    Path("loads", "/slots", "key", "free", note="absent with --no-slots"),
    Path("models", "/v1/models", "key", "free"),
    Path("metrics", "/metrics", "key", "free", note="needs --metrics"),
)
_TRTLLM = (
    Path("health", "/health", "open", "logs a line"),
    Path("generate probe", "/health_generate", "open", "generates"),
    Path("version", "/version", "open", "logs a line"),
    Path("info", "/server_info", "open", "logs a line"),
    Path("models", "/v1/models", "open", "logs a line"),
    Path(
        "metrics",
        "/prometheus/metrics",
        "open",
        "logs a line",
        note="needs return_perf_metrics; /metrics is JSON and is drained by every reader",
    ),
)
PATHS: dict[Engine, tuple[Path, ...]] = {
    Engine.SGLANG: _SGLANG,
    Engine.VLLM: _VLLM,
    Engine.LLAMACPP: _LLAMACPP,
    Engine.TRTLLM: _TRTLLM,
}


def paths(engine: Engine, need: Need, version: Version | None = None) -> tuple[Path, ...]:
    """Paths for a need in fall-back order; with an unknown version, all of them."""
    return tuple(
        p
        for p in PATHS.get(engine, ())
        if p.need == need
        and (version is None or p.since is None or version >= p.since)
        and (version is None or p.until is None or version <= p.until)
    )


def next_path(
    engine: Engine, need: Need, missing: Iterable[str], version: Version | None = None
) -> Path | None:
    """The next path to try after those that answered 404; None when none is left."""
    gone = set(missing)
    return next((p for p in paths(engine, need, version) if p.path not in gone), None)


def auth(engine: Engine, path: str, version: Version | None = None) -> Auth:
    """Which key a path needs on a server that has one."""
    route = path.partition("?")[0]
    match engine:
        case Engine.VLLM:
            return "key" if route.startswith(("/v1", "/v2", "/inference", "/cohere")) else "open"
        case Engine.LLAMACPP:
            return "open" if route in ("/health", "/v1/health") else "key"
        case Engine.TRTLLM | Engine.AUTO:
            return "open"
        case Engine.SGLANG:
            return _sglang_auth(route, version)


_ADMIN = (
    "/flush_cache",
    "/start_profile",
    "/stop_profile",
    "/set_internal_state",
    "/freeze_gc",
    "/configure_logging",
    "/slow_down",
    "/abort_request",
    "/pause_generation",
    "/continue_generation",
    "/update_weights_from_disk",
    "/hicache",
)


def _sglang_auth(route: str, version: Version | None) -> Auth:
    if route.startswith("/health"):
        return "open"
    if route.startswith("/metrics"):
        return "key" if version is not None and version < Version(0, 4, 6) else "open"
    if route.startswith("/ready"):
        return "key" if version is not None and version < Version(0, 5, 23) else "open"
    if route.startswith(_ADMIN):
        return "key" if version is not None and version < Version(0, 5, 9) else "admin"
    return "key"


_POLLED: dict[Engine, tuple[Need, ...]] = {
    Engine.SGLANG: ("loads", "metrics"),
    Engine.VLLM: ("metrics",),
    Engine.LLAMACPP: ("loads", "metrics"),
    Engine.TRTLLM: ("metrics",),
}


def polite(engine: Engine, version: Version | None = None) -> tuple[Path, ...]:
    """What may be polled every few seconds on a running server, best first."""
    return tuple(
        p
        for need in _POLLED.get(engine, ())
        for p in paths(engine, need, version)
        if p.cost in ("free", "logs a line")
    )
