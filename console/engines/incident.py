"""One failure of a server, however many lines, ranks and processes speak of it.

Owns the choice of the cause: the heaviest marker names it, signals and exit codes never
outweigh a reason. A pure fold over placed lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from console.engines.facts import ExitSeen, FailureSeen
from console.engines.failures import RAISED, marker_of, summary
from console.engines.line import Line
from console.engines.records import Placed

_EVIDENCE = 8
_FRAME = re.compile(r"\s+(\w+) \((\w+)\.py:\d+\)")
_STOPPED = (0, 143)
# Markers that only say that something failed: the exception's own words belong to them.
_NEED_WORDS = frozenset(
    {
        "child-exception",
        "engine-start",
        "engine-dead",
        "warmup-failed",
        "sigquit",
        "child-crash",
        "worker-dead",
        "rank-dead",
    }
)


@dataclass(frozen=True, slots=True)
class Incident:
    """What is known of a failure so far.

    `began` is the stamp of its first sign, `ranks` those that reported the cause in order,
    `enqueued` the last collective that each rank entered, `evidence` the lines that show it.
    """

    cause: FailureSeen
    began: str
    cause_at: str
    ranks: tuple[str, ...] = ()
    enqueued: tuple[tuple[str, int], ...] = ()
    stuck_in: str = ""
    raised: str = ""
    signals: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    records: tuple[int, ...] = ()

    @property
    def reason(self) -> str:
        """One line for a person."""
        text = summary(self.cause, ", ".join(self.ranks))
        if self.cause.marker == "port-taken" and self.cause_at:
            text += f" (bind failed at {self.cause_at[-8:]})"
        if self.raised and self.cause.marker in _NEED_WORDS:
            text += f": {self.raised}"
        if self.stuck_in:
            text += f" (forward stuck in {self.stuck_in})"
        if self.cause.marker == "watchdog" and "sigquit" in self.signals:
            text += ", then SIGQUIT"
        return text

    @property
    def remedy(self) -> str:
        """What helps, "" where nothing is known."""
        known = marker_of(self.cause).remedy
        if not self.suspect:
            return known
        first = f"look at {self.suspect} first, it never joined what the others waited in"
        return f"{first}; {known}" if known else first

    @property
    def suspect(self) -> str:
        """The rank that never joined the collective which others timed out in, or ""."""
        wanted = self.cause.get("seq")
        if self.cause.marker != "nccl-timeout" or not wanted:
            return ""
        behind = [r for r, n in self.enqueued if r not in self.ranks and n < int(wanted)]
        return behind[0] if len(behind) == 1 else ""


def grow(incident: Incident | None, placed: Placed) -> Incident | None:
    """The incident after one more line. Only a fatal marker or a bad exit begins one."""
    line, rank = placed.line, placed.owner.ranks
    fact = line.fact
    if isinstance(fact, ExitSeen) and fact.code is not None and fact.code not in _STOPPED:
        detail = (("name", fact.what), ("code", str(fact.code)))
        fact = FailureSeen("child-crash", detail)
    if isinstance(fact, FailureSeen):
        return _failed(incident, fact, placed, rank)
    if incident is None:
        return None
    if incident.cause.marker == "watchdog" and not incident.stuck_in:
        return _frame(incident, line)
    if placed.record in incident.records and RAISED.match(line.text):
        return replace(incident, raised=line.text[:200])
    return incident


def _failed(
    incident: Incident | None, fact: FailureSeen, placed: Placed, rank: str
) -> Incident | None:
    marker, at = marker_of(fact), placed.owner.at or placed.owner.outer
    if incident is None:
        if not marker.fatal or fact.get("code") == "-15":
            return None
        incident = Incident(fact, at, at)
    elif marker.weight > marker_of(incident.cause).weight:
        incident = replace(incident, cause=fact, cause_at=at, ranks=())
    elif fact.marker == incident.cause.marker:
        incident = replace(incident, cause=_merged(incident.cause, fact))
    if fact.marker == incident.cause.marker and rank and rank not in incident.ranks:
        incident = replace(incident, ranks=(*incident.ranks, rank))
    if fact.get("enqueued") and rank:
        kept = tuple(e for e in incident.enqueued if e[0] != rank)
        incident = replace(incident, enqueued=(*kept, (rank, int(fact.get("enqueued")))))
    if fact.marker in ("sigquit", "killed", "child-crash"):
        incident = replace(incident, signals=(*incident.signals, fact.marker)[-_EVIDENCE:])
    return _shown(incident, placed)


def _merged(cause: FailureSeen, again: FailureSeen) -> FailureSeen:
    """Several lines about one failure: each may give a figure that the others do not."""
    known = {name for name, _ in cause.detail}
    more = tuple(d for d in again.detail if d[0] not in known)
    return FailureSeen(cause.marker, (*cause.detail, *more)) if more else cause


def _shown(incident: Incident, placed: Placed) -> Incident:
    records = incident.records
    if placed.record not in records:
        records = (*records, placed.record)[:_EVIDENCE]
    evidence = incident.evidence
    if placed.line.text not in evidence:
        evidence = (*evidence, placed.line.text[:400])[:_EVIDENCE]
    return replace(incident, evidence=evidence, records=records)


def _frame(incident: Incident, line: Line) -> Incident:
    """The innermost frame of a stack dump, in words where it is a well-known place."""
    m = _FRAME.match(line.text)
    if m is None:
        return incident
    function, module = m[1], m[2]
    speculative = function == "verify" or "eagle" in module or "spec" in module
    return replace(
        incident, stuck_in=f"speculative {function}" if speculative else f"{function} ({module})"
    )
