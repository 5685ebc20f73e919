"""SGLang's messages as facts: decode and prefill lines, start-up markers, arguments.

Owns the message grammar of 0.4.1 to 0.5.23. Knows nothing of heads, files or time.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from console.engines.facts import (
    ArgsSeen,
    DecodeSeen,
    Edge,
    Fact,
    ListeningSeen,
    NcclVersionSeen,
    NoteSeen,
    PhaseSeen,
    PrefillSeen,
    ReadySeen,
    StartupTimesSeen,
)
from console.engines.literals import assignments, mapping

_BATCH = re.compile(r"(Decode|Prefill) batch[.,]?(?: \[(\d+)\][.,]?)? ")
_FIELD = re.compile(r"(#?[A-Za-z][\w /()#.-]*?): +([^,:\s]+)(?:, ?|$)")
_GRAPHS = ("cuda graph", "cpu graph", "npu graph", "musa graph", "hip graph", "xpu graph")
_GB = r"(-?[\d.]+) ?GB"
_AVAIL = re.compile(rf"avail(?:able_gpu|able_cpu)?[ _]mem={_GB}")
_USED = re.compile(rf"mem usage={_GB}")
_ELAPSED = re.compile(r"(?:[Tt]ime elapsed: |elapsed=)([\d.]+) ?s")
_TOKENS = re.compile(r"#tokens: (\d+)|max_total_num_tokens=(\d+)")
_CAPTURE = re.compile(r"Capture (?P<what>.*?) ?(?:cuda )?graph (?P<edge>begin|end)\b", re.I)
_CAPTURE_BS = re.compile(r"Capture (?P<what>.*?) ?(?:cuda )?graph (?:num_tokens|bs) \[", re.I)
_TIMES = re.compile(r"(\w+)=([\d.]+)")

_KNOWN = frozenset(
    {
        "#running-req",
        "#token",
        "token usage",
        "accept len",
        "accept rate",
        "gen throughput (token/s)",
        "#queue-req",
        "#new-seq",
        "#new-token",
        "#cached-token",
        "#pending-token",
        "cache hit rate",
        "input throughput (token/s)",
        *_GRAPHS,
    }
)


def batch(message: str) -> DecodeSeen | PrefillSeen | None:
    """A decode or prefill line of any variant (D1-D8, P1-P7); None for a torn one.

    Fields are read as `key: value` pairs, so that new ones are kept in `more`. Without rate
    and queue a decode line was cut: its last number may be cut too, so nothing is read.
    """
    m = _BATCH.match(message)
    if m is None:
        return None
    fields = dict(_FIELD.findall(message, m.end()))
    more = tuple((k, v) for k, v in fields.items() if k not in _KNOWN)
    iteration = int(m[2]) if m[2] else None
    try:
        return (_decode if m[1] == "Decode" else _prefill)(fields, more, iteration)
    except (KeyError, ValueError):
        return None


def _decode(
    fields: dict[str, str], more: tuple[tuple[str, str], ...], iteration: int | None
) -> DecodeSeen:
    return DecodeSeen(
        int(fields["#running-req"]),
        _int(fields.get("#token") or fields.get("#full token")),
        _float(fields.get("token usage") or fields.get("full token usage")),
        _float(fields.get("accept len")),
        _float(fields.get("accept rate")),
        float(fields["gen throughput (token/s)"]),
        int(fields["#queue-req"]),
        _graph(fields),
        iteration,
        more,
    )


def _prefill(
    fields: dict[str, str], more: tuple[tuple[str, str], ...], iteration: int | None
) -> PrefillSeen:
    hit = fields.get("cache hit rate")
    return PrefillSeen(
        int(fields["#new-seq"]),
        int(fields["#new-token"]),
        int(fields["#cached-token"]),
        _float(fields.get("token usage") or fields.get("full token usage")),
        _int(fields.get("#running-req")),
        _int(fields.get("#queue-req")),
        _int(fields.get("#pending-token")),
        float(hit.rstrip("%")) / 100 if hit else None,
        _graph(fields),
        _float(fields.get("input throughput (token/s)")),
        iteration,
        more,
    )


def _graph(fields: dict[str, str]) -> bool | None:
    for name in _GRAPHS:
        if name in fields:
            return fields[name] == "True"
    return None


def _float(text: str | None) -> float | None:
    return None if text is None else float(text)


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)


def _number(pattern: re.Pattern[str], message: str) -> float | None:
    m = pattern.search(message)
    return float(next(g for g in m.groups() if g)) if m else None


def _phase(message: str, phase: PhaseSeen) -> PhaseSeen:
    tokens = _number(_TOKENS, message)
    return PhaseSeen(
        phase.phase,
        phase.edge,
        phase.part,
        _number(_ELAPSED, message),
        _number(_AVAIL, message),
        _number(_USED, message),
        None if tokens is None else int(tokens),
        phase.draft,
    )


_STARTS: tuple[tuple[str, PhaseSeen], ...] = (
    ("Init torch distributed begin", PhaseSeen("distributed", "begin")),
    ("Init torch distributed ends", PhaseSeen("distributed", "end")),
    ("Init parallel begin", PhaseSeen("distributed", "begin")),
    ("Init parallel ends", PhaseSeen("distributed", "end")),
    ("Memory baseline taken", PhaseSeen("distributed", "end", "memory baseline")),
    ("Load weight begin", PhaseSeen("weights", "begin")),
    ("Load weight end", PhaseSeen("weights", "end")),
    ("Memory pool end", PhaseSeen("kv cache", "end")),
    ("max_total_num_tokens=", PhaseSeen("summary", "at")),
    ("Started server process", PhaseSeen("http", "begin")),
    ("Application startup complete", PhaseSeen("http", "at")),
)


def _started(message: str) -> Fact | None:
    for start, phase in _STARTS:
        if message.startswith(start):
            return _phase(message, phase)
    return None


def _kv(message: str) -> Fact | None:
    if "KV Cache is allocated" in message or "KV Cache VA upper bound" in message:
        return _phase(message, PhaseSeen("kv cache", "at"))
    return None


def _capture(message: str) -> Fact | None:
    m = _CAPTURE.match(message)
    if m is None:
        if b := _CAPTURE_BS.match(message):
            part, draft = _pass(b["what"])
            return PhaseSeen("graphs", "begin", part, draft=draft)
        return None
    part, draft = _pass(m["what"])
    edge: Edge = "begin" if m["edge"].lower() == "begin" else "end"
    return _phase(message, PhaseSeen("graphs", edge, part, draft=draft))


def _pass(what: str) -> tuple[str, bool]:
    """Which capture pass: old and new wordings in the same words."""
    words = what.lower().replace("cuda", "").split()
    if "draft" in words:
        rest = [w for w in words if w in ("extend", "prefill", "decode", "v2")]
        return f"draft {rest[0] if rest else 'decode'}", True
    if "piecewise" in words or "prefill" in words:
        return "prefill", False
    return ("verify" if "verify" in words else ""), False


def _args(message: str) -> Fact | None:
    body = message[len("server_args=") :]
    if body.startswith("{"):
        return ArgsSeen(mapping(body))
    if body.startswith("ServerArgs("):
        return ArgsSeen(assignments(body[len("ServerArgs(") :]))
    return None


def _timings(message: str) -> Fact | None:
    return StartupTimesSeen(tuple((k, float(v)) for k, v in _TIMES.findall(message)))


def _nccl(message: str) -> Fact | None:
    return NcclVersionSeen(message.partition("nccl==")[2].split()[0].rstrip(".,"))


def _uvicorn(message: str) -> Fact | None:
    return ListeningSeen(message.partition("running on ")[2].split(" ")[0])


def _note(kind: str) -> Callable[[str], Fact | None]:
    return lambda _message: NoteSeen(kind)


_READERS: tuple[tuple[str, Callable[[str], Fact | None]], ...] = (
    ("server_args=", _args),
    ("sglang is using nccl==", _nccl),
    ("Capture ", _capture),
    ("Engine startup timings", _timings),
    ("The server is fired up and ready to roll", lambda _message: ReadySeen()),
    ("Uvicorn running on ", _uvicorn),
    ("Cache flushed successfully", _note("cache flushed")),
    ("Endpoint '", _note("deprecated endpoint")),
    ("Tree cache initialized", _note("start-up detail")),
    ("Init Unified Radix Cache", _note("start-up detail")),
    ("No chat template found", _note("start-up detail")),
    ("No HuggingFace chat template", _note("start-up detail")),
    ("Shutting down", _note("stopping")),
    ("Waiting for application shutdown", _note("stopping")),
    ("Application shutdown complete", _note("stopping")),
    ("Finished server process", _note("stopping")),
    ("Health check request received during shutdown", _note("stopping")),
    ("kill_process_tree called", _note("stopping")),
    ("Max running requests is reset", _note("arguments adjusted")),
    ("Receive: obj=", _note("request")),
    ("Finish: obj=", _note("request")),
)


def message(text: str) -> Fact | None:
    """The fact in a message of SGLang or its HTTP front end; None for plain text."""
    if text.startswith(("Decode batch", "Prefill batch")):
        return batch(text)
    if (fact := _started(text)) or (fact := _kv(text)):
        return fact
    for start, reader in _READERS:
        if text.startswith(start):
            return reader(text)
    return None
