"""`engine = "auto"`: which path to ask next, or which engine answers and by what it is known.

Owns a pure decision over the answers seen so far. Asks politely: never a path that generates,
and old SGLang paths, which warn in the log, only when the new ones are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from console.engines.answers import (
    Info,
    Models,
    Unreadable,
    model_info,
    models,
    props,
    server_info,
    version,
)
from console.model.failure import Failure
from console.model.fleet import Engine


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to a probe: no code where the wire failed; `why` says how, or where it sends."""

    code: int | None
    body: str = ""
    server: str = ""  # the Server header
    why: str = ""
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    path: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`engine` None: what answers is none that is known, or it does not let us see; `why`
    says which, and "401" in it that a key is missing.
    """

    engine: Engine | None
    version: str | None
    model: str | None
    why: str


def detect(answers: Mapping[str, Answer]) -> Ask | Verdict:
    """The next path to ask, or the verdict. Start with no answers; add each and call again."""
    listed = answers.get("/v1/models")
    if listed is None:
        return Ask("/v1/models")
    if listed.code is None:
        return Verdict(None, None, None, listed.why or "no answer")
    if listed.server.lower().startswith("llama.cpp") or _loading(listed):
        return _llamacpp(answers, listed)
    found = models(listed.body) if listed.code == 200 else Unreadable("")
    if isinstance(found, Models):
        match found.owner:
            case "sglang":
                return _sglang(answers, found)
            case "vllm":
                return _versioned(answers, Engine.VLLM, found)
            case "llamacpp":
                return _llamacpp(answers, listed)
            case "tensorrt_llm" | "nvidia":
                return _versioned(answers, Engine.TRTLLM, found)
            case _:
                return _unnamed(answers, found, listed)
    return _unnamed(answers, None, listed)


def _loading(listed: Answer) -> bool:
    """llama.cpp answers every path with this while it loads."""
    return listed.code == 503 and "Loading model" in listed.body


def _name(found: Models | None) -> str | None:
    return found.names[0] if found and found.names else None


def _ok(answers: Mapping[str, Answer], path: str) -> str | None:
    answer = answers.get(path)
    return answer.body if answer is not None and answer.code == 200 else None


def _sglang(answers: Mapping[str, Answer], found: Models | None) -> Ask | Verdict:
    for path in ("/server_info", "/get_server_info"):
        if path not in answers:
            return Ask(path)
        body = _ok(answers, path)
        info = server_info(body) if body is not None else None
        if isinstance(info, Info):
            model = info.model or _name(found)
            return Verdict(Engine.SGLANG, info.version, model, f"{path} shows its arguments")
        if answers[path].code != 404:
            break
    return Verdict(Engine.SGLANG, None, _name(found), "/v1/models is owned by sglang")


def _versioned(
    answers: Mapping[str, Answer], engine: Engine, found: Models | None
) -> Ask | Verdict:
    if "/version" not in answers:
        return Ask("/version")
    body = _ok(answers, "/version")
    info = version(body) if body is not None else None
    number = info.version if isinstance(info, Info) else None
    return Verdict(engine, number, _name(found), f"/v1/models is owned by {engine.value}")


def _llamacpp(answers: Mapping[str, Answer], listed: Answer) -> Ask | Verdict:
    found = models(listed.body) if listed.code == 200 else None
    name = _name(found) if isinstance(found, Models) else None
    if listed.code == 503:
        return Verdict(Engine.LLAMACPP, None, None, "answers 503 `Loading model` on every path")
    if "/props" not in answers:
        return Ask("/props")
    body = _ok(answers, "/props")
    info = props(body) if body is not None else None
    if isinstance(info, Info):
        return Verdict(Engine.LLAMACPP, info.version, info.model or name, "/props is llama.cpp's")
    return Verdict(Engine.LLAMACPP, None, name, "the Server header says llama.cpp")


def _unnamed(answers: Mapping[str, Answer], found: Models | None, listed: Answer) -> Ask | Verdict:
    """No owner to go by: a key is missing, a router stands in front, or it is another service."""
    for path in ("/version", "/model_info", "/metrics"):
        if path not in answers:
            return Ask(path)
    body = _ok(answers, "/version")
    number = version(body) if body is not None else None
    if isinstance(number, Info) and "/version" in answers and listed.code in (401, 403):
        return Verdict(Engine.VLLM, number.version, None, "/version is open, /v1 is not (401)")
    body = _ok(answers, "/model_info")
    if body is not None and isinstance(model_info(body), Info):
        return _sglang(answers, found)
    engine = _by_metrics(_ok(answers, "/metrics") or "")
    if engine is not None:
        key = "; the API key is missing or wrong (401)" if listed.code == 401 else ""
        number_text = number.version if isinstance(number, Info) else None
        return Verdict(engine, number_text, _name(found), f"metric names{key}")
    if listed.code in (401, 403):
        return Verdict(
            None, None, None, f"the API key is missing or wrong ({listed.code}); nothing else tells"
        )
    said = listed.why or f"answers {listed.code}; no known engine"
    return Verdict(None, None, _name(found), f"/v1/models {said}")


def _by_metrics(text: str) -> Engine | None:
    for engine, marks in (
        (Engine.SGLANG, ("sglang:", "sglang_")),
        (Engine.VLLM, ("vllm:", "vllm_")),
        (Engine.LLAMACPP, ("llamacpp:", "llamacpp_")),
        (Engine.TRTLLM, ("trtllm_",)),
    ):
        if any(mark in text for mark in marks):
            return engine
    return None
