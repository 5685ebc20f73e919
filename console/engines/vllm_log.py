"""vLLM's messages as facts: start-up markers, statistics, speculation metrics, arguments.

Owns the message grammar of the V1 engine (0.9 to 0.32). Knows nothing of heads or time.
"""

from __future__ import annotations

import re

from console.engines.facts import (
    ArgsSeen,
    Fact,
    ListeningSeen,
    NcclVersionSeen,
    PhaseSeen,
    ReadySeen,
    SpecSeen,
    StatsSeen,
    VersionSeen,
)
from console.engines.literals import assignments, mapping
from console.model.fleet import Engine

_STATS = re.compile(
    r"(?:Engine (?P<engine>\w+): |\d+ Engines Aggregated: )?"
    r"Avg prompt throughput: (?P<prompt>[\d.]+) tokens/s, "
    r"Avg generation throughput: (?P<gen>[\d.]+) tokens/s, "
    r"Running: (?P<running>\d+) reqs?, (?:Swapped: \d+ reqs, )?"
    r"(?:Waiting|Pending): (?P<waiting>\d+) reqs?"
)
_USAGE = re.compile(r"GPU KV cache usage: ([\d.]+)%")
_HIT = re.compile(r"Prefix cache hit rate: (?:GPU: )?([\d.]+)%")
_SPEC = re.compile(
    r"SpecDecoding metrics: Mean acceptance length: (?P<len>[\d.]+|nan), .*?"
    r"Accepted: (?P<accepted>\d+) tokens, Drafted: (?P<drafted>\d+) tokens"
    r"(?:, Per-position acceptance rate: (?P<per>[\d., ]+?))?"
    r", Avg Draft acceptance rate: (?P<rate>[\d.]+|nan)%"
)
_SPEC_OLD = re.compile(
    r"SpecDecoding metrics: Draft acceptance rate: (?P<rate>[\d.]+|nan)%, "
    r"Mean acceptance length: (?P<len>[\d.]+|nan), Accepted: (?P<accepted>\d+) tokens, "
    r"Drafted: (?P<drafted>\d+) tokens(?:, Per-position acceptance rate: (?P<per>[\d., ]+))?"
)
_VERSION = re.compile(
    r"vLLM API server version v?(?P<api>\d[\w.+-]*)"
    r"|Initializing an? (?:V\d )?LLM engine \(v(?P<core>\d[\w.+-]*)\)"
    r"(?: with config: (?P<rest>.*))?"
)
_SECONDS = re.compile(r"(?:took|takes?) ([\d.]+) ?s|and ([\d.]+) seconds|finished in ([\d.]+) sec")
_GIB = re.compile(r"([\d.]+) GiB")
_KV = re.compile(r"GPU KV cache size: ([\d,]+) tokens")

_PHASES: tuple[tuple[str, PhaseSeen], ...] = (
    ("Starting to load model", PhaseSeen("weights", "begin", draft=False)),
    ("Loading drafter model", PhaseSeen("weights", "begin", draft=True)),
    ("Loading weights took", PhaseSeen("weights", "at", "read")),
    ("Model loading took", PhaseSeen("weights", "end")),
    ("torch.compile t", PhaseSeen("compile", "end")),
    ("Available KV cache memory", PhaseSeen("kv cache", "begin")),
    ("GPU KV cache size", PhaseSeen("kv cache", "at")),
    ("Graph capturing finished", PhaseSeen("graphs", "end")),
    ("init engine (profile", PhaseSeen("summary", "at")),
    ("Started server process", PhaseSeen("http", "begin")),
    ("Waiting for application startup", PhaseSeen("http", "begin")),
)


def message(text: str) -> Fact | None:
    """The fact in a message of vLLM; None for plain text."""
    if "throughput: " in text and (stats := _stats(text)):
        return stats
    if text.startswith("SpecDecoding metrics"):
        return _spec(text)
    for start, phase in _PHASES:
        if text.startswith(start):
            return _phase(text, phase)
    if text.startswith("vLLM is using nccl=="):
        return NcclVersionSeen(text.partition("nccl==")[2].split()[0].rstrip(".,"))
    if text.startswith("non-default args: "):
        return ArgsSeen(mapping(text.partition(": ")[2]), whole=False)
    if "version" in text or "LLM engine (v" in text:
        return _version(text)
    if text.startswith(("Starting vLLM server on ", "Starting vLLM API server ")):
        return ListeningSeen(text.rpartition(" on ")[2])
    return None


def ready(text: str) -> bool:
    """Whether uvicorn's line means ready; true for vLLM, which opens HTTP last."""
    return text.startswith("Application startup complete")


def ready_fact() -> ReadySeen:
    """vLLM's ready mark carries no address."""
    return ReadySeen()


def _stats(text: str) -> StatsSeen | None:
    m = _STATS.match(text)
    if m is None:
        return None
    usage, hit = _USAGE.search(text, m.end()), _HIT.search(text, m.end())
    return StatsSeen(
        float(m["prompt"]),
        float(m["gen"]),
        int(m["running"]),
        int(m["waiting"]),
        float(usage[1]) / 100 if usage else None,
        float(hit[1]) / 100 if hit else None,
        m["engine"] or "",
    )


def _spec(text: str) -> SpecSeen | None:
    m = _SPEC.match(text) or _SPEC_OLD.match(text)
    if m is None:
        return None
    drafted = int(m["drafted"])
    accept_len = None if m["len"] == "nan" or not drafted else float(m["len"])
    # The printed rate is rounded harder than the two counts it comes from.
    fraction = int(m["accepted"]) / drafted if drafted else 0.0
    per = tuple(float(p) for p in re.findall(r"\d+\.\d+", m["per"] or ""))
    return SpecSeen(accept_len, fraction, int(m["accepted"]), drafted, per)


def _version(text: str) -> Fact | None:
    m = _VERSION.match(text)
    if m is None:
        return None
    if m["rest"]:
        return ArgsSeen(assignments(m["rest"]), version=m["core"])
    return VersionSeen(Engine.VLLM, m["api"] or m["core"])


def _phase(text: str, phase: PhaseSeen) -> PhaseSeen:
    seconds, gib, kv = _SECONDS.search(text), _GIB.search(text), _KV.search(text)
    amount = float(gib[1]) if gib else None
    free = phase.phase == "kv cache"
    return PhaseSeen(
        phase.phase,
        phase.edge,
        phase.part,
        float(next(g for g in seconds.groups() if g)) if seconds else None,
        amount if free else None,
        None if free else amount,
        int(kv[1].replace(",", "")) if kv else None,
        phase.draft,
    )
