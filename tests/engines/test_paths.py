"""Endpoints, health answers and self-set variables, per engine and version."""

from __future__ import annotations

import pytest

from console.engines.answers import Info, Loads, Models, Unreadable
from console.engines.dialect import Dialect
from console.engines.endpoints import PATHS, auth, next_path, paths, polite
from console.engines.health import CLIENT_TIMEOUT_S, Meaning, read_health
from console.engines.selfset import self_set
from console.engines.versions import Version, version
from console.model.failure import Failure
from console.model.fleet import Engine
from tests.engines.observing import capture

OLD, MID, NEW = Version(0, 4, 6), Version(0, 5, 3), Version(0, 5, 23)
SGLANG = Engine.SGLANG


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0.5.23", Version(0, 5, 23)),
        ("0.4.6.post5", Version(0, 4, 6)),
        ("v0.9.1rc1+cu128", Version(0, 9, 1)),
        ("1.2", Version(1, 2, 0)),
        ("b6123", None),
        ("unknown", None),
        ("9" * 30 + ".1.1", None),
    ],
)
def test_versions_are_read_and_compared(text: str, want: Version | None) -> None:
    assert version(text) == want


def test_info_falls_back_only_where_the_version_allows() -> None:
    assert [p.path for p in paths(SGLANG, "info")] == ["/server_info", "/get_server_info"]
    assert [p.path for p in paths(SGLANG, "info", MID)] == ["/get_server_info"]
    first = next_path(SGLANG, "info", ())
    assert first is not None
    second = next_path(SGLANG, "info", (first.path,))
    assert second is not None
    assert (first.path, second.path) == ("/server_info", "/get_server_info")
    assert next_path(SGLANG, "info", (first.path, second.path)) is None
    assert [p.path for p in paths(SGLANG, "loads", NEW)] == ["/v1/loads?include=all"]
    assert [p.path for p in paths(SGLANG, "loads", OLD)] == ["/get_load"]


def test_nothing_that_is_polled_generates_or_asks_the_scheduler() -> None:
    for engine in PATHS:
        for path in polite(engine):
            assert path.cost in ("free", "logs a line")
    assert [p.path for p in polite(SGLANG, NEW)] == ["/v1/loads?include=all", "/metrics"]
    assert [p.path for p in polite(Engine.LLAMACPP)] == ["/slots", "/metrics"]


@pytest.mark.parametrize(
    ("engine", "path", "number", "want"),
    [
        (SGLANG, "/health", NEW, "open"),
        (SGLANG, "/health_generate", OLD, "open"),
        (SGLANG, "/metrics", NEW, "open"),
        (SGLANG, "/metrics", Version(0, 4, 1), "key"),
        (SGLANG, "/ready", NEW, "open"),
        (SGLANG, "/ready", Version(0, 5, 9), "key"),
        (SGLANG, "/ping", NEW, "key"),
        (SGLANG, "/v1/loads?include=all", NEW, "key"),
        (SGLANG, "/server_info", NEW, "key"),
        (SGLANG, "/flush_cache", NEW, "admin"),
        (SGLANG, "/flush_cache", MID, "key"),
        (Engine.VLLM, "/v1/models", None, "key"),
        (Engine.VLLM, "/metrics", None, "open"),
        (Engine.LLAMACPP, "/metrics", None, "key"),
        (Engine.LLAMACPP, "/v1/health", None, "open"),
    ],
)
def test_which_paths_need_a_key(
    engine: Engine, path: str, number: Version | None, want: str
) -> None:
    assert auth(engine, path, number) == want


def health(
    engine: Engine, number: Version | None, code: int, wait_s: float, *, was_up: bool = False
) -> tuple[Meaning, bool]:
    seen = read_health(engine, number, "/health", code, int(wait_s * 1e6), was_up=was_up)
    assert seen.why
    return seen.meaning, seen.proves


def test_sglangs_health_is_static_in_old_versions() -> None:
    assert health(SGLANG, OLD, 200, 0.002) == (Meaning.ANSWERS, False)
    assert health(SGLANG, NEW, 200, 1.003) == (Meaning.GENERATES, True)
    # 0.5.6 and later can be told to answer without generating.
    assert health(SGLANG, NEW, 200, 0.002) == (Meaning.ANSWERS, False)
    assert health(SGLANG, NEW, 200, 7.0) == (Meaning.SLOW, True)


def test_a_503_is_told_apart_by_how_long_it_took_and_what_was_before() -> None:
    assert health(SGLANG, NEW, 503, 0.002) == (Meaning.WARMING, False)
    assert health(SGLANG, NEW, 503, 0.002, was_up=True) == (Meaning.DRAINING, False)
    assert health(SGLANG, NEW, 503, 20.01, was_up=True) == (Meaning.STUCK, False)
    assert health(Engine.LLAMACPP, None, 503, 0.001) == (Meaning.LOADING, False)
    assert health(Engine.VLLM, None, 503, 0.001) == (Meaning.DEAD, False)
    assert health(Engine.VLLM, None, 200, 0.001) == (Meaning.ANSWERS, False)
    assert CLIENT_TIMEOUT_S > 21


def test_no_answer_and_refused_keys_say_why() -> None:
    def seen(failure: Failure) -> Meaning:
        return read_health(SGLANG, NEW, "/health", None, 25_000_000, failure).meaning

    assert seen(Failure.REFUSED) is Meaning.DOWN
    assert seen(Failure.TIMEOUT) is Meaning.STUCK
    assert seen(Failure.NOT_HTTP) is Meaning.STRANGE
    assert seen(Failure.CERTIFICATE) is Meaning.STRANGE
    assert seen(Failure.LINK_LOST) is Meaning.UNKNOWN
    key = read_health(Engine.LLAMACPP, None, "/props", 401, 1000)
    assert (key.meaning, "X-Api-Key" in key.why) == (Meaning.KEY, True)
    assert "admin key" in read_health(SGLANG, NEW, "/flush_cache", 403, 1000).why
    assert "a proxy stands before it" in read_health(SGLANG, NEW, "/health", 403, 1000).why
    assert read_health(SGLANG, NEW, "/health", 302, 1000).meaning is Meaning.STRANGE


def test_what_sglang_sets_itself_depends_on_the_version() -> None:
    def value(number: Version, name: str) -> list[tuple[str, str]]:
        return [(s.value, s.how) for s in self_set(SGLANG, number) if s.name == name]

    assert value(OLD, "NCCL_CUMEM_ENABLE") == [("0", "forced")]
    assert value(MID, "NCCL_CUMEM_ENABLE") == [("0", "forced")]
    assert value(NEW, "NCCL_CUMEM_ENABLE") == [("0", "default")]
    assert value(Version(0, 5, 12), "CUDA_DEVICE_MAX_CONNECTIONS") == [("8", "forced")]
    assert value(OLD, "CUDA_DEVICE_MAX_CONNECTIONS") == [("4", "forced")]
    assert value(NEW, "CUDA_MODULE_LOADING") == []
    assert value(NEW, "NCCL_P2P_LEVEL") == []
    assert len({s.name for s in self_set(SGLANG, None)}) > len(
        {s.name for s in self_set(SGLANG, OLD)}
    )


def test_a_dialect_reads_what_it_asks_for() -> None:
    new = Dialect.of(SGLANG, "0.5.23")
    assert new.version == NEW
    info = new.read("/server_info", capture("sglang-ngram-server_info.json"))
    assert isinstance(info, Info)
    loads = new.read("/v1/loads?include=all", capture("sglang-ngram-v1_loads.json"))
    assert isinstance(loads, Loads)
    assert loads.queued == 0
    assert isinstance(new.read("/v1/models", capture("sglang-v1_models.json")), Models)
    slots = Dialect(Engine.LLAMACPP).read("/slots", capture("llamacpp-slots.json"))
    assert isinstance(slots, Loads)
    assert slots.ranks == 1
    assert Dialect(Engine.VLLM).read("/load", '{"server_load": 3}') == Loads(running=3)
    assert isinstance(new.read("/docs", ""), Unreadable)
    assert Dialect.of(Engine.LLAMACPP, "b6123").version is None
    assert new.health("/health", 200, 1_003_000).proves
    assert new.auth("/flush_cache") == "admin"


def test_every_path_that_a_dialect_offers_is_read_or_needs_no_reader() -> None:
    for engine in PATHS:
        for path in PATHS[engine]:
            found = Dialect(engine).read(path.path, "{}")
            unread = isinstance(found, Unreadable) and "is not read" in found.why
            other = path.need in ("health", "generate probe", "metrics")
            development = path.path == "/server_info" and engine is Engine.TRTLLM
            assert unread == (other or development), path
