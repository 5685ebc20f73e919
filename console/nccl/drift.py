"""Drift: what changed since a server's environment was last recorded, and the restart that
explains it. Pure comparison of two records; asks no clock and reads no process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from console.nccl.catalogue import is_allowed, is_diagnostic
from console.nccl.finding import Severity
from console.nccl.truth import Extent

_SHOWN = 2


@dataclass(frozen=True, slots=True)
class Recorded:
    """A server at one time. Times are UTC, None where unknown; ids are empty where there is none.
    `run_tok_s` is the decode rate of the run made with this environment, if one was made."""

    env: Mapping[str, str] = field(default_factory=dict)
    extent: Extent = Extent.WHOLE
    boot_id: str = ""
    container_id: str = ""
    container_started: datetime | None = None
    process_started: datetime | None = None
    run_tok_s: float | None = None


@dataclass(frozen=True, slots=True)
class Drift:
    """One finding. `kind` is lost, changed, gained, unreadable or restarted."""

    kind: str
    severity: Severity
    names: tuple[str, ...]
    text: str


def drift(last: Recorded, now: Recorded, at: datetime) -> tuple[Drift, ...]:
    """Findings at the time `at`, worst first: lost, changed, gained variables (errors), what could
    not be read (warning), and a restart that changed nothing (note)."""
    cause = _cause(last, now, at)
    since = ""
    if last.run_tok_s is not None:
        since = f" since the run of {last.run_tok_s:.1f} tok/s"
    before, after = _tuning(last.env), _tuning(now.env)
    absent = [name for name in before if name not in after]
    answer: list[Drift] = []
    if absent and now.extent is Extent.WHOLE:
        answer.append(_say("lost", absent, cause, "lost" + since))
    changed = [
        f"{n} {before[n]} -> {after[n]}" for n in before if after.get(n, before[n]) != before[n]
    ]
    if changed:
        names = [n for n in before if after.get(n, before[n]) != before[n]]
        answer.append(_say("changed", names, cause, "changed" + since, changed))
    gained = [name for name in after if name not in before]
    if gained and last.extent is Extent.WHOLE:
        answer.append(_say("gained", gained, cause, "new" + since))
    if absent and now.extent is not Extent.WHOLE:
        text = f"{_listed(absent)} could not be read: {now.extent.value}, so not known to be lost"
        answer.append(Drift("unreadable", Severity.WARNING, tuple(absent), _joined(cause, text)))
    if not answer and cause:
        answer.append(Drift("restarted", Severity.NOTE, (), f"{cause}; nothing else changed"))
    return tuple(answer)


def _tuning(env: Mapping[str, str]) -> dict[str, str]:
    return {n: v for n, v in env.items() if is_allowed(n) and not is_diagnostic(n)}


def _say(
    kind: str, names: list[str], cause: str, what: str, shown: list[str] | None = None
) -> Drift:
    text = _joined(cause, f"{_listed(shown or names)} {what}")
    return Drift(kind, Severity.ERROR, tuple(names), text)


def _joined(cause: str, text: str) -> str:
    return f"{cause}; {text}" if cause else text


def _listed(names: Iterable[str]) -> str:
    """`A`, `A and B`, or `A, B and 4 more`."""
    parts = list(names)
    if len(parts) <= _SHOWN:
        return " and ".join(parts)
    if len(parts) == _SHOWN + 1:
        return f"{parts[0]}, {parts[1]} and {parts[2]}"
    return f"{', '.join(parts[:_SHOWN])} and {len(parts) - _SHOWN} more"


def _cause(last: Recorded, now: Recorded, at: datetime) -> str:
    """The restart between the two records, the most far-reaching one: host, container, server."""
    if last.boot_id and now.boot_id and last.boot_id != now.boot_id:
        return "host rebooted" + _ago(now.container_started or now.process_started, at)
    if now.container_id and last.container_id and now.container_id != last.container_id:
        return "container replaced" + _ago(now.container_started, at)
    if _later(last.container_started, now.container_started):
        return "container restarted" + _ago(now.container_started, at)
    if _later(last.process_started, now.process_started):
        return "server restarted" + _ago(now.process_started, at)
    return ""


def _later(before: datetime | None, after: datetime | None) -> bool:
    return before is not None and after is not None and after - before > timedelta(seconds=2)


def _ago(moment: datetime | None, at: datetime) -> str:
    """` 3 days ago`, ` 5 hours ago`, ` 12 minutes ago`; empty if unknown or ahead of `at`."""
    if moment is None or moment > at:
        return ""
    minutes = int((at - moment).total_seconds() // 60)
    for size, word in ((1440, "day"), (60, "hour"), (1, "minute")):
        count = minutes // size
        if count:
            return f" {count} {word}{'s' if count > 1 else ''} ago"
    return " just now"
