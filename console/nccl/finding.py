"""What the checks say: a finding with its severity and where its text stands.
Shared by check, rules, importing and review; holds no judgement of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Severity(Enum):
    """error: read otherwise than written, silently ignored, or fatal."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 note, 1 warning, 2 error."""
        return ("note", "warning", "error").index(self.value)


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in a source: lines count from 1; for a NUL-separated block, entries."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark. `reads_as` is what NCCL would use, `meant` the likely intention; both may be
    empty. `version` is the NCCL release it holds for, empty where a loader decides, not NCCL."""

    rule: str
    severity: Severity
    names: tuple[str, ...]
    why: str
    written: str = ""
    reads_as: str = ""
    meant: str = ""
    version: str = ""
    at: tuple[Origin, ...] = ()

    def placed(self, at: tuple[Origin, ...]) -> Finding:
        """The same finding with the places it speaks of."""
        return replace(self, at=at)


def worst(findings: tuple[Finding, ...]) -> Severity | None:
    """Highest severity among `findings`, None if there are none."""
    return max((f.severity for f in findings), key=lambda s: s.rank, default=None)
