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


def company(
    before: Queue, during: Sequence[Queue], probes: int = 0, *, counted: bool = False
) -> Company:
    """What else ran: `before` just ahead of the request, `during` sampled while it ran.

    `probes`: one-token health probes that the console itself sent during the run; each may show up
    beside the run in one sample. `counted`: the server's totals were read on both sides, so that
    another's tokens would show there: then a request told before the run and never beside it is a
    gauge that lags (SGLang sets it every so many steps).
    """
    void, notes = list[str](), list[str]()
    at_start = before.total()
    totals = [queue.total() for queue in during]
    known = [total for total in totals if total is not None]
    crowded = sum(1 for total in known if total > 1)
    if at_start:
        said = (
            f"{at_start} other request{' was' if at_start == 1 else 's were'} told before the run"
        )
        lags = counted and known and not crowded
        (notes if lags else void).append(f"{said}, none beside it" if lags else said)
    if crowded > probes or max(known, default=0) > 2:
        void.append(f"another request ran in {crowded} of {len(totals)} samples")
    elif crowded:
        notes.append(f"a health probe ran beside the run in {crowded} of {len(totals)} samples")
    if at_start is None or not totals or None in totals:
        notes.append("the server does not always tell its queue: not proved to be alone")
    return Company(tuple(void), tuple(notes))
