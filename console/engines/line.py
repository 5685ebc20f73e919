"""One piece of a log line: who wrote it when, and what it says.

Owns Head and Line only. Never parses; stamps stay text because their zone is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.engines.facts import Fact, Severity


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before a message. Stamps are kept as written, "" where there is none."""

    at: str = ""  # the process's own stamp, local time, maybe without a year
    ranks: str = ""  # "TP0", "DP0 TP1", "rank 3"
    level: Severity | None = None
    process: str = ""
    pid: int | None = None
    source: str = ""  # compose service, pod/container or unit
    wrapper: str = ""  # what wrote the outer prefix
    outer: str = ""  # the wrapper's stamp
    style: str = ""  # which grammar the inner head follows


@dataclass(frozen=True, slots=True)
class Line:
    """One writer's piece of a physical line: head, message without it, and what it says."""

    head: Head
    text: str
    fact: Fact | None = None
