"""What a benchmark or a step was given, guessed from what its session says it came to.

For sessions whose steps do not tell it, and for what a person did by a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from console.bench.promptset import DEPTHS, KINDS
from console.control.bench_request import AS_IS, DEPTH, LEVELS, PROMPTS, read_plan
from console.model.text import plain
from console.stream.run_events import BenchStarted

Value = str | int

_UNTIL = re.compile(r"(log:/.+?/|[a-z]+): ")
_HEALTH = re.compile(r"(/\S*) (\d{3}) in ")
_LEVELS = {level.value: name for name, level in reversed(LEVELS.items())}


def bench_given(started: BenchStarted) -> dict[str, Value]:
    """The arguments of a benchmark, as far as its start tells them and they are not the usual."""
    workload = {plain(name): plain(value) for name, value in started.workload}
    protocol = _LEVELS.get(plain(started.protocol), "")
    usual = read_plan({"protocol": protocol} if protocol else {}, started.arm)
    found: dict[str, Value] = {"protocol": protocol} if protocol else {}
    for name, number in (("runs", usual.protocol.runs), ("tokens", usual.sampling.max_tokens)):
        said = whole(workload.get(name, ""))
        if said and said != number:
            found[name] = said
    if workload.get("prompts") in KINDS and workload["prompts"] != PROMPTS:
        found["prompts"] = workload["prompts"]
    if workload.get("depth") in (AS_IS, *DEPTHS) and workload["depth"] != DEPTH:
        found["depth"] = workload["depth"]
    return found


def step_given(verb: str, text: str, results: Mapping[str, str]) -> Mapping[str, Value]:
    """The arguments of a step that passed, as far as its results and its text tell them."""
    match verb:
        case "health":
            found = _HEALTH.match(text)
            path = {"path": found[1]} if found and found[1] != "/health" else {}
            return {**path, **_expect(results)}
        case "tail":
            count = whole(results.get("count", ""))
            return {"lines": count} if count else {}
        case "wait":
            until = _UNTIL.match(text)
            return {"until": until[1] if until else "health", **_expect(results)}
        case "save":
            return {"file": results.get("file", "")}
        case _:
            return {}


def _expect(results: Mapping[str, str]) -> dict[str, Value]:
    code = whole(results.get("code", ""))
    return {"expect": code} if code not in (None, 200) else {}


def whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,18}", text) else None
