"""What importing hands over: every place where an NCCL_* name got, may get or lost a value, with
its lines, and what the loader (shell, docker, systemd ...) would say. Judges no value; nothing in
a source is ever run or expanded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from console.nccl.finding import Severity
from console.nccl.version import Version

NAME = re.compile(r"NCCL_[A-Z0-9_]+")
PAIR = re.compile(r"(?<![A-Za-z0-9_])NCCL_[A-Z0-9_]+=")
PLACEHOLDER = re.compile(
    r"<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]|\.{3,}|…|x{3,}|\?+|\*+|[^\x00-\x7f]+"
    r"|(?:your|my)[-_ ].*|tbd|todo|changeme",
    re.IGNORECASE,
)
TEMPLATE = re.compile(r"\{\{.{0,400}?\}\}|\{%.{0,400}?%\}|<%.{0,400}?%>", re.DOTALL)
MAX_FOUND = 20_000
"""Places kept of one source; what lies beyond is counted, not read."""


class State(Enum):
    """What a place does to its name."""

    SET = "set"
    COMMENTED = "commented"
    OLD = "old"
    UNRESOLVED = "unresolved"
    UNSET = "unset"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Found:
    """One place. `value` is what the loader hands over, byte for byte; `raw` the text that would
    need an expansion, `default` a hint from it. `scope` is empty for what holds on, else names
    the command or service it holds for; `order` counts what a loader applies one after another."""

    name: str
    state: State
    lines: tuple[int, ...]
    value: str = ""
    raw: str = ""
    default: str | None = None
    scope: str = ""
    why: str = ""
    target: str = ""
    via: str = ""
    expands: tuple[str, ...] = ()
    from_caller: bool = False
    conditional: bool = False
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """What the loader does to a line that its writer hardly meant."""

    severity: Severity
    names: tuple[str, ...]
    lines: tuple[int, ...]
    why: str
    reads_as: str = ""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A file or object named by the source that may hold more settings; it is not read."""

    what: str
    line: int


Item = Found | Problem | Elsewhere


@dataclass(frozen=True, slots=True)
class Imported:
    """All that a source says. `winner` of a name: "first", "last" or none, by the loader.
    `unreadable`: why absent names are unknown rather than unset; empty if they are unset."""

    file: str
    format: str
    found: tuple[Found, ...] = ()
    problems: tuple[Problem, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    order: str = ""
    version: Version | None = None
    unreadable: str = ""
    reset_lines: tuple[int, ...] = ()
    dropped: int = 0

    def values(self) -> dict[str, str]:
        """The set values, where a name has several the one the loader would take, else the last
        one written. What the operator picks differently is up to the caller."""
        answer: dict[str, str] = {}
        for one in self.found:
            if one.state is State.SET and not (self.order == "first" and one.name in answer):
                answer[one.name] = one.value
            elif one.state is State.UNSET:
                answer.pop(one.name, None)
        return answer


@dataclass(frozen=True, slots=True)
class Conflict:
    """A name with several set values. `winner` only where the loader itself decides."""

    name: str
    values: tuple[str, ...]
    lines: tuple[int, ...]
    winner: str | None


def conflicts(imported: Imported) -> tuple[Conflict, ...]:
    """Names that are set to different values, in the order of the source."""
    by_name: dict[str, list[Found]] = {}
    for one in imported.found:
        if one.state is State.SET:
            by_name.setdefault(one.name, []).append(one)
    answer = []
    for name, places in by_name.items():
        values = tuple(dict.fromkeys(one.value for one in places))
        if len(values) < 2:
            continue
        one_scope = len({one.scope for one in places}) == 1
        ordered = one_scope and not any(one.conditional for one in places)
        same_target = len({one.target for one in places}) == 1
        winner = None
        if imported.order and ordered and same_target:
            winner = values[0] if imported.order == "first" else places[-1].value
        lines = tuple(line for one in places for line in one.lines)
        answer.append(Conflict(name, values, lines, winner))
    return tuple(answer)


@dataclass(slots=True)
class Context:
    """How a fragment is to be read: `loose` takes bare assignments in documents as settings;
    `scope`, `target`, `via` are stamped on what is found; `depth` bounds nesting."""

    loose: bool = False
    dialect: str = "sh"
    scope: str = ""
    target: str = ""
    via: str = ""
    depth: int = 0
    conditional: bool = False
    hops: int = 0

    def deeper(self, *, loose: bool | None = None, via: str | None = None) -> Context:
        """The context of a string inside a string."""
        return replace(
            self,
            depth=self.depth + 1,
            loose=self.loose if loose is None else loose,
            via=self.via if via is None else via,
        )


MAX_DEPTH = 4


def restate(items: Iterable[Item], state: State) -> Iterator[Found]:
    """The found places with another state (commented, old); problems vanish with it."""
    for item in items:
        if isinstance(item, Found) and (item.value or item.raw or item.state is State.SET):
            value = item.value or item.raw
            yield replace(item, state=state, value=value, raw="", default=None, why="")


def lose(items: Iterable[Item], why: str) -> Iterator[Item]:
    """Set places that never arrive, for the reason given; those with a target file do."""
    for item in items:
        if isinstance(item, Found) and item.state is State.SET and not item.target:
            yield lost(item.name, item.value, item.lines, why)
            yield Problem(Severity.WARNING, (item.name,), item.lines, why)
        elif isinstance(item, Elsewhere) or (isinstance(item, Found) and item.target):
            yield item


def lost(name: str, value: str, lines: tuple[int, ...], why: str) -> Found:
    """A written value that never arrives."""
    return Found(name, State.LOST, lines, value=value, why=why)


def refused(name: str, value: str, lines: tuple[int, ...], why: str) -> Iterator[Item]:
    """A written value that the loader rejects or drops, with the error it deserves."""
    yield lost(name, value, lines, why)
    yield Problem(Severity.ERROR, (name,), lines, why)
