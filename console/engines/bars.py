"""Progress bars as they reach a log: tqdm's two shapes, alone or many in one string.

Owns reading bars. Carriage returns may be there, eaten, or several bars side by side; only
the latest state of each run is kept, and no newline is ever waited for.
"""

from __future__ import annotations

import re

from console.engines.facts import BarKind, BarSeen

_COUNT = r"(?P<done>\d+(?:\.\d+)?[kMGTP]?i?B?)/(?P<total>\d+(?:\.\d+)?[kMGTP]?i?B?)"
_TIMES = (
    r"\[(?P<elapsed>[\d:]+)<(?P<eta>[\d:?]+)(?:, *(?P<rate>[\d.?]+) ?(?P<unit>[^\],]+))?[^\]]*\]"
)
_BAR = re.compile(rf"(?P<pct>\d{{1,3}})%(?: Completed \| |\|[^|\r]{{0,200}}\| ){_COUNT} {_TIMES}")
_LONGEST = 160
_PART = re.compile(r"\s*\((?P<part>[^()]*)\)$")
_SCALE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_KINDS: tuple[tuple[str, BarKind], ...] = (
    ("shard", "shards"),
    ("loading weights", "shards"),
    ("loading safetensors", "shards"),
    ("loading checkpoint", "shards"),
    ("model streamer", "shards"),
    ("captur", "graphs"),
    ("graph", "graphs"),
    ("compil", "compile"),
    ("warmup", "compile"),
    ("autotun", "compile"),
    ("download", "download"),
    ("fetch", "download"),
    (".safetensors", "download"),
    (".gguf", "download"),
    (".bin", "download"),
    (".json", "download"),
)


def bars(text: str) -> tuple[list[tuple[str, BarSeen]], str]:
    """Bars found, each with its text, and the text that is no bar, joined.

    States of one bar that follow each other are collapsed to the last of them.
    """
    found: list[tuple[str, BarSeen]] = []
    rest: list[str] = []
    at = 0
    for m in _BAR.finditer(text):
        before, label = _before(text[at : m.start()])
        if before:
            rest.append(before)
        at = m.end()
        shown, bar = f"{label}: {m[0]}" if label else m[0], _bar(m, label)
        if found and not before and _continues(found[-1][1], bar):
            found[-1] = (shown, bar)
        else:
            found.append((shown, bar))
    if tail := text[at:].strip("\r\n "):
        rest.append(tail)
    return found, " ".join(rest)


def _continues(old: BarSeen, new: BarSeen) -> bool:
    """Whether `new` is a later state of `old`: tqdm's first, still nameless, state counts."""
    same = old.label == new.label or (not old.label and old.done == 0)
    return same and old.total == new.total and new.done >= old.done and old.part in ("", new.part)


def _before(segment: str) -> tuple[str, str]:
    """What stands between two bars: other text, and the next bar's label."""
    other, _, label = segment.rpartition("\r")
    label = label.rstrip()
    if label.endswith(":"):
        return other.strip("\r\n |"), label[:-1].strip()[-_LONGEST:]
    return segment.strip("\r\n |"), ""


def _bar(m: re.Match[str], label: str) -> BarSeen:
    part = ""
    if p := _PART.search(label):
        label = label[: p.start()].strip()
        part = p["part"].rpartition(", ")[2] if "=" not in p["part"] else ""
    folded = label.lower()
    kind: BarKind = next((k for word, k in _KINDS if word in folded), "other")
    return BarSeen(
        kind,
        label,
        _number(m["done"]),
        _number(m["total"]),
        part,
        clock_s(m["elapsed"]),
        clock_s(m["eta"]),
        _item_s(m["rate"], m["unit"]),
    )


def _number(text: str) -> float:
    digits = text.rstrip("iB")
    scale = _SCALE.get(digits[-1:], 1.0)
    return float(digits.rstrip("kMGTP")) * scale


def clock_s(text: str) -> float | None:
    """Seconds of "mm:ss" or "h:mm:ss"; None for "?" and anything else."""
    total = 0
    for field in text.split(":"):
        if not field.isdecimal():
            return None
        total = total * 60 + int(field)
    return float(total)


def _item_s(rate: str | None, unit: str | None) -> float | None:
    """Seconds an item, from "4.75s/it" or "1.05it/s"."""
    try:
        value = float(rate or "")
    except ValueError:
        return None
    if (unit or "").startswith("s/"):
        return value
    return 1.0 / value if value > 0 else None
