"""A /metrics answer as canonical figures, whatever state it is in.

Owns the only use of prometheus_client's parser. Doubled families, NaN, HTML, cut or huge
bodies are survived; each oddity is reported as a notice. Never an exception, never a 0 for
what is not exported; a large body is read in turns, so that others may have theirs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from console.engines.aliases import FIGURES, HISTOGRAMS, POSITIONS, PREFIXES, Alias
from console.engines.histogram import Histogram
from console.model.fleet import Engine
from console.model.number import whole

MAX_BYTES = 8 * 1024 * 1024  # what is read; a transport should stop there
REFUSED_BYTES = 50 * 1024 * 1024  # not looked at, not even in part
MOST_SAMPLES = 20_000  # figures of thousands of ranks; what stands behind them is left out
TURN_BYTES = 64 * 1024

Oddity = Literal[
    "not available",
    "not exported",
    "key missing",
    "not metrics",
    "too large",
    "cut",
    "bad lines",
    "NaN",
    "doubled",
    "unknown engine",
]


@dataclass(frozen=True, slots=True)
class Notice:
    kind: Oddity
    text: str


@dataclass(frozen=True, slots=True)
class Worker:
    """One server's figures; behind a router there are several, each with its address."""

    address: str
    figures: Mapping[str, float] = field(hash=False)
    histograms: Mapping[str, Histogram] = field(default_factory=dict, hash=False)
    positions: tuple[float, ...] = ()  # accepted tokens per draft position, counters

    def get(self, canon: str) -> float | None:
        """A figure by canonical name; None: not exported, or NaN."""
        return self.figures.get(canon)


@dataclass(frozen=True, slots=True)
class Metrics:
    engine: Engine | None
    workers: tuple[Worker, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def only(self) -> Worker | None:
        """The figures of a single server; None behind a router or without any."""
        return self.workers[0] if len(self.workers) == 1 else None


_SUFFIX = {"_bucket", "_sum", "_count"}
_RANKS = ("tp_rank", "pp_rank", "moe_ep_rank", "attn_cp_rank", "cp_rank", "dcp_rank", "pid")
_ALIKE = frozenset(
    (*_RANKS, "worker_addr", "model_name", "engine_type", "le", "instance", "job", "pod")
)
_BY_NAME: dict[tuple[Engine, str], tuple[Alias, ...]] = {
    (engine, name): tuple(a for a in table if a.name == name)
    for engine, table in FIGURES.items()
    for name in {a.name for a in table}
}
_ENGINES = dict(PREFIXES)
_NAMES = sorted({name for _, name in _BY_NAME} | {POSITIONS}, key=len, reverse=True)
_HEAD = rf"^(?:{'|'.join(p for p, _ in PREFIXES)})[:_]"
_PLAIN = re.compile(rf"{_HEAD}(?:{'|'.join(_NAMES)})(?=[{{ \t]).*$", re.M)
_SHAPED = [f"{name}_(?:sum|count|bucket)" for name in HISTOGRAMS]
_WITH = re.compile(rf"{_HEAD}(?:{'|'.join([*_NAMES, *_SHAPED])})(?=[{{ \t]).*$", re.M)
_ANY = re.compile(rf"{_HEAD}", re.M)
_TYPE = re.compile(r"^# TYPE (\S+) ", re.M)
_QUOTED = re.compile(r'^\{"([A-Za-z_:][\w:]*)"(?:, *|(?=\}))', re.M)  # a name of the newest form


def read_metrics(code: int | None, body: str, *, histograms: bool = True) -> Metrics:
    """Figures and notices of one answer. Leave `histograms` out where polling is frequent."""
    turns = in_turns(code, body, histograms=histograms)
    while True:
        try:
            next(turns)
        except StopIteration as done:
            read: Metrics = done.value
            return read


def in_turns(
    code: int | None, body: str, *, histograms: bool = True
) -> Generator[None, None, Metrics]:
    """The same, with a pause for others after every few milliseconds of work."""
    body = body.removeprefix("\ufeff")
    if body.startswith('{"') or '\n{"' in body:
        body = _QUOTED.sub(r"\1{", body)
    refused = _refused(code, body)
    if refused is not None:
        return Metrics(None, (), (refused,))
    notices: list[Notice] = []
    if len(body) > MAX_BYTES:
        body = body[: body.rfind("\n", 0, MAX_BYTES) + 1]
        notices.append(Notice("cut", f"only the first {MAX_BYTES // 2**20} MiB were read"))
    elif last := body.rpartition("\n")[2]:
        body = body[: -len(last)]
        if not last.startswith("#"):  # it may end in the middle of a number
            notices.append(Notice("cut", "the last line has no end and was left out"))
    pattern = _WITH if histograms else _PLAIN
    samples: list[Sample] = []
    names: set[str] = set()
    bad, doubled, start = 0, False, 0
    while start < len(body):
        end = body.find("\n", start + TURN_BYTES) + 1 or len(body)
        part, start = body[start:end], end
        declared = _TYPE.findall(part)
        doubled = doubled or len(set(declared)) < len(declared) or not names.isdisjoint(declared)
        names.update(declared)
        found, wrong = _samples(m[0] for m in pattern.finditer(part))
        samples += found
        bad += wrong
        if len(samples) > MOST_SAMPLES:
            notices.append(Notice("cut", f"more than {MOST_SAMPLES:,} figures: the rest is left"))
            break
        yield
    if doubled:
        notices.append(Notice("doubled", "families are declared more than once"))
    if bad:
        notices.append(Notice("bad lines", f"{bad} lines could not be read"))
    engine = _engine(samples)
    if engine is None:
        kind: Oddity = "not exported" if _ANY.search(body) else "unknown engine"
        return Metrics(None, (), (*notices, Notice(kind, "no figure of a known engine")))
    workers, odd = _workers(engine, samples)
    for name, value in odd.items():
        word = "NaN" if math.isnan(value) else f"{value:g}"
        notices.append(Notice("NaN", f"{name} is {word}: no value"))
    return Metrics(engine, workers, tuple(notices))


def _refused(code: int | None, body: str) -> Notice | None:
    first = body.strip().partition("\n")[0][:300]
    if code in (401, 403):
        return Notice("key missing", f"/metrics needs the API key ({code})")
    if code == 404:
        return Notice(
            "not exported",
            "this node exports none (/metrics needs its switch, or this is not node 0)",
        )
    if code is not None and code != 200:
        return Notice("not available", f"metrics not available ({code}): {first}")
    if len(body) > REFUSED_BYTES:
        return Notice("too large", f"{len(body) // 2**20} MiB of metrics were refused")
    if not body.strip():
        return Notice("not metrics", "the answer is empty")
    if first[:1] in "<[{" or first[:9].lower() == "<!doctype":
        kind = "HTML" if first[:1] == "<" else "JSON"
        return Notice("not metrics", f"{kind} stands where metrics should be: {first[:80]}")
    return None


def _samples(lines: Iterable[str]) -> tuple[list[Sample], int]:
    """Each line by itself, so that one broken line costs itself only."""
    found: list[Sample] = []
    bad = 0
    for line in lines:
        try:
            for family in text_string_to_metric_families(line):
                for sample in family.samples:
                    float(sample.value)  # whole numbers are read as such, of any size
                    found.append(sample)
        except (ValueError, IndexError, OverflowError):
            bad += 1
    return found, bad


def _split(name: str) -> tuple[Engine, str]:
    prefix = next(p for p, _ in PREFIXES if name.startswith(p))
    return _ENGINES[prefix], name[len(prefix) + 1 :]


def _engine(samples: list[Sample]) -> Engine | None:
    return _split(samples[0].name)[0] if samples else None


def _address(labels: Mapping[str, str]) -> str:
    return labels.get("worker_addr", "").partition("://")[2] or labels.get("worker_addr", "")


def _rank(labels: Mapping[str, str]) -> tuple[int, ...]:
    return tuple(whole(labels.get(r, "0")) or 0 for r in _RANKS)


def _workers(engine: Engine, samples: list[Sample]) -> tuple[tuple[Worker, ...], dict[str, float]]:
    chosen, odd = _one_per_rank(samples)
    by_worker: dict[str, list[Sample]] = {}
    for sample in chosen:
        by_worker.setdefault(_address(sample.labels), []).append(sample)
    workers = tuple(
        Worker(address, *_figures(engine, by_worker[address])) for address in sorted(by_worker)
    )
    return workers, odd


def _one_per_rank(samples: list[Sample]) -> tuple[list[Sample], dict[str, float]]:
    """Tensor, pipeline and expert ranks repeat one number: the lowest rank speaks for all."""
    best: dict[tuple[object, ...], tuple[tuple[int, ...], Sample]] = {}
    odd: dict[str, float] = {}
    for sample in samples:
        if not math.isfinite(sample.value):
            odd[sample.name] = sample.value
            continue
        rest = tuple(sorted((k, v) for k, v in sample.labels.items() if k not in _ALIKE))
        key = (_split(sample.name), _address(sample.labels), sample.labels.get("le"), rest)
        rank = _rank(sample.labels)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, sample)
    return [sample for _, sample in best.values()], odd


def _figures(
    engine: Engine, samples: list[Sample]
) -> tuple[dict[str, float], dict[str, Histogram], tuple[float, ...]]:
    values: dict[Alias, list[float]] = {}
    shapes: dict[str, list[tuple[str, Sample]]] = {}
    positions: dict[int, float] = {}
    for sample in samples:
        _, name = _split(sample.name)
        if name == POSITIONS:
            at = sample.labels.get("position", "")
            if at.isdecimal() and len(at) < 4:
                positions[int(at)] = positions.get(int(at), 0.0) + sample.value
            continue
        stem, _, suffix = name.rpartition("_")
        if f"_{suffix}" in _SUFFIX and stem in HISTOGRAMS:
            shapes.setdefault(HISTOGRAMS[stem], []).append((suffix, sample))
            continue
        for alias in _BY_NAME.get((engine, name), ()):
            if alias.label is None or sample.labels.get(alias.label[0]) == alias.label[1]:
                values.setdefault(alias, []).append(sample.value)
    figures: dict[str, float] = {}
    for alias, found in values.items():
        figures.setdefault(alias.canon, float(_merge(alias, found)))
    return (
        figures,
        {name: _histogram(parts) for name, parts in shapes.items()},
        tuple(positions[p] for p in sorted(positions)),
    )


def _merge(alias: Alias, found: list[float]) -> float:
    match alias.merge:
        case "sum":
            return sum(found)
        case "max":
            return max(found)
        case "mean":
            return sum(found) / len(found)


def _histogram(parts: list[tuple[str, Sample]]) -> Histogram:
    total = sum(s.value for kind, s in parts if kind == "sum")
    count = sum(s.value for kind, s in parts if kind == "count")
    buckets: dict[float, float] = {}
    for kind, sample in parts:
        if kind == "bucket":
            try:
                bound = float(sample.labels.get("le", ""))
            except ValueError:
                continue
            buckets[bound] = buckets.get(bound, 0.0) + sample.value
    return Histogram(total, count, tuple(sorted(buckets.items())))
