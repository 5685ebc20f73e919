"""One server's way of speaking: what to ask it, and how to read what it answers.

The door to the HTTP half of this room. Owns the choice by engine and version; everything it
hands out comes from the tables and readers beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from console.engines import answers, endpoints, health, selfset
from console.engines.answers import Info, Loads, Models, Unreadable
from console.engines.endpoints import Auth, Need, Path
from console.engines.versions import Version, version
from console.model.failure import Failure
from console.model.fleet import Engine

Answer = Info | Loads | Models | Unreadable
_Reader = Callable[[str], Answer]


def _slots(body: str) -> Loads | Unreadable:
    found = answers.slots(body)
    return found if isinstance(found, Unreadable) else found[0]


_READERS: dict[tuple[Engine, str], _Reader] = {
    (Engine.SGLANG, "/server_info"): answers.server_info,
    (Engine.SGLANG, "/get_server_info"): answers.server_info,
    (Engine.SGLANG, "/model_info"): answers.model_info,
    (Engine.SGLANG, "/get_model_info"): answers.model_info,
    (Engine.SGLANG, "/v1/loads"): answers.loads,
    (Engine.SGLANG, "/get_load"): answers.loads,
    (Engine.VLLM, "/server_info"): answers.vllm_info,
    (Engine.VLLM, "/load"): answers.server_load,
    (Engine.VLLM, "/version"): answers.version,
    (Engine.TRTLLM, "/version"): answers.version,
    (Engine.LLAMACPP, "/props"): answers.props,
    (Engine.LLAMACPP, "/slots"): _slots,
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """An engine in a version; None where the version is not known."""

    engine: Engine
    version: Version | None = None

    @classmethod
    def of(cls, engine: Engine, number: str | None) -> Dialect:
        """From an engine and the version as the server writes it."""
        return cls(engine, version(number) if number else None)

    def paths(self, need: Need) -> tuple[Path, ...]:
        """Paths for a need, in fall-back order."""
        return endpoints.paths(self.engine, need, self.version)

    def next_path(self, need: Need, missing: Iterable[str] = ()) -> Path | None:
        """The path to try after those that answered 404."""
        return endpoints.next_path(self.engine, need, missing, self.version)

    def polite(self) -> tuple[Path, ...]:
        """What may be polled every few seconds, best first."""
        return endpoints.polite(self.engine, self.version)

    def auth(self, path: str) -> Auth:
        """Which key a path needs."""
        return endpoints.auth(self.engine, path, self.version)

    def health(
        self,
        path: str,
        code: int | None,
        wait_us: int,
        failure: Failure | None = None,
        *,
        was_up: bool = False,
    ) -> health.Reading:
        """What an answer of a health path means."""
        return health.read_health(
            self.engine, self.version, path, code, wait_us, failure, was_up=was_up
        )

    def read(self, path: str, body: str) -> Answer:
        """A JSON answer as a fact; metrics are read by `metrics.read_metrics`."""
        route = path.partition("?")[0]
        if route == "/v1/models":
            return answers.models(body)
        reader = _READERS.get((self.engine, route))
        return reader(body) if reader else Unreadable(f"{route} is not read for this engine")

    def self_set(self) -> tuple[selfset.SelfSet, ...]:
        """Communication variables that this engine sets itself."""
        return selfset.self_set(self.engine, self.version)
