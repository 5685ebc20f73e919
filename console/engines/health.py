"""What an answer of a health path means, per engine and version.

Owns the reading of one answer. Whether a server stands or stalls follows from more than that
and is decided by watch rules; no answer here claims that tokens are made unless one was.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from console.engines.endpoints import auth
from console.engines.versions import Version
from console.model.failure import Failure
from console.model.fleet import Engine

CLIENT_TIMEOUT_S = 25.0  # a stuck SGLang says 503 only after 20 s
SLOW_US = 5_000_000
_GENERATES = Version(0, 4, 10)
_PROBE_US = 900_000  # the probe looks first after one second; a static handler never waits


class Meaning(StrEnum):
    """What one answer shows."""

    DOWN = "down"
    LOADING = "loading"
    WARMING = "warming up"
    ANSWERS = "answers"
    GENERATES = "generates"
    SLOW = "slow"
    STUCK = "stuck"
    DRAINING = "draining"
    DEAD = "engine dead"
    KEY = "key refused"
    STRANGE = "strange"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reading:
    """`proves` is whether the engine's core, not only its HTTP front, took part."""

    meaning: Meaning
    why: str
    proves: bool = False


def read_health(
    engine: Engine,
    version: Version | None,
    path: str,
    code: int | None,
    wait_us: int,
    failure: Failure | None = None,
    *,
    was_up: bool = False,
) -> Reading:
    """The meaning of one answer, or of its absence.

    `was_up` says whether this server has been healthy since it started, which tells warm-up
    from draining: both are an immediate 503.
    """
    if failure is not None or code is None:
        return _absent(engine, failure, wait_us)
    if code in (401, 403):
        return Reading(Meaning.KEY, _key(engine, version, code, path))
    if 300 <= code < 400:
        return Reading(Meaning.STRANGE, f"{path} redirects ({code}): another service answers")
    if code == 200:
        return _good(engine, version, path, wait_us)
    if code == 503 or (code == 500 and _fails_with_500(engine, path)):
        return _bad(engine, code, wait_us, was_up=was_up)
    return Reading(Meaning.STRANGE, f"{path} answers {code}")


def _absent(engine: Engine, failure: Failure | None, wait_us: int) -> Reading:
    match failure:
        case Failure.REFUSED:
            if engine in (Engine.SGLANG, Engine.VLLM, Engine.TRTLLM, Engine.AUTO):
                return Reading(
                    Meaning.DOWN, "connection refused: not running, or still loading its weights"
                )
            return Reading(Meaning.DOWN, "connection refused: not running")
        case Failure.TIMEOUT:
            return Reading(Meaning.STUCK, f"no answer in {wait_us / 1e6:.0f} s")
        case Failure.CLOSED:
            return Reading(Meaning.STUCK, "the connection was closed without an answer")
        case Failure.NOT_HTTP:
            return Reading(Meaning.STRANGE, "what answers is not HTTP")
        case Failure.CERTIFICATE:
            return Reading(Meaning.STRANGE, "its certificate is not trusted")
        case None:
            return Reading(Meaning.UNKNOWN, "not asked")
        case _:
            return Reading(Meaning.UNKNOWN, f"could not ask: {failure.value}")


def _key(engine: Engine, version: Version | None, code: int, path: str) -> str:
    if auth(engine, path, version) == "admin":
        return f"{path} needs the admin key ({code})"
    if code == 403:
        return f"{path} is forbidden (403): the key may not do that, or a proxy stands before it"
    header = "Bearer or X-Api-Key" if engine is Engine.LLAMACPP else "Bearer"
    return f"{path} needs the API key ({header}); none or a wrong one was sent (401)"


def _generating(engine: Engine, version: Version | None, path: str, wait_us: int) -> bool:
    """Whether 200 on this path means that a token was made, or that others were."""
    if engine is not Engine.SGLANG:
        return path.startswith("/health_generate")
    if path.startswith("/health_generate"):
        return wait_us >= _PROBE_US or version is None or version < _GENERATES
    # A switch makes newer servers' /health static again: then it answers without the wait.
    return (version is None or version >= _GENERATES) and wait_us >= _PROBE_US


def _good(engine: Engine, version: Version | None, path: str, wait_us: int) -> Reading:
    if _generating(engine, version, path, wait_us):
        if wait_us > SLOW_US:
            return Reading(Meaning.SLOW, f"a token came back after {wait_us / 1e6:.1f} s", True)
        return Reading(Meaning.GENERATES, "a token came back", True)
    if wait_us > SLOW_US:
        return Reading(Meaning.SLOW, f"{path} took {wait_us / 1e6:.1f} s")
    return Reading(Meaning.ANSWERS, "HTTP answers; this path does not ask the engine")


def _fails_with_500(engine: Engine, path: str) -> bool:
    """A path that says 500 when its engine is unwell; anywhere else 500 is a fault of its own."""
    return engine is Engine.TRTLLM and path.startswith("/health_generate")


def _bad(engine: Engine, code: int, wait_us: int, *, was_up: bool) -> Reading:
    match engine:
        case Engine.VLLM:
            return Reading(Meaning.DEAD, f"the engine is flagged dead ({code})")
        case Engine.LLAMACPP:
            return Reading(Meaning.LOADING, "the model is being loaded (503)")
        case Engine.TRTLLM:
            return Reading(Meaning.DEAD, f"the executor reports unhealthy ({code})")
        case Engine.SGLANG | Engine.AUTO:
            if wait_us >= SLOW_US:
                return Reading(
                    Meaning.STUCK, f"no token came back for {wait_us / 1e6:.0f} s ({code})"
                )
            if was_up:
                return Reading(Meaning.DRAINING, f"stopping or paused: {code} at once")
            return Reading(Meaning.WARMING, f"the warm-up request is not through ({code})")
