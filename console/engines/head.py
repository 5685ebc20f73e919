"""Takes off what wrappers and loggers put before a message, and reads it.

Sees through docker compose, kubectl, stern, journald, CRI and JSON logs, lost and kept
colour codes, and every engine's own head. Never drops a line: what it does not know stays
in the message.
"""

from __future__ import annotations

import re
from dataclasses import replace

from console.engines.json_log import json_line
from console.engines.levels import LEVEL, LEVELS
from console.engines.line import Head
from console.engines.user_heads import bare_level, bracketed, dated
from console.model.number import whole

_SGR = re.compile(r"(?:\x1b|\^\[)\[[0-9;]*[A-Za-z]")
_LOST = re.compile(r"(?:\[[0-9;]{1,6}m)(?=\(\w[\w .=]*pid=)|(?<=\))(?:\[[0-9;]{1,6}m)+")
_NAMED = re.compile(r"<(?:CSI|ESC|OSC|DCS)>|<CR>(?= *[\w%])")

_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
_DATE = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?"
_RANKS = r"(?: [A-Z][A-Z_]*\d+)"

_KUBECTL = re.compile(r"\[pod/([^/\] ]+)/([^\] ]+)\](?: |$)")
_COMPOSE = re.compile(r"([A-Za-z0-9][\w.-]*) +\|(?: |$)")
# journalctl's short, short-iso, short-precise, short-full and short-unix stamps, any language.
_JOURNAL_AT = "|".join(
    (
        _ISO,
        r"\d{10}\.\d{6}",
        rf"\S{{1,6}} {_DATE} (?:[A-Z]{{2,5}}|[+-]\d\d)",
        r" ?[^\s\[(]{2,12} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?",
        r"\[ *\d+\.\d{6}(?: <[^>]*>)?\]",
    )
)
_KERNEL = re.compile(r"\[ *(\d+\.\d{6}|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]{8} \d{4})\] +(?=\S)")
_SYSLOG = re.compile(rf"<\d{{1,3}}>1 ({_ISO}) (\S+) (\S+) (\S+) \S+ (?:-|\[.*?\]) ?")
_JOURNAL = re.compile(rf"({_JOURNAL_AT}) ([A-Za-z0-9][\w.-]*) ([^\s\[\]:]+)(?:\[(\d+)\])?: ?")
_STAMP = re.compile(rf"(?:\[({_ISO})\]|({_ISO}))(?: (?:stdout|stderr) [FP])?(?: |$)")
_STERN = re.compile(
    r"(?:[a-z0-9][a-z0-9-]* )?([a-z0-9][a-z0-9.]*-[a-z0-9.-]+) ([a-z0-9][a-z0-9.-]*) "
    rf"(?:(\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) )?"
    rf"(?=\[\d{{4}}-|{_DATE}|\(\w+ ?[\w=]* ?pid=|\[rank\d|{LEVEL}[: ]|\d+\.\d\d\.\d{{3}}\."
    rf"|\{{\"|  File \"|Traceback |[A-Z][\w -]+: +\d+%)"
)
_LABEL = re.compile(
    r"(?:\[1,(\d+)\]<std(?:out|err)>: ?|\[default(\d+)\]: ?"
    r"|(\d+): (?=[\[(]|[A-Z][\w -]+: +\d+%|Traceback ))"
)

_SGLANG = re.compile(rf"\[?((?:\d{{4}}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)({_RANKS}*)\](?: |$)")
_VLLM = re.compile(r"\((?P<name>\w+)(?P<more>[\w =,.:]*?)\bpid=(?P<pid>\d+)[^)]*\)(?: |$)")
_VLLM_STAMP = re.compile(
    rf"({LEVEL}) ((?:\d{{4}}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?)"
    r"(?: \[?[^\]\[ ]*:\d+\])?(?: |$)"
)
_TORCH = re.compile(
    r" ?(?:\[rank(\d+)\]:)?\[([EWIF])(\d{3,4} \d\d:\d\d:\d\d\.\d+) [\w.]+:\d+\](?: |$)"
)
_NCCL = re.compile(r"([\w.-]+):(\d+):\d+ \[(\d+)\] (?:[\w./]+:\d+ )?(?=NCCL )")
_TRT = re.compile(
    r"\[(\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d)\] \[TRT-LLM\](?: \[RANK (\d+)\])?(?: \[([A-Z])\])?(?: |$)"
)
_TRT_CORE = re.compile(rf"\[TensorRT-LLM\]\[({LEVEL})\] ?")
_RANKED = re.compile(r"\[rank(\d+)\]: ?")  # PyTorch before each line of an exception's report
_LLAMA = re.compile(r"(\d+\.\d\d\.\d{3}\.\d{3}) (?:([IWED]) )?(?=\S| )")
_UVICORN = re.compile(rf"({LEVEL}): +")
_MOST_CARRIERS = 3
_RANK_IN_NAME = re.compile(r"(DP|PP|TP|EP|CP)(\d+)")
_RANK_IN_ARGS = re.compile(r"\brank=(\d+)")


def plain(text: str) -> str:
    """The text without colour codes: kept ones, named ones, caret-written ones, and those that
    lost their ESC where they frame a known prefix. Anything that only looks similar stays.
    """
    if "\x1b" in text or "^[" in text:
        text = _SGR.sub("", text)
    if "<" in text and _NAMED.search(text):
        text = _NAMED.sub(lambda m: "\r" if m[0] == "<CR>" else "", text)
    if "m(" in text or ")[" in text:
        text = _LOST.sub("", text)
    return text


def unwrap(text: str) -> tuple[Head, str]:
    """Takes off the prefixes of programs that carried the line; at most four of them."""
    head = Head()
    for _ in range(4):
        taken = _one_wrapper(head, text)
        if taken is None:
            break
        head, text = taken
    return head, text


def _one_wrapper(head: Head, text: str) -> tuple[Head, str] | None:
    first = text[:1]
    if first == "[" and text[5:6] == "-" and text[11:12] == " ":
        return None  # SGLang's own head, which most lines begin with
    if first == "{":
        taken = json_line(head, text)
        return None if taken is None else (taken[0], plain(taken[1]))
    if first == "[" and (m := _KUBECTL.match(text)):
        source = f"{m[1]}/{m[2]}"
        return replace(head, source=source, wrapper="kubectl --prefix"), text[m.end() :]
    if m := _JOURNAL.match(text):
        pid = int(m[4]) if m[4] else None
        found = replace(
            head,
            outer=m[1],
            source=m[3],
            process=m[3],
            pid=pid,
            wrapper=head.wrapper or _journal(m[1]),
        )
        return found, text[m.end() :]
    if head.wrapper == "" and (m := _KERNEL.match(text)):
        return replace(head, outer=m[1], source="kernel", wrapper="dmesg"), text[m.end() :]
    if first == "<" and (m := _SYSLOG.match(text)):
        pid = whole(m[4])
        found = replace(head, outer=m[1], source=m[3], process=m[3], pid=pid, wrapper="syslog")
        return found, text[m.end() :]
    if m := _STAMP.match(text):
        wrapper = f"{head.wrapper} --timestamps".strip()
        return replace(head, outer=m[1] or m[2], wrapper=wrapper), text[m.end() :]
    if head.wrapper == "" and (m := _COMPOSE.match(text)):
        return replace(head, source=m[1], wrapper="docker compose"), text[m.end() :]
    if head.wrapper == "" and (m := _STERN.match(text)):
        found = replace(head, source=f"{m[1]}/{m[2]}", wrapper="stern", outer=m[3] or head.outer)
        return found, text[m.end() :]
    if m := _LABEL.match(text):
        number = m[1] or m[2] or m[3]
        return replace(head, source=f"task {number}", wrapper="srun"), text[m.end() :]
    return None


def _journal(at: str) -> str:
    """Which of journalctl's output forms wrote this stamp."""
    if re.match(_ISO, at):
        return "journal short-iso"
    if at[0] == "[":
        return "journal short-monotonic"
    if at[0].isdecimal() and "." in at and " " not in at:
        return "journal short-unix"
    return "journal short-full" if re.search(_DATE, at) else "journal short"


def behead(head: Head, text: str) -> tuple[Head, str]:
    """Reads the engine's own head behind the wrappers; unknown heads are left in the text."""
    first = text[:1]
    if first in "[ " or "] " in text[:40]:
        if m := _SGLANG.match(text):
            found = replace(head, at=m[1], ranks=m[2].strip(), style="sglang")
            return _after(*bracketed(found, text[m.end() :]))
        if m := _TORCH.match(text):
            ranks = f"rank {m[1]}" if m[1] else head.ranks
            found = replace(head, at=m[3], ranks=ranks, level=LEVELS[m[2]], style="torch")
            return found, text[m.end() :]
        if m := _TRT.match(text):
            ranks = f"rank {m[2]}" if m[2] else ""
            level = LEVELS.get(m[3] or "", head.level)
            return replace(head, at=m[1], ranks=ranks, level=level, style="trtllm"), text[m.end() :]
        if m := _TRT_CORE.match(text):
            return replace(head, level=LEVELS[m[1]], style="trtllm"), text[m.end() :]
        if m := _RANKED.match(text):
            return replace(head, ranks=f"rank {m[1]}"), text[m.end() :]
        return _after(*bracketed(head, text))
    if first == "(" and (m := _VLLM.match(text)):
        for _ in range(_MOST_CARRIERS):  # Ray's worker, told on by the engine's process
            nested = _VLLM.match(text, m.end())
            if nested is None:
                break
            m = nested
        return _vllm(head, m["name"], m["more"], int(m["pid"]), text[m.end() :])
    if first.isdecimal():
        return _digits(head, text)
    return _after(head, text)


def _vllm(head: Head, name: str, more: str, pid: int, rest: str) -> tuple[Head, str]:
    if m := _SGLANG.match(rest):
        ranks = m[2].strip()
        return _after(
            replace(head, process=name, pid=pid, at=m[1], ranks=ranks, style="sglang"),
            rest[m.end() :],
        )
    words = " ".join(a + b for a, b in _RANK_IN_NAME.findall(name + more))
    if not words and (m := _RANK_IN_ARGS.search(more)):
        words = f"rank {m[1]}"
    return _after(replace(head, process=name, pid=pid, ranks=words, style="vllm"), rest)


def _digits(head: Head, text: str) -> tuple[Head, str]:
    if m := _LLAMA.match(text):
        level = LEVELS.get(m[2] or "", head.level)
        return replace(head, at=m[1], level=level, style="llamacpp"), text[m.end() :]
    return _after(head, text)


def _after(head: Head, text: str) -> tuple[Head, str]:
    """A second head behind the first: vLLM's level and stamp, uvicorn's level, NCCL's."""
    if m := _VLLM_STAMP.match(text):
        style = head.style or ("users" if m[2][4] == "-" else "vllm")  # vLLM writes no year
        return replace(head, level=LEVELS[m[1]], at=m[2], style=style), text[m.end() :]
    if m := _UVICORN.match(text):
        style = head.style or "uvicorn"
        return replace(head, level=LEVELS[m[1]], style=style), text[m.end() :]
    if " NCCL " in text and (m := _NCCL.match(text)):
        device = f"GPU {m[3]}"
        return replace(
            head, process=m[1], pid=int(m[2]), ranks=head.ranks or device, style="nccl"
        ), text[m.end() :]
    return dated(head, text) if head.style == "" else bare_level(head, text)
