"""Messages that are not an engine's own: access lines, NCCL, TensorRT-LLM, systemd, compose.

Owns their grammar. NCCL's variables are only read here; what they mean is room nccl's.
"""

from __future__ import annotations

import re

from console.engines.facts import (
    AccessSeen,
    ExitSeen,
    Fact,
    IterationSeen,
    NcclInitSeen,
    NcclLinkSeen,
    NcclSetSeen,
    NcclVersionSeen,
    NoteSeen,
    PhaseSeen,
    VersionSeen,
)
from console.engines.line import Head
from console.model.fleet import Engine
from console.model.number import whole

_ACCESS = re.compile(r"(\S+) - \"([A-Z]+) ([^\"]+) HTTP/[\d.]+\" (\d{3})\b")
_APACHE = re.compile(r"(\S+) \S+ \S+ \[[^\]]+\] \"([A-Z]+) (\S+) HTTP/[\d.]+\" (\d{3})\b")
_SET = re.compile(r"NCCL INFO (NCCL_\w+|\w+) set by environment to (.*?)\.?$")
_INIT = re.compile(
    r"NCCL INFO (?:ncclCommInit\w* )?comm \S+ rank (\d+) nranks (\d+) cudaDev (\d+)"
    r".*Init (START|COMPLETE)"
)
_LINK = re.compile(r"NCCL INFO Channel \d+(?:/\d+)? : (\d+)\[\w+\] -> (\d+)\[\w+\].*? via (\S+)")
_NCCL_VERSION = re.compile(r"(?:NCCL INFO )?NCCL version (\d[\w.]*)")
_ITER = re.compile(r"iter = (\d+),")
_STEP = re.compile(r"elapsed_time = ([\d.]+)s,")
_SCHEDULED = re.compile(r"num_scheduled_requests: (\d+)")
_TRT_VERSION = re.compile(r"\[TensorRT-LLM\](?:\[\w+\])? TensorRT-LLM version: (\S+)")
_TRT_PHASES: tuple[tuple[str, PhaseSeen], ...] = (
    ("Prefetching ", PhaseSeen("weights", "begin", draft=False)),
    ("Model init total", PhaseSeen("weights", "end", draft=False)),
    ("[Autotuner] Autotuning process starts", PhaseSeen("compile", "begin")),
    ("Creating CUDA graph instances", PhaseSeen("graphs", "begin", draft=False)),
)
_COMPOSE_EXIT = re.compile(
    r"(?:[Cc]ontainer )?(\S+) exited (?:with code (-?\d+)|\((-?\d+)\))(?: \(restarting\))?$"
)
_LLAMA_REQUEST = re.compile(r"(?:srv +\w+: +)?(?:done )?request: ([A-Z]+) (\S+) (\S+) (\d{3})$")
_UNIT_EXIT = re.compile(r"(\S+): Main process exited, code=(\w+), status=(\d+)")
_RESTART = re.compile(r"(\S+): Scheduled restart job, restart counter is at (\d+)")
_BLOB = re.compile(r"\[(?:(\S+) )?blob data\]$")
_WRAPPERS_OWN = re.compile(  # what compose, stern, Ray and journalctl say themselves
    r"Gracefully stopping\.\.\. \(press|Attaching to |(?:[+-] )?\S+ › \S+$|-- (?:Boot|Journal|Logs)"
    r"|Hint: You are currently not seeing|\[repeated \d+x across cluster\]"
)


def access(message: str) -> AccessSeen | None:
    """An access line of uvicorn, Apache's style or llama.cpp; the client as it is written."""
    if own := _LLAMA_REQUEST.match(message):
        return AccessSeen(own[1], own[2], int(own[4]), own[3])
    m = _ACCESS.match(message) or _APACHE.match(message)
    return AccessSeen(m[2], m[3], int(m[4]), m[1]) if m else None


def nccl(head: Head, message: str) -> Fact | None:
    """NCCL INFO lines that say something to count."""
    if m := _SET.match(message):
        return NcclSetSeen(m[1], m[2].strip(), _device(head), head.process)
    if m := _INIT.match(message):
        return NcclInitSeen(int(m[1]), int(m[2]), int(m[3]), m[4] == "COMPLETE")
    if m := _LINK.match(message):
        return NcclLinkSeen(int(m[1]), int(m[2]), m[3])
    if m := _NCCL_VERSION.match(message):
        return NcclVersionSeen(m[1])
    return NoteSeen("nccl") if message.startswith("NCCL INFO ") else None


def _device(head: Head) -> int | None:
    word, _, number = head.ranks.partition(" ")
    return whole(number) if word == "GPU" else None


def trtllm(message: str) -> Fact | None:
    """The little that is read of TensorRT-LLM; offered tokens are not taken for throughput."""
    if m := _ITER.match(message):
        step, scheduled = _STEP.search(message), _SCHEDULED.search(message)
        if step is None or scheduled is None:
            return None
        return IterationSeen(int(m[1]), int(scheduled[1]), float(step[1]))
    if m := _TRT_VERSION.match(message):
        return VersionSeen(Engine.TRTLLM, m[1])
    if "Allocated " in message and "paged KV cache" in message:
        tokens = re.search(r"\((\d+)\)", message)
        return PhaseSeen("kv cache", "at", tokens=int(tokens[1]) if tokens else None)
    for start, phase in _TRT_PHASES:
        if message.startswith(start):
            return phase
    return None


def supervisor(head: Head, message: str) -> Fact | None:
    """What compose, systemd and the journal say about processes."""
    if m := _COMPOSE_EXIT.match(message):
        return ExitSeen(m[1], int(m[2] or m[3]))
    if m := _UNIT_EXIT.match(message):
        # systemd gives the signal's number where a signal ended the process.
        return ExitSeen(m[1], int(m[3]) if m[2] == "exited" else 128 + int(m[3]))
    if m := _RESTART.match(message):
        return ExitSeen(m[1], None, int(m[2]))
    if head.wrapper.startswith(("journal", "json")) and (m := _BLOB.match(message)):
        return NoteSeen(f"{m[1] or 'text'} withheld by the journal")
    if _WRAPPERS_OWN.match(message):
        return NoteSeen("wrapper")
    return None
