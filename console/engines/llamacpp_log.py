"""llama.cpp's llama-server messages as facts: loading, slots, timings, acceptance.

Owns the message grammar; the head (`m.ss.ms.us`, counted from the start) is read elsewhere.
"""

from __future__ import annotations

import re
from typing import Literal

from console.engines.facts import (
    Fact,
    ListeningSeen,
    PhaseSeen,
    ReadySeen,
    SlotSeen,
    SpecSeen,
    TimingSeen,
    VersionSeen,
)
from console.model.fleet import Engine

_ORIGIN = re.compile(r"(?:(?:slot|srv|que|cmn|main|llama|common)\w* +)?\w[\w:]*: +")
_SLOT = re.compile(r"id +(\d+) \| task (-?\d+) \| ?")
_EVAL = re.compile(
    r" *(?:generation )?(prompt eval|eval|total) time = +([\d.]+) ms / +(\d+) (?:tokens|runs)"
    r"(?: +\( *[\d.]+ ms per token, +([\d.]+|inf) tokens per second\))?"
)
_PROGRESS = re.compile(
    r"prompt processing(?: progress)?,(?: n_past[^,]*,| batch[^,]*,)* n_tokens = +(\d+),"
    r"(?: n_past[^,]*,| batch[^,]*,)*"
    r" progress = ([\d.]+)(?:, t = +([\d.]+) s / ([\d.]+) tokens per second)?"
)
_LIVE = re.compile(r"n_gen = +(\d+), tg = +([\d.]+) t/s(?:, tg_3s = +([\d.]+) t/s)?")
_DRAFT = re.compile(
    r"draft acceptance(?: rate)? = +([\d.]+) \( *(\d+) accepted / +(\d+) generated\)"
    r"(?:, mean len = +([\d.]+))?"
)
_BUILD = re.compile(r"build_info: (\S+)|build: (\d+) \(")
_LISTENING = re.compile(r"listening on (?:http://)?(\S+)")

_PHASES: tuple[tuple[str, PhaseSeen], ...] = (
    ("loading model '", PhaseSeen("weights", "begin", draft=False)),
    ("loading draft model '", PhaseSeen("weights", "begin", draft=True)),
    ("initializing, n_slots", PhaseSeen("kv cache", "at")),
    ("initializing slots, n_slots", PhaseSeen("kv cache", "at")),
)
# Builds of early 2024: `INFO [ print_timings] message | tid="140" timestamp=1715000000 …`.
_FIRST = re.compile(r"(?:INFO|WARN|ERR|VERB) \[ *[\w:]+\] (.*?) \| tid=.*? timestamp=\d+")


def message(text: str) -> Fact | None:
    """The fact in a message of llama-server; None for plain text."""
    if b := _BUILD.match(text):
        return VersionSeen(Engine.LLAMACPP, b[1] or f"b{b[2]}")
    if f := _FIRST.match(text):
        text = f[1]
    body = text[m.end() :] if (m := _ORIGIN.match(text)) else text
    slot, task = 0, -1
    if s := _SLOT.match(body):
        slot, task, body = int(s[1]), int(s[2]), body[s.end() :]
        return _of_slot(slot, task, body)
    for start, phase in _PHASES:
        if body.startswith(start):
            return phase
    if body.startswith("model loaded"):
        return PhaseSeen("weights", "end", draft=False)
    if body.startswith(("listening on", "server is listening on")):
        found = _LISTENING.search(body)
        return ReadySeen(found[1].rstrip("/") if found else "")
    if body.startswith("HTTP server is listening"):
        return ListeningSeen("")  # older builds open the port before the model is loaded
    if body.startswith("HTTP server listening"):
        return ListeningSeen("")
    # Older builds print the timings below their slot's line.
    if "per second)" in body or "tokens" in body or "runs" in body:
        return _timing(-1, -1, body)
    if m := _DRAFT.match(body):
        return _spec(m, None)
    if b := _BUILD.match(body):
        return VersionSeen(Engine.LLAMACPP, b[1] or f"b{b[2]}")
    return None


def _spec(m: re.Match[str], task: int | None) -> SpecSeen:
    length = float(m[4]) if m[4] else None
    return SpecSeen(length, float(m[1]), int(m[2]), int(m[3]), task=task)


def _of_slot(slot: int, task: int, body: str) -> Fact | None:
    if timing := _timing(slot, task, body):
        return timing
    if m := _PROGRESS.match(body):
        ms = float(m[3]) * 1000 if m[3] else None
        rate = float(m[4]) if m[4] else None
        return TimingSeen("progress", slot, task, int(m[1]), ms, rate, None, float(m[2]))
    if m := _LIVE.match(body):
        window = float(m[3]) if m[3] else None
        return TimingSeen("live", slot, task, int(m[1]), None, float(m[2]), window)
    if m := _DRAFT.match(body):
        return _spec(m, task)
    if body.startswith("processing task"):
        return SlotSeen(slot, task, True)
    if body.startswith(("stop processing", "task released")):
        return SlotSeen(slot, task, False)
    return None


_KINDS: dict[str, Literal["prompt", "eval", "total"]] = {
    "prompt eval": "prompt",
    "eval": "eval",
    "total": "total",
}


def _timing(slot: int, task: int, body: str) -> TimingSeen | None:
    m = _EVAL.match(body)
    if m is None:
        return None
    rate = float(m[4]) if m[4] and m[4] != "inf" else None
    return TimingSeen(_KINDS[m[1]], slot, task, int(m[3]), float(m[2]), rate)
