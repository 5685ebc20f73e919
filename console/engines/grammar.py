"""From one physical log line to what its writers said.

Owns the order in which heads, bars and message grammars are tried. A line may hold several
writers' pieces; text that no grammar knows stays text. Arbitrary input never raises.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from console.engines import llamacpp_log, other_logs, sglang_log, vllm_log
from console.engines.bars import bars
from console.engines.facts import DecodeSeen, Fact
from console.engines.failures import failure, foreign
from console.engines.head import behead, plain, unwrap
from console.engines.line import Head, Line

# The commonest line of all, in one match; every other shape takes the general way, and a
# property test holds both to the same answer.
_DECODE = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)(?: ([A-Z_0-9 ]+))?\] "
    r"(Decode batch[.,]?(?: \[(\d+)\],?)? #running-req: (\d+), #token: (\d+), "
    r"token usage: (\d+\.\d+), (?:accept len: (\d+\.\d+), )?(?:accept rate: (\d+\.\d+), )?"
    r"(?:(?:cuda|cpu|npu|musa) graph: (True|False), )?"
    r"gen throughput \(token/s\): (\d+\.\d+), #queue-req: (\d+)(?:, )?)$"
).match

_INNER = re.compile(
    r"\[(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [A-Z][A-Z_]*\d+)*\] "
    r"|(?:rank\d+\]:\[)?[EWIF]\d{3,4} \d\d:\d\d:\d\d\.\d+ "
    r"|\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[TRT-LLM\])"
    r"|\((?:APIServer|ApiServer|EngineCore|Worker|VllmWorker|RayWorker)[\w =]*pid=\d+[^)]*\) "
)
_CARRIES = re.compile(r"(?:\(\w+ pid=\d+[^)]*\) ?)+$")  # Ray's prefix before another's own head
_INNER_NCCL = re.compile(
    r"(?:(?<=\s)|(?<=[\]\)]))[\w.-]+:\d+:\d+ \[\d+\] (?:[\w./]+:\d+ )?NCCL (?:INFO|WARN) "
)
_BATCH_INSIDE = re.compile(r"\b(?:Decode|Prefill) batch[.,]? ")
_ABSURD = re.compile(r"\d{100,}")
"""What is no number of anything: the interpreter itself refuses to read thousands of digits."""
_LONG = 300
"""In a shorter line every number can be read; most lines are, and cost no look."""
_HTTP = re.compile(r'"[A-Z]+ /|request: [A-Z]+ /')


def parse_line(text: str) -> tuple[Line, ...]:
    """The pieces of one line (without its newline), in order; () for no text at all.

    A piece without a known message has fact None. Bars glued together or separated by
    carriage returns give one piece per bar, the latest state of each.
    """
    if len(text) > _LONG:
        text = _ABSURD.sub("…", text)
    if m := _DECODE(text):
        at, ranks, message, *fields = m.groups()
        return (Line(_sglang_head(at, ranks or ""), message, _decode(fields)),)
    return general(text)


@lru_cache(maxsize=64)
def _sglang_head(at: str, ranks: str) -> Head:
    """Several lines share a second; a head is frozen, so they may share it too."""
    return Head(at, ranks, None, "", None, "", "", "", "sglang")


def _decode(fields: list[str]) -> DecodeSeen:
    iteration, running, tokens, usage, length, rate, graph, speed, queue = fields
    return DecodeSeen(
        int(running),
        int(tokens),
        float(usage),
        float(length) if length else None,
        float(rate) if rate else None,
        float(speed),
        int(queue),
        graph == "True" if graph else None,
        int(iteration) if iteration else None,
    )


def general(text: str) -> tuple[Line, ...]:
    """What `parse_line` does when the short way does not fit."""
    if not text:
        return ()
    outer, rest = unwrap(plain(text))
    if not rest.strip("\r\n "):
        return (Line(outer, ""),)
    if outer.wrapper and (m := _DECODE(rest)):
        at, ranks, message, *fields = m.groups()
        head = replace(outer, at=at, ranks=ranks or "", style="sglang")
        return (Line(head, message, _decode(fields)),)
    found: list[Line] = []
    for text_line in rest.split("\n"):  # a JSON log may carry a whole traceback in one line
        for piece in _pieces(text_line):
            found += _piece(outer, piece)
    return tuple(found)


def _pieces(text: str) -> list[str]:
    """Cuts a line where another writer's head stands in its middle."""
    if text.find("[", 1) < 0 and text.find("(", 1) < 0:
        return [text]
    if foreign(text):
        return [text]
    heads = [m.span() for m in _INNER.finditer(text)]
    cuts = [start for start, _ in heads]
    if " NCCL " in text:
        # A stamp right before NCCL's own head belongs to it.
        ends = {end for _, end in heads}
        cuts += [m.start() for m in _INNER_NCCL.finditer(text) if m.start() not in ends]
        cuts.sort()
    if cuts and cuts[0] == 0 and len(cuts) > 1 and _CARRIES.match(text[: cuts[1]]):
        del cuts[1]
    if not cuts or cuts == [0]:
        return [text]
    if cuts[0] != 0:
        cuts.insert(0, 0)
    pieces = [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]
    return [p for p in pieces if p.strip()]


def _piece(outer: Head, text: str) -> list[Line]:
    head, message = behead(outer, text)
    if "%" in message and ("|" in message):
        found, rest = bars(message)
        if found:
            lines = [Line(head, shown, bar) for shown, bar in found]
            return lines + ([Line(head, rest, _fact(head, rest))] if rest else [])
    message = message.strip("\r\n")
    if " batch" in message and (m := _BATCH_INSIDE.search(message)) and not foreign(message):
        # A user's own logging format: the message is known even where its head is not.
        message = message[m.start() :]
    return [Line(head, message, _fact(head, message))]


def _fact(head: Head, message: str) -> Fact | None:
    if not message:
        return None
    if _HTTP.search(message) and (seen := other_logs.access(message)):
        return seen
    if known := sglang_log.message(message):
        return _as_ready(head, message, known)
    if failed := failure(message):
        return failed
    if head.style == "nccl" or message.startswith("NCCL "):
        return other_logs.nccl(head, message)
    if head.style == "trtllm" or message.startswith("[TensorRT-LLM]"):
        return other_logs.trtllm(message)
    return (
        vllm_log.message(message)
        or llamacpp_log.message(message)
        or other_logs.supervisor(head, message)
    )


def _as_ready(head: Head, message: str, seen: Fact) -> Fact:
    """uvicorn's "startup complete" is the end for vLLM, but not for SGLang."""
    if head.style == "vllm" and vllm_log.ready(message):
        return vllm_log.ready_fact()
    return seen
