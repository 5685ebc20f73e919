"""Finds failure markers in a message.

Owns the search only; what a marker means stands in `markers`. Never looks into text that
clients send (logged requests), so that a prompt cannot bring a server down on the screen.
"""

from __future__ import annotations

import re

from console.engines.facts import FailureSeen
from console.engines.markers import BY_ID, MARKERS, Marker

_SEARCH = tuple((m.id, re.compile(m.pattern)) for m in MARKERS)
_PATTERN = dict(_SEARCH)
_NEEDLES = tuple((needle, m.id) for m in MARKERS for needle in m.needles)
_FOREIGN = ("Receive: obj=", "Finish: obj=", "Received request ", "Generated response ")
RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: |$)")
_HEAD = 300
_FIRST = 4096  # markers stand early; a line may be 64 KiB
_TRAILING = re.compile(r"\d+$")
_OTHER = re.compile(r"Process (\d+) has ([\d.]+ [KMG]iB)")


def foreign(message: str) -> bool:
    """Whether the text quotes what a client sent, behind whatever head."""
    start = message[:_HEAD]
    return any(mark in start for mark in _FOREIGN)


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
    get = fact.get
    match fact.marker:
        case "cuda-oom":
            where = " / ".join(w for w in (f"GPU {get('gpu')}" if get("gpu") else "", ranks) if w)
            text = f"CUDA out of memory{' on ' + where if where else ''}"
            if get("wanted"):
                text += f": wanted {_short(get('wanted'))}"
            if get("free"):
                text += f", {_short(get('free'))} free"
            others = [v for k, v in fact.detail if k == "other"]
            return text + "".join(f"; process {o}" for o in others)
        case "kernel-oom":
            what = "the cgroup's limit" if "MEMCG" in get("constraint") else "RAM"
            return (
                f"the kernel's OOM killer ended {get('process') or 'a process'}:"
                f" host memory ran out ({what}), not GPU memory"
            )
        case "illegal-access" | "cuda-error":
            return f"CUDA error: {get('what')}" + (f" ({ranks})" if ranks else "")
        case "nccl-timeout":
            limit = int(get("timeout_ms") or get("ran_ms") or 0) // 1000
            op = (
                get("op").strip("_").lower().replace("_base", "").replace("allgather", "all-gather")
            )
            op = op.replace("allreduce", "all-reduce")
            return f"collective timeout {limit} s, {op} {get('seq')}"
        case "xid-fatal" | "xid":
            return f"GPU fault: Xid {get('xid')} at {get('bus')}"
        case "port-taken":
            port = get("port")
            return f"port {port} already in use" if port else "the port is already in use"
        case "watchdog":
            limit_s = get("timeout_s").rstrip(".")
            return f"watchdog timeout {limit_s} s" if limit_s else "watchdog timeout"
        case "child-crash":
            return f"{get('name') or 'a child process'} ended with exit code {get('code')}"
        case _:
            return BY_ID[fact.marker].meaning


def _short(size: str) -> str:
    """ "738.00 MiB" as "738 MiB"."""
    number, _, unit = size.partition(" ")
    return f"{float(number):.0f} {unit}" if float(number) >= 100 else f"{float(number):.4g} {unit}"
