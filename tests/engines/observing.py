"""What the engines room makes of a whole log, gathered for comparison with a case's words."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.engines.arm import Running
from console.engines.facts import DecodeSeen, IterationSeen, SpecSeen, StatsSeen, TimingSeen
from console.engines.grammar import parse_line
from console.engines.incident import Incident, grow
from console.engines.line import Line
from console.engines.load import Load, advance
from console.engines.rates import Judged, Rates
from console.engines.records import Placed, Records
from console.engines.severity import severity

HERE = Path(__file__).parent
CASES = HERE / "cases"
CAPTURES = HERE / "captures"
_GRAVITY = ("debug", "info", "warning", "error")


@dataclass
class Observed:
    """Everything that follows from the lines alone."""

    lines: list[Line] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)
    rates: list[Judged] = field(default_factory=list)
    accept_len: list[float] = field(default_factory=list)
    accept_rate: list[float] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    severity: str = "debug"
    load: Load = field(default_factory=Load)
    incident: Incident | None = None

    @property
    def tok_s(self) -> list[float]:
        return [r.tok_s for r in self.rates]

    @property
    def unreliable(self) -> list[float]:
        return [r.tok_s for r in self.rates if r.doubt]

    def facts(self, kind: type) -> list[Any]:
        return [line.fact for line in self.lines if isinstance(line.fact, kind)]

    @property
    def arm(self) -> Running | None:
        return self.load.running


def observe(lines: Iterable[str], now_us: int = 0) -> Observed:
    """Feeds whole lines, without their newline, through the room."""
    seen, records, rates = Observed(), Records(), Rates()
    for text in lines:
        for line in parse_line(text):
            placed = records.add(line)
            seen.lines.append(placed.line)
            seen.placed.append(placed)
            if (judged := rates.add(placed.line)) is not None:
                seen.rates.append(judged)
            _count(seen, line)
            seen.load = advance(seen.load, placed, now_us)
            seen.incident = grow(seen.incident, placed)
    return seen


def _count(seen: Observed, line: Line) -> None:
    seen.severity = max(seen.severity, severity(line), key=_GRAVITY.index)
    match line.fact:
        case DecodeSeen() as fact:
            seen.running.append(fact.running)
            if fact.accept_len is not None:
                seen.accept_len.append(fact.accept_len)
            if fact.accept_rate is not None:
                seen.accept_rate.append(fact.accept_rate)
        case IterationSeen() as fact:
            seen.running.append(fact.running)
        case SpecSeen() as fact if fact.accept_len is not None:
            seen.accept_len.append(fact.accept_len)
        case StatsSeen() | TimingSeen() | _:
            pass


def case(number: str) -> list[str]:
    """The lines of a case by its number."""
    (path,) = CASES.glob(f"{number}-*.txt")
    return path.read_bytes().decode("utf-8").split("\n")


def expected(number: str) -> dict[str, Any]:
    """The settled values of a case's `.expect.md`."""
    (path,) = CASES.glob(f"{number}-*.expect.md")
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text.partition("```toml\n")[2].partition("```")[0])


def capture(name: str) -> str:
    """A real server's log or answer."""
    return (CAPTURES / name).read_bytes().decode("utf-8")
