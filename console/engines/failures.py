"""Finds failure markers in a message.

Owns the search only; what a marker means stands in `markers`. Never looks into text that
clients send (logged requests), so that a prompt cannot bring a server down on the screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from console.engines.facts import FailureSeen
from console.engines.marker import Marker
from console.engines.markers import BY_ID, MARKERS

_SEARCH = tuple((m.id, re.compile(m.pattern)) for m in MARKERS)
_PATTERN = dict(_SEARCH)
_NEEDLES = tuple((needle, m.id) for m in MARKERS for needle in m.needles)
_FOREIGN = re.compile(r"(?:Receive|Finish): obj=|Received request |Generated response ").search
RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: |$)")
_HEAD = 300
_FIRST = 4096  # markers stand early; a line may be 64 KiB
_TRAILING = re.compile(r"\d+$")
_OTHER = re.compile(r"Process (\d+) has ([\d.]+ [KMG]iB)")


def foreign(message: str) -> bool:
    """Whether the text quotes what a client sent, behind whatever head."""
    return _FOREIGN(message, 0, _HEAD) is not None


def failure(message: str) -> FailureSeen | None:
    """The first marker of the table that fits, with its details; None for ordinary text."""
    if foreign(message):
        return None
    text = message[:_FIRST]
    wanted = [marker for needle, marker in _NEEDLES if needle in text]
    for marker in wanted:
        if m := _PATTERN[marker].search(text):
            return FailureSeen(marker, _details(m))
    return None


def _details(m: re.Match[str]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for name, value in m.groupdict().items():
        if not value:
            continue
        if name == "others":
            found += [("other", f"{pid} holds {size}") for pid, size in _OTHER.findall(value)]
        else:
            found.append((_TRAILING.sub("", name), value.strip()))
    return tuple(found)


def marker_of(fact: FailureSeen) -> Marker:
    """The table's entry of a failure."""
    return BY_ID[fact.marker]


def summary(fact: FailureSeen, ranks: str = "") -> str:
    """One line for a person: what happened, with the figures that the log gives."""
    words = _WORDS.get(fact.marker)
    return (words(fact, ranks) if words else "") or BY_ID[fact.marker].meaning


def _cuda_oom(fact: FailureSeen, ranks: str) -> str:
    gpu = f"GPU {fact.get('gpu')}" if fact.get("gpu") else ""
    where = " / ".join(w for w in (gpu, ranks) if w)
    text = f"CUDA out of memory{' on ' + where if where else ''}"
    if fact.get("wanted"):
        text += f": wanted {_short(fact.get('wanted'))}"
    if fact.get("free"):
        text += f", {_short(fact.get('free'))} free"
    return text + "".join(f"; process {v}" for k, v in fact.detail if k == "other")


def _kernel_oom(fact: FailureSeen, _ranks: str) -> str:
    what = "the cgroup's limit" if "MEMCG" in fact.get("constraint") else "RAM"
    process = fact.get("process") or "a process"
    return f"the kernel's OOM killer ended {process}: host memory ran out ({what}), not GPU memory"


def _cuda_error(fact: FailureSeen, ranks: str) -> str:
    return f"CUDA error: {fact.get('what')}" + (f" ({ranks})" if ranks else "")


def _nccl_timeout(fact: FailureSeen, _ranks: str) -> str:
    limit_s = int(fact.get("timeout_ms") or fact.get("ran_ms") or 0) // 1000
    op = fact.get("op").strip("_").lower().replace("_base", "")
    op = op.replace("allgather", "all-gather").replace("allreduce", "all-reduce")
    return f"collective timeout {limit_s} s, {op} {fact.get('seq')}"


def _watchdog(fact: FailureSeen, _ranks: str) -> str:
    limit_s = fact.get("timeout_s").rstrip(".")
    return f"watchdog timeout {limit_s} s" if limit_s else "watchdog timeout"


def _rendezvous(fact: FailureSeen, _ranks: str) -> str:
    joined, peer = fact.get("joined"), fact.get("peer")
    told = f": {joined} joined" if joined else f": no answer from {peer}" if peer else ""
    return BY_ID[fact.marker].meaning + told


def _rank_dead(fact: FailureSeen, _ranks: str) -> str:
    code = f" with exit code {fact.get('code')}" if fact.get("code") else ""
    return f"the scheduler of rank {fact.get('rank')} died while starting{code}"


def _told(fact: FailureSeen, _ranks: str) -> str:
    """The marker's meaning, then what the line names."""
    return f"{BY_ID[fact.marker].meaning}: {fact.get('what') or fact.get('why').lower()}"


_WORDS: dict[str, Callable[[FailureSeen, str], str]] = {
    "cuda-oom": _cuda_oom,
    "kernel-oom": _kernel_oom,
    "illegal-access": _cuda_error,
    "cuda-error": _cuda_error,
    "nccl-timeout": _nccl_timeout,
    "xid-fatal": lambda f, _: f"GPU fault: Xid {f.get('xid')} at {f.get('bus')}",
    "xid": lambda f, _: f"GPU fault: Xid {f.get('xid')} at {f.get('bus')}",
    "port-taken": lambda f, _: (
        f"port {f.get('port')} already in use" if f.get("port") else "the port is already in use"
    ),
    "watchdog": _watchdog,
    "gpu-busy": lambda f, _: f"{BY_ID[f.marker].meaning}: {f.get('free')} of {f.get('total')} GiB",
    "rendezvous": _rendezvous,
    "bad-argument": _told,
    "no-program": _told,
    "kernel-resources": _told,
    "time-limit": _told,
    "rank-dead": _rank_dead,
    "worker-dead": lambda f, _: f"vLLM's worker {f.get('name')} died" if f.get("name") else "",
    "child-crash": lambda f, _: (
        f"{f.get('name') or 'a child process'} ended with exit code {f.get('code')}"
    ),
}


def _short(size: str) -> str:
    """ "738.00 MiB" as "738 MiB"."""
    number, _, unit = size.partition(" ")
    return f"{float(number):.0f} {unit}" if float(number) >= 100 else f"{float(number):.4g} {unit}"
