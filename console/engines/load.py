"""How far a server's start is: a pure fold over its log.

Owns phases in their order, the bars' latest states, ranks that have arrived, and the end:
ready, or an incident with its reason. Asks nobody for the time; estimates are in `eta`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from console.engines.arm import Running, arm_of, drafting
from console.engines.facts import (
    AccessSeen,
    ArgsSeen,
    BarSeen,
    DecodeSeen,
    Fact,
    ListeningSeen,
    NcclInitSeen,
    PhaseSeen,
    PrefillSeen,
    ReadySeen,
    VersionSeen,
)
from console.engines.incident import Incident, grow
from console.engines.records import Placed
from console.engines.speaks import speaks
from console.engines.stamps import seconds
from console.model.fleet import Engine

_LAST_OPENS = (Engine.VLLM, Engine.TRTLLM)  # engines that open HTTP last, so that open means ready


@dataclass(frozen=True, slots=True)
class Pass:
    """One series of a progress bar under a name such as "target shards"."""

    name: str
    done: float
    total: float
    elapsed_s: float | None = None
    item_s: float | None = None
    eta_s: float | None = None

    @property
    def complete(self) -> bool:
        """Whether the bar has reached its end."""
        return self.total > 0 and self.done >= self.total

    def __str__(self) -> str:
        return f"{self.name} {self.done:g}/{self.total:g}"


@dataclass(frozen=True, slots=True)
class Stage:
    """A phase that has begun. `name` is what a person reads."""

    name: str
    began_s: float | None
    ended_s: float | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """All that the log has told of one start; times are the log's own, in seconds."""

    engine: Engine | None = None
    version: str = ""
    running: Running | None = None
    ranks: int | None = None
    stages: tuple[Stage, ...] = ()
    bars: tuple[Pass, ...] = ()
    weights: tuple[tuple[str, str, float | None], ...] = ()  # stage, rank, end
    begun: tuple[tuple[str, str], ...] = ()  # stage, rank
    nccl_done: tuple[int, ...] = ()
    nccl_of: int | None = None
    kv_tokens: int | None = None
    at_s: float | None = None
    moved_us: int | None = None
    ready: bool = False
    incident: Incident | None = None

    @property
    def phase(self) -> str:
        """What it is doing: "weights", "draft graphs (draft extend)", "ready"; "" unknown."""
        return "ready" if self.ready else self.stages[-1].name if self.stages else ""

    @property
    def bar(self) -> Pass | None:
        """The bar that is still running, if the latest one is."""
        return self.bars[-1] if self.bars and not self.bars[-1].complete else None

    @property
    def over(self) -> bool:
        """Whether nothing is to be waited for: ready, or failed."""
        return self.ready or self.incident is not None

    def missing_nccl(self) -> tuple[int, ...]:
        """Ranks that have not finished NCCL's initialisation."""
        return tuple(r for r in range(self.nccl_of or 0) if r not in self.nccl_done)


def advance(load: Load, placed: Placed, now_us: int) -> Load:
    """The load after one more piece of log, seen at `now_us`.

    A fresh `server_args` line after the end begins a new load; nothing else revives one.
    """
    fact = placed.line.fact
    if isinstance(fact, ArgsSeen) and load.over:
        load = Load()
    elif load.ready and load.engine:
        return load
    if not load.engine and (engine := speaks(placed.line)):
        load = replace(load, engine=engine)
    at_s = seconds(placed.owner.at) if placed.owner.style else None
    if at_s is not None and at_s != load.at_s:
        load = replace(load, at_s=at_s)
    if load.ready:
        return load
    incident = grow(load.incident, placed)
    if incident is not load.incident:
        load = replace(load, incident=incident)
    if load.incident is not None or fact is None:
        return load
    moved = _moved(load, fact, placed)
    if moved is load:
        return load if load.moved_us is not None else replace(load, moved_us=now_us)
    return replace(moved, moved_us=now_us)


def _moved(load: Load, fact: Fact, placed: Placed) -> Load:
    match fact:
        case ArgsSeen():
            return _arguments(load, fact)
        case VersionSeen():
            return replace(load, engine=fact.engine, version=fact.version)
        case PhaseSeen():
            return _phase(load, fact, placed)
        case BarSeen():
            return _bar(load, fact)
        case NcclInitSeen():
            return _nccl(load, fact)
        case AccessSeen() | PrefillSeen() if _warms_up(load, fact):
            return _enter(load, "warm-up")
        case ReadySeen() | DecodeSeen():  # tokens are made: whatever was missed, it is up
            return replace(load, ready=True)
        case ListeningSeen() if load.engine in _LAST_OPENS:
            return replace(load, ready=load.engine is Engine.TRTLLM)
        case _:
            return load


def _warms_up(load: Load, fact: AccessSeen | PrefillSeen) -> bool:
    """SGLang asks itself for its model, then for eight tokens, before it says that it is ready."""
    own = isinstance(fact, PrefillSeen) or fact.route in ("/model_info", "/get_model_info")
    return own and any(s.name == "http" for s in load.stages)


def _arguments(load: Load, fact: ArgsSeen) -> Load:
    ranks = fact.args.get("tp_size", fact.args.get("tensor_parallel_size"))
    return _enter(
        replace(
            load,
            version=fact.version or load.version,
            running=arm_of(fact.args) or load.running,
            ranks=ranks if isinstance(ranks, int) else load.ranks,
        ),
        "arguments",
    )


def _enter(load: Load, name: str) -> Load:
    """A stage begins once; a late rank's line never takes the load back."""
    if any(s.name == name for s in load.stages):
        return load
    stages = load.stages
    if stages and stages[-1].ended_s is None:
        stages = (*stages[:-1], replace(stages[-1], ended_s=load.at_s))
    return replace(load, stages=(*stages, Stage(name, load.at_s)))


def _phase(load: Load, fact: PhaseSeen, placed: Placed) -> Load:
    if fact.tokens is not None and load.kv_tokens is None:
        load = replace(load, kv_tokens=fact.tokens)
    if fact.phase == "weights":
        return _weights(load, fact, placed)
    if fact.phase == "http" and fact.edge == "at" and load.engine in _LAST_OPENS:
        return replace(load, ready=True)
    name: str = fact.phase
    if fact.phase == "graphs" and fact.draft:
        return _graphs(load, fact, f"draft graphs ({fact.part})")
    if fact.phase == "graphs":
        return _graphs(load, fact, f"graphs ({fact.part})" if fact.part else "graphs")
    if fact.phase == "distributed" and any(s.name == "weights" for s in load.stages):
        return load
    if fact.phase == "kv cache" and any(b == "draft" for b, _ in load.begun):
        name = (
            "kv cache" if not any(s.name == "kv cache" for s in load.stages) else "draft kv cache"
        )
    return _enter(load, name)


def _graphs(load: Load, fact: PhaseSeen, name: str) -> Load:
    return _enter(load, name) if fact.edge == "begin" else load


def _weights(load: Load, fact: PhaseSeen, placed: Placed) -> Load:
    """Whose weights: said by the line, or by how often this rank has begun before."""
    rank = placed.owner.ranks
    if fact.edge == "end":
        times = sum(1 for _, r, _ in load.weights if r == rank)
        stage = "draft" if times and fact.draft is not False else "target"
        if any((s, r) == (stage, rank) for s, r, _ in load.weights):
            return load
        return replace(load, weights=(*load.weights, (stage, rank, load.at_s)))
    if fact.edge == "at":
        return load
    stage = "draft" if fact.draft or (fact.draft is None and ("target", rank) in load.begun) else ""
    stage = stage or "target"
    if (stage, rank) not in load.begun:
        load = replace(load, begun=(*load.begun, (stage, rank)))
    if stage == "draft" and load.running is None:
        load = replace(load, running=drafting())
    return _enter(load, "weights" if stage == "target" else "draft weights")


def _nccl(load: Load, fact: NcclInitSeen) -> Load:
    if any(s.name == "weights" for s in load.stages):
        return load
    load = _enter(replace(load, nccl_of=fact.nranks), "distributed (NCCL init)")
    if fact.done and fact.rank not in load.nccl_done:
        load = replace(load, nccl_done=tuple(sorted((*load.nccl_done, fact.rank))))
    return load


def _bar(load: Load, fact: BarSeen) -> Load:
    name = _bar_name(load, fact)
    if not name:
        return load
    new = Pass(name, fact.done, fact.total, fact.elapsed_s, fact.item_s, fact.eta_s)
    for index in range(len(load.bars) - 1, -1, -1):
        old = load.bars[index]
        if old.name == name and old.total == new.total:
            if new.done <= old.done:
                return load
            return replace(load, bars=(*load.bars[:index], new, *load.bars[index + 1 :]))
    load = replace(load, bars=(*load.bars, new))
    word = {"shards": "weights", "graphs": "graphs"}.get(fact.kind)
    if word and load.stages and word in load.stages[-1].name:
        return load  # the bar belongs to the stage that its marker has begun
    return _enter(load, _bar_stage(fact, name))


def _bar_name(load: Load, fact: BarSeen) -> str:
    phase = load.stages[-1].name if load.stages else ""
    draft = phase.startswith("draft") or any(s.name == "draft weights" for s in load.stages)
    if fact.kind == "shards":
        finished = any(b.name == "target shards" and b.complete for b in load.bars)
        restarted = finished and not any(
            b.name == "target shards" and b.total == fact.total and fact.done >= b.done
            for b in load.bars
        )
        return "draft shards" if (draft or restarted) else "target shards"
    if fact.kind == "graphs":
        if fact.part:
            return f"graphs {fact.part}"
        if phase.startswith("draft graphs ("):
            part = phase[len("draft graphs (") : -1]
            return "draft graphs" if part == "draft decode" else f"{part} graphs"
        return "prefill graphs" if phase == "graphs (prefill)" else "target graphs"
    return {"compile": fact.label or "compile", "download": fact.label}.get(fact.kind, "")


def _bar_stage(fact: BarSeen, name: str) -> str:
    match fact.kind:
        case "shards":
            return "draft weights" if name.startswith("draft") else "weights"
        case "graphs":
            known = {"draft graphs": "draft graphs (draft decode)"}
            if name.startswith("draft "):
                return known.get(name, f"draft graphs ({name.removesuffix(' graphs')})")
            return "graphs (prefill)" if name == "prefill graphs" else "graphs"
        case _:
            return fact.kind
