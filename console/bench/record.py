"""The baseline of record: is today's baseline what this box has given before?

Owns the alarm that a fresh baseline left its own history, which must be said before any
comparison: a ratio against a fallen baseline looks like a win. Assumed figures never enter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median, stdev

from console.bench.provenance import Unset, Value, show

LEAST_ENTRIES = 3
LEAST_SHARE = 0.03
SDS = 3.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One valid baseline benchmark of a host, model and workload.

    `launch`, `boot`: identify the server's launch and the host's start; "" where unknown.
    `environment`: the allow-listed variables as read, None where they could not be read.
    """

    utc: datetime
    decode_tok_s: float
    launch: str = ""
    boot: str = ""
    environment: Mapping[str, Value] | None = field(default=None)


@dataclass(frozen=True, slots=True)
class NoHistory:
    """Too few entries for an alarm: `have` of three."""

    have: int


@dataclass(frozen=True, slots=True)
class InHistory:
    """The fresh baseline lies within its history's usual range (tok/s)."""

    usual_tok_s: float
    reach_tok_s: float


@dataclass(frozen=True, slots=True)
class Departed:
    """The fresh baseline left its history; `text` is to be said before any comparison."""

    usual_tok_s: float
    reach_tok_s: float
    text: str


Standing = NoHistory | InHistory | Departed


def against_history(fresh: Entry, history: Sequence[Entry]) -> Standing:
    """A fresh baseline against earlier ones, oldest first: it departs when it is further from
    their median than max(3 %, 3 sd). Three entries at least."""
    if len(history) < LEAST_ENTRIES:
        return NoHistory(len(history))
    rates = [entry.decode_tok_s for entry in history]
    usual = median(rates)
    reach = max(LEAST_SHARE * usual, SDS * stdev(rates))
    if abs(fresh.decode_tok_s - usual) <= reach:
        return InHistory(usual, reach)
    last = history[-1]
    days = (fresh.utc - last.utc).days
    ago = f"{days} days ago" if days > 1 else "a day ago" if days else "today"
    said = [f"baseline {fresh.decode_tok_s:.1f} tok/s, {usual:.1f} usual (last {ago})"]
    if last.boot and fresh.boot and last.boot != fresh.boot:
        said.append("host rebooted since")
    elif last.launch and fresh.launch and last.launch != fresh.launch:
        said.append("server restarted since")
    said += _changed(last, fresh)
    return Departed(usual, reach, "; ".join(said))


def _changed(last: Entry, fresh: Entry) -> list[str]:
    """Variables that changed: the first suspects. "Could not be read" is said, not guessed."""
    if last.environment is None or fresh.environment is None:
        return ["environment not read on both occasions"]
    names = sorted({*last.environment, *fresh.environment})
    found = []
    for name in names:
        old, new = last.environment.get(name, Unset()), fresh.environment.get(name, Unset())
        if old != new:
            found.append(f"{name} {show(old)} -> {show(new)}")
    return found


def stale(fresh_launch: str, fresh_boot: str, last: Entry) -> str | None:
    """Why an old baseline must be measured again before it may serve, or None."""
    if last.boot and fresh_boot and last.boot != fresh_boot:
        return "stale baseline: the host was rebooted since"
    if last.launch and fresh_launch and last.launch != fresh_launch:
        return "stale baseline: the server was started again since"
    return None
