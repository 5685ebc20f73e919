"""How long a load still needs, by what, and when it has stalled.

Owns both estimates. Order of belief: this load's own rate, then this server's earlier loads
(warm and cold apart), then durations that the engine itself reported. Never a bare guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from console.engines.load import Load, Pass

Basis = Literal["own rate", "warm history", "cold history", "startup times"]
_FEW = 3  # a bar of so few items, or so quick, has no rate to extrapolate from
_QUICK_S = 2.0
_MOST_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Eta:
    """`covers` says whether only the running bar is estimated or the whole load."""

    seconds: float
    basis: Basis
    covers: Literal["bar", "load"]


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier load: seconds per stage name, in order."""

    basis: Basis
    stages: tuple[tuple[str, float], ...]


def from_startup_times(times: Mapping[str, object]) -> Earlier:
    """SGLang 0.5.23's `startup_time` (/server_info) as an earlier load."""
    graphs = times.get("cuda_graph")
    found = map(_seconds, graphs.values()) if isinstance(graphs, Mapping) else ()
    total = sum((v for v in found if v is not None), 0.0)
    named = (("weights", times.get("load_weight")), ("kv cache", times.get("kv_cache_allocation")))
    stages = [(name, v) for name, told in named if (v := _seconds(told)) is not None]
    return Earlier("startup times", (*stages, ("graphs", total)))


def _seconds(found: object) -> float | None:
    """A time that a load can have taken."""
    return float(found) if isinstance(found, float | int) and 0 <= found < _MOST_S else None


def closest(load: Load, earlier: Iterable[Earlier]) -> Earlier | None:
    """The earlier load whose weights took most nearly as long as this one's will.

    Before the shard bar says anything, the first one given.
    """
    kept = [e for e in earlier if e.stages]
    shards = next((b for b in load.bars if b.name == "target shards" and b.item_s), None)
    if not kept or shards is None or shards.item_s is None:
        return kept[0] if kept else None
    whole_s = shards.item_s * shards.total
    return min(kept, key=lambda e: abs(dict(e.stages).get("weights", 0.0) - whole_s))


def eta(load: Load, earlier: Iterable[Earlier] = ()) -> Eta | None:
    """Seconds to the end; None where nothing supports a number or the load is over."""
    if load.over:
        return None
    known = closest(load, earlier)
    bar_s = _bar_s(load.bar)
    if known is None:
        return None if bar_s is None else Eta(bar_s, "own rate", "bar")
    names = [name for name, _ in known.stages]
    here = load.phase
    if here not in names:
        return None if bar_s is None else Eta(bar_s, "own rate", "bar")
    later = sum(s for _, s in known.stages[names.index(here) + 1 :])
    if bar_s is not None:
        return Eta(bar_s + later, "own rate", "load")
    began = load.stages[-1].began_s
    spent = load.at_s - began if began is not None and load.at_s is not None else 0.0
    return Eta(max(0.0, dict(known.stages)[here] - spent) + later, known.basis, "load")


def _bar_s(bar: Pass | None) -> float | None:
    if bar is None or bar.item_s is None or bar.done <= 0:
        return None
    if bar.total < _FEW or (bar.elapsed_s or 0.0) < _QUICK_S:
        return None
    return (bar.total - bar.done) * bar.item_s


def stalled(load: Load, now_us: int, limit_us: int) -> str | None:
    """Why the load counts as stalled: no visible progress for `limit_us`; else None."""
    if load.over or load.moved_us is None or now_us - load.moved_us < limit_us:
        return None
    text = f"no progress for {(now_us - load.moved_us) // 60_000_000} min in {load.phase or '?'}"
    missing = load.missing_nccl()
    if load.nccl_of and missing and load.phase == "distributed (NCCL init)":
        ranks = ", ".join(str(r) for r in missing)
        word = "rank" if len(missing) == 1 else "ranks"
        text += f": {len(load.nccl_done)}/{load.nccl_of}, missing {word} {ranks}"
    elif waiting := waiting_for(load):
        text += f": {waiting}"
    return text


def waiting_for(load: Load) -> str:
    """Which ranks have loaded and who came last: "target 4/4 ranks, slowest TP1 (6 s after
    the first)"; "" before the first rank has.
    """
    if not load.weights:
        return ""
    stage = load.weights[-1][0]
    if stage == "draft" and not load.phase.startswith("draft weights"):
        stage = "target"
    ends = [(rank, at) for s, rank, at in load.weights if s == stage]
    of = f"/{load.ranks}" if load.ranks else ""
    text = f"{stage} {len(ends)}{of} ranks"
    late = [r for s, r in load.begun if s == stage and r and r not in {rank for rank, _ in ends}]
    if late:
        return f"{text}, waiting for {', '.join(late)}"
    times = [at for _, at in ends if at is not None]
    if len(times) > 1 and max(times) > min(times):
        rank = max(ends, key=lambda e: e[1] or 0.0)[0]
        text += f", slowest {rank} ({max(times) - min(times):.0f} s after the first)"
    return text
