"""Judges a whole source: every set value as NCCL reads it, the combinations of what holds
together, and what the loader does. Each finding carries the lines it speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from console.nccl.check import check_value
from console.nccl.finding import Finding, Origin, Severity
from console.nccl.importing.found import Found, Imported, State, conflicts
from console.nccl.rules import UNKNOWN_MACHINE, Machine, combinations
from console.nccl.version import NEWEST, Version

_MAX_JUDGED = 2_000
"""Set values of one source that are judged; beyond, the source is no settings file."""


def review(
    imported: Imported, version: Version | None = None, machine: Machine = UNKNOWN_MACHINE
) -> tuple[Finding, ...]:
    """Findings about a source in the order of its lines. The library's version is the one the
    source itself reports (a log), else `version`, else the newest known."""
    holds = imported.version or version or NEWEST
    if imported.format == "nccl.conf" and holds >= (2, 30):
        imported = _without_returns(imported)
    found = [
        *_problems(imported),
        *_values(imported, holds),
        *_combinations(imported, holds, machine),
        *_conflicts(imported),
    ]
    unique = dict.fromkeys(found)
    return tuple(sorted(unique, key=lambda f: (min((o.line for o in f.at), default=0), f.rule)))


def _without_returns(imported: Imported) -> Imported:
    """A conf file as 2.30 and later read it: carriage returns at line ends are gone."""
    found = tuple(replace(one, value=one.value.removesuffix("\r")) for one in imported.found)
    return replace(imported, found=found)


def _at(imported: Imported, lines: Iterable[int]) -> tuple[Origin, ...]:
    return tuple(Origin(imported.file, line) for line in dict.fromkeys(lines))


def _problems(imported: Imported) -> Iterator[Finding]:
    for problem in imported.problems:
        yield Finding(
            rule="loader",
            severity=problem.severity,
            names=problem.names,
            why=problem.why,
            reads_as=problem.reads_as,
            at=_at(imported, problem.lines),
        )


def _values(imported: Imported, version: Version) -> Iterator[Finding]:
    judged: dict[tuple[str, str], tuple[Finding, ...]] = {}
    for one in imported.found:
        if one.state is not State.SET or len(judged) > _MAX_JUDGED:
            continue
        key = (one.name, one.value)
        if key not in judged:
            judged[key] = check_value(one.name, one.value, version)
        for finding in judged[key]:
            yield finding.placed(_at(imported, one.lines))


def _environments(imported: Imported) -> Iterator[dict[str, Found]]:
    """What holds together: the settings without a scope, and each scope on top of them."""
    shared: dict[str, Found] = {}
    scoped: dict[str, dict[str, Found]] = {}
    for one in imported.found:
        place = scoped.setdefault(one.scope, {}) if one.scope else shared
        if one.state is State.SET and not (imported.order == "first" and one.name in place):
            place[one.name] = one
        elif one.state is State.UNSET and not one.scope:
            place.pop(one.name, None)
    if len(scoped) > _MAX_JUDGED:
        scoped = {}
    yield shared
    for own in scoped.values():
        yield shared | own


def _combinations(imported: Imported, version: Version, machine: Machine) -> Iterator[Finding]:
    for places in _environments(imported):
        env = {name: one.value for name, one in places.items()}
        for finding in combinations(env, version, machine):
            lines = [line for n in finding.names if n in places for line in places[n].lines]
            yield finding.placed(_at(imported, lines))


def _conflicts(imported: Imported) -> Iterator[Finding]:
    for conflict in conflicts(imported):
        values = ", ".join(repr(value) for value in conflict.values[:6])
        why = f"set to different values: {values}"
        if conflict.winner is not None:
            why += f"; {conflict.winner!r} holds"
        yield Finding(
            "conflict",
            Severity.NOTE,
            (conflict.name,),
            why,
            reads_as=conflict.winner or "",
            at=_at(imported, conflict.lines),
        )
