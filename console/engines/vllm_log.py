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
from console.engines.literals import assignments, call, mapping
from console.model.fleet import Engine

_STATS = re.compile(
    r"(?:Engine (?P<engine>\w+): |\d+ Engines Aggregated: )?"
    r"Avg prompt throughput: (?P<prompt>[\d.,]+) tokens/s, "
    r"Avg generation throughput: (?P<gen>[\d.,]+) tokens/s, "
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
# Before the V1 engine: totals since the start, the bonus token among those emitted.
_SPEC_FIRST = re.compile(
    r"Speculative metrics: Draft acceptance rate: (?:[\d.]+|nan), .*?Number of speculative tokens: "
    r"(?P<n>\d+), Number of accepted tokens: (?P<accepted>\d+), "
    r"Number of draft tokens: (?P<drafted>\d+), Number of emitted tokens: (?P<emitted>\d+)"
)
_VERSION = re.compile(
    r"vLLM API server version v?(?P<api>\d[\w.+-]*)"
    r"|Initializing an? (?:V\d )?LLM engine \(v(?P<core>\d[\w.+-]*)\)"
    r"(?: with config: (?P<rest>.*))?"
    r"|[█▀▄ ]{3,}version (?P<banner>\d[\w.+-]*)"
)
_SECONDS = re.compile(r"(?:took|takes?) ([\d.]+) ?s|and ([\d.]+) seconds|finished in ([\d.]+) sec")
_GIB = re.compile(r"([\d.]+) GiB")
_KV = re.compile(r"GPU KV cache size: ([\d,]+) tokens")

_PHASES: tuple[tuple[str, PhaseSeen], ...] = (
    ("Starting to load model", PhaseSeen("weights", "begin", draft=False)),
    ("Loading drafter model", PhaseSeen("weights", "begin", draft=True)),
    ("Loading weights took", PhaseSeen("weights", "at", "read")),
    ("Model loading took", PhaseSeen("weights", "end")),
    ("Loading model weights took", PhaseSeen("weights", "end")),  # before the V1 engine
    ("Dynamo bytecode transform time", PhaseSeen("compile", "begin")),
    ("Compiling a graph", PhaseSeen("compile", "at")),
    ("Directly load the compiled graph", PhaseSeen("compile", "at")),
    ("torch.compile t", PhaseSeen("compile", "end")),
    ("Memory profiling takes", PhaseSeen("kv cache", "begin")),
    ("Available KV cache memory", PhaseSeen("kv cache", "begin")),
    ("# GPU blocks: ", PhaseSeen("kv cache", "at")),
    ("Capturing cudagraphs for decoding", PhaseSeen("graphs", "begin")),
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
    if text.startswith("Speculative metrics"):
        return _spec_first(text)
    for start, phase in _PHASES:
        if text.startswith(start):
            return _phase(text, phase)
    if text.startswith("vLLM is using nccl=="):
        return NcclVersionSeen(text.partition("nccl==")[2].split()[0].rstrip(".,"))
    if text.startswith("non-default args: "):
        return ArgsSeen(mapping(text.partition(": ")[2]), whole=False)
    if text.startswith("args: Namespace("):
        return ArgsSeen(call(text), whole=False)
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
        float(m["prompt"].replace(",", "")),
        float(m["gen"].replace(",", "")),
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


def _spec_first(text: str) -> SpecSeen | None:
    m = _SPEC_FIRST.match(text)
    if m is None:
        return None
    accepted, drafted, emitted = int(m["accepted"]), int(m["drafted"]), int(m["emitted"])
    drafts = drafted / int(m["n"]) if int(m["n"]) else 0.0
    length = emitted / drafts if drafts else None
    return SpecSeen(length, accepted / drafted if drafted else 0.0, accepted, drafted)


def _version(text: str) -> Fact | None:
    m = _VERSION.match(text)
    if m is None:
        return None
    if m["rest"]:
        return ArgsSeen(assignments(m["rest"]), version=m["core"])
    return VersionSeen(Engine.VLLM, m["api"] or m["core"] or m["banner"])


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
