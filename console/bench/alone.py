"""Whether a run was the only one on its server.

Owns the rule for single stream: a foreign request voids a run, the console's own one-token health
probes only warn. It must never take an unread queue for an empty one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Queue:
    """Requests at one moment as the server tells them; None where it does not."""

    running: int | None
    queued: int | None

    def total(self) -> int | None:
        if self.running is None or self.queued is None:
            return None
        return self.running + self.queued


@dataclass(frozen=True, slots=True)
class Company:
    """`void`: reasons against the run; `notes`: what only warns."""

    void: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def company(before: Queue, during: Sequence[Queue], probes: int = 0) -> Company:
    """What else ran: `before` just ahead of the request, `during` sampled while it ran.

    `probes`: one-token health probes that the console itself sent during the run; each may show up
    beside the run in one sample.
    """
    void, notes = [], []
    at_start = before.total()
    if at_start:
        void.append(f"{at_start} other requests were there before the run")
    totals = [queue.total() for queue in during]
    crowded = sum(1 for total in totals if total is not None and total > 1)
    worst = max((total for total in totals if total is not None), default=0)
    if crowded > probes or worst > 2:
        void.append(f"another request ran in {crowded} of {len(totals)} samples")
    elif crowded:
        notes.append(f"a health probe ran beside the run in {crowded} of {len(totals)} samples")
    if at_start is None or not totals or None in totals:
        notes.append("the server does not always tell its queue: not proved to be alone")
    return Company(tuple(void), tuple(notes))
