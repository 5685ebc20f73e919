"""Which engine wrote a log line.

Owns that judgement for single lines only; HTTP answers are judged in `detect`.
"""

from __future__ import annotations

from console.engines.facts import (
    ArgsSeen,
    DecodeSeen,
    IterationSeen,
    PrefillSeen,
    StatsSeen,
    TimingSeen,
    VersionSeen,
)
from console.engines.line import Line
from console.model.fleet import Engine

_STYLES = {
    "sglang": Engine.SGLANG,
    "vllm": Engine.VLLM,
    "llamacpp": Engine.LLAMACPP,
    "trtllm": Engine.TRTLLM,
}


def speaks(line: Line) -> Engine | None:
    """The engine, where head or message is its own; None for wrappers, NCCL and the like."""
    match line.fact:
        case DecodeSeen() | PrefillSeen():
            return Engine.SGLANG
        case StatsSeen():
            return Engine.VLLM
        case TimingSeen():
            return Engine.LLAMACPP
        case IterationSeen():
            return Engine.TRTLLM
        case VersionSeen(engine=name):
            return name
        case ArgsSeen(whole=whole, version=number):
            return Engine.VLLM if number or not whole else Engine.SGLANG
        case _:
            return _STYLES.get(line.head.style)
