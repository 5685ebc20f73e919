"""JSON answers of the servers as typed facts.

Owns the shapes of SGLang, vLLM, llama.cpp and TensorRT-LLM over their versions. A field that
an answer does not have is None; a body that is not what was asked for is an Unreadable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from console.engines.arm import Running, arm_of
from console.engines.literals import assignments
from console.model.fleet import Engine

MAX_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a body could not be read, in words."""

    why: str


@dataclass(frozen=True, slots=True)
class Info:
    """What a server says of itself. `args` may hold secrets: mask before showing."""

    engine: Engine | None = None
    version: str | None = None
    model: str | None = None
    running: Running | None = None
    args: Mapping[str, object] = field(default_factory=dict, hash=False)
    ranks: int | None = None
    startup_times: Mapping[str, object] = field(default_factory=dict, hash=False)
    accept_len: float | None = None  # SGLang: lifetime, since start or the last flush
    last_gen_tok_s: float | None = None  # SGLang: stale between requests
    kv_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Loads:
    """Work in hand, summed over data-parallel ranks or slots.

    `accept_len` is a lifetime mean and `accept_rate` a last window (SGLang): not one pair.
    """

    running: int | None = None
    queued: int | None = None
    token_usage: float | None = None
    gen_tok_s: float | None = None
    cache_hit: float | None = None
    accept_len: float | None = None
    accept_rate: float | None = None
    ranks: int | None = None
    version: str | None = None
    decoded: int | None = None  # llama.cpp: tokens made by the tasks now in its slots


@dataclass(frozen=True, slots=True)
class Models:
    """`/v1/models`: names, roots, owner and the longest context."""

    names: tuple[str, ...]
    owner: str | None = None
    root: str | None = None
    max_len: int | None = None


def _json(body: str, what: str) -> object | Unreadable:
    if len(body) > MAX_BYTES:
        return Unreadable(f"{what} is larger than {MAX_BYTES // 2**20} MiB and was not read")
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        kind = "HTML" if body.lstrip()[:1] == "<" else "not JSON"
        return Unreadable(f"{what} answers {kind}" if body.strip() else f"{what} is empty")
    return found


_HUGE = 1e300  # no field means more; JSON allows Infinity and integers without end


def _float(found: object) -> float | None:
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(found) if -_HUGE < found < _HUGE else None


def _int(found: object) -> int | None:
    number = _float(found)
    return None if number is None else int(number)


def _str(found: object) -> str | None:
    return found if isinstance(found, str) and found else None


def _object(body: str, what: str) -> dict[str, object] | Unreadable:
    found = _json(body, what)
    if isinstance(found, Unreadable):
        return found
    return found if isinstance(found, dict) else Unreadable(f"{what} is no JSON object")


def server_info(body: str) -> Info | Unreadable:
    """SGLang's /server_info or /get_server_info: resolved arguments at the top level."""
    found = _object(body, "/server_info")
    if isinstance(found, Unreadable):
        return found
    if "model_path" not in found:
        return Unreadable("/server_info names no model: another engine, or an error")
    states = found.get("internal_states")
    state = states[0] if isinstance(states, list) and states else {}
    state = state if isinstance(state, dict) else {}
    times = found.get("startup_time") or state.get("startup_time")
    return Info(
        Engine.SGLANG,
        _str(found.get("version")),
        _str(found.get("served_model_name")) or _str(found["model_path"]),
        arm_of(found),
        found,
        _int(found.get("tp_size")),
        times if isinstance(times, Mapping) else {},
        _float(state.get("avg_spec_accept_length")),
        _float(state.get("last_gen_throughput")),
        _int(found.get("max_total_num_tokens")),
    )


def vllm_info(body: str) -> Info | Unreadable:
    """vLLM's /server_info of its development mode: the whole configuration, as text or nested."""
    found = _object(body, "/server_info")
    if isinstance(found, Unreadable):
        return found
    config = found.get("vllm_config")
    if isinstance(config, str):
        args = assignments(config)
    elif isinstance(config, Mapping):
        args = _flat(config)
    else:
        return Unreadable("/server_info has no vllm_config")
    model, ranks = _str(args.get("model")), _int(args.get("tensor_parallel_size"))
    return Info(Engine.VLLM, None, model, arm_of(args), args, ranks)


def _flat(config: Mapping[str, object]) -> dict[str, object]:
    """The parts of a nested configuration side by side; speculation stays one."""
    args: dict[str, object] = {}
    for name, value in config.items():
        if isinstance(value, Mapping) and name != "speculative_config":
            args |= {str(k): v for k, v in value.items() if not isinstance(v, Mapping)}
        else:
            args[str(name)] = value
    return args


def model_info(body: str) -> Info | Unreadable:
    """SGLang's /model_info or /get_model_info."""
    found = _object(body, "/model_info")
    if isinstance(found, Unreadable):
        return found
    if "model_path" not in found:
        return Unreadable("/model_info names no model")
    return Info(
        Engine.SGLANG, None, _str(found.get("served_model_name")) or _str(found["model_path"])
    )


def loads(body: str) -> Loads | Unreadable:
    """SGLang's /v1/loads or /get_load, over all data-parallel ranks."""
    found = _json(body, "/v1/loads")
    if isinstance(found, Unreadable):
        return found
    rows = found.get("loads") if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
        return Unreadable("/v1/loads has no list of loads")
    spec = [r["speculative"] for r in rows if isinstance(r.get("speculative"), dict)]
    return Loads(
        _int(_total(rows, "num_running_reqs")) if "num_running_reqs" in body else _running(rows),
        _int(_total(rows, "num_waiting_reqs")),
        max((u for r in rows if (u := _float(r.get("token_usage"))) is not None), default=None),
        _total(rows, "gen_throughput"),
        _mean(rows, "cache_hit_rate"),
        _mean(spec, "accept_length"),
        _mean(spec, "accept_rate"),
        len(rows) or None,
        _str(found.get("version")) if isinstance(found, dict) else None,
    )


def _running(rows: list[dict[str, object]]) -> int | None:
    """The old form gives all requests and the waiting ones."""
    every, waiting = _total(rows, "num_reqs"), _total(rows, "num_waiting_reqs")
    return None if every is None else max(0, int(every - (waiting or 0)))


def _total(rows: list[dict[str, object]], name: str) -> float | None:
    found = [v for r in rows if (v := _float(r.get(name))) is not None]
    return sum(found) if found else None


def _mean(rows: list[dict[str, object]], name: str) -> float | None:
    found = [v for r in rows if (v := _float(r.get(name))) is not None]
    return sum(found) / len(found) if found else None


def models(body: str) -> Models | Unreadable:
    """/v1/models of any engine."""
    found = _object(body, "/v1/models")
    if isinstance(found, Unreadable):
        return found
    rows = found.get("data")
    if not isinstance(rows, list):
        return Unreadable("/v1/models has no list of models")
    kept = [r for r in rows if isinstance(r, dict)]
    first = kept[0] if kept else {}
    return Models(
        tuple(n for r in kept if (n := _str(r.get("id"))) is not None),
        _str(first.get("owned_by")),
        _str(first.get("root")),
        _int(first.get("max_model_len")),
    )


def version(body: str) -> Info | Unreadable:
    """/version of vLLM or TensorRT-LLM."""
    found = _object(body, "/version")
    if isinstance(found, Unreadable):
        return found
    number = _str(found.get("version"))
    return Info(None, number) if number else Unreadable("/version gives no version")


def server_load(body: str) -> Loads | Unreadable:
    """vLLM's /load: requests in hand, running and waiting together."""
    found = _object(body, "/load")
    if isinstance(found, Unreadable):
        return found
    number = _int(found.get("server_load"))
    return Unreadable("/load gives no server_load") if number is None else Loads(running=number)


def props(body: str) -> Info | Unreadable:
    """llama.cpp's /props. Whether it speculates stands in /slots, not here."""
    found = _object(body, "/props")
    if isinstance(found, Unreadable):
        return found
    if "total_slots" not in found and "default_generation_settings" not in found:
        return Unreadable("/props is not llama.cpp's")
    name = _str(found.get("model_alias")) or _str(found.get("model_path"))
    kept = {k: v for k, v in found.items() if isinstance(v, str | int | float | bool)}
    kept.pop("chat_template", None)
    return Info(Engine.LLAMACPP, _str(found.get("build_info")), name, args=kept)


def slots(body: str) -> tuple[Loads, Running | None] | Unreadable:
    """llama.cpp's /slots: busy slots, and whether and how it drafts."""
    found = _json(body, "/slots")
    if isinstance(found, Unreadable):
        return found
    if not isinstance(found, list) or not all(isinstance(s, dict) for s in found):
        return Unreadable("/slots is no list of slots")
    busy = [s for s in found if s.get("is_processing") is True]
    decoded = [d for s in busy if (d := _decoded(s)) is not None]
    return Loads(
        running=len(busy), ranks=len(found), decoded=sum(decoded) if decoded else None
    ), _slot_arm(found)


def _decoded(slot: Mapping[str, object]) -> int | None:
    token = slot.get("next_token")
    first = token[0] if isinstance(token, list) and token else token
    return _int(first.get("n_decoded")) if isinstance(first, dict) else None


def _slot_arm(found: list[dict[str, object]]) -> Running | None:
    flags = [s.get("speculative") for s in found if "speculative" in s]
    if not flags:
        return None
    if not any(flags):
        return arm_of({"speculative.types": "none"})
    for slot in found:
        params = slot.get("params")
        method = params.get("speculative.types") if isinstance(params, dict) else None
        if isinstance(method, str) and method not in ("", "none"):
            return arm_of({"speculative.types": method})
    return arm_of({"speculative.types": "speculative"})
