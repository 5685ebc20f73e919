"""The truth table of a running server: for every variable what each source says, what is in
effect and whether that is what was wanted. Pure: readings come in, rows go out. A source that
could not be read says nothing about what it lacks; the SSH shell's own env is no source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from console.nccl.catalogue import is_allowed, is_diagnostic, lookup
from console.nccl.check import read_value
from console.nccl.version import NEWEST, Version


class Source(Enum):
    """Where a reading comes from. WANTED and RECIPE are wishes, the rest is evidence."""

    WANTED = "wanted"
    RECIPE = "launch recipe"
    LAUNCHER = "launcher"
    RANK = "rank"
    TRACKER = "resource_tracker"
    CONTAINER_CONFIG = "container configuration"
    CONTAINER_INIT = "container's first process"
    CONF_FILE = "conf file"
    ENGINE = "set by the engine"
    NCCL_LOG = "NCCL's log"


class Extent(Enum):
    """How much of a source was read. PARTLY: what is there is true, what is absent may be."""

    WHOLE = "whole"
    PARTLY = "partly readable"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Reading:
    """One source. `label` tells ranks and files apart, `reason` why it is not whole;
    `only_if_unset` are names that an ENGINE reading sets only where nothing else does."""

    source: Source
    label: str
    values: Mapping[str, str] = field(default_factory=dict)
    extent: Extent = Extent.WHOLE
    reason: str = ""
    only_if_unset: frozenset[str] = frozenset()


class CellState(Enum):
    """What a source says about one variable."""

    VALUE = "value"
    UNSET = "unset"
    UNREADABLE = "unreadable"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; `value` counts for VALUE only, `reason` for UNREADABLE."""

    source: Source
    label: str
    state: CellState
    value: str = ""
    reason: str = ""


class Verdict(Enum):
    """How what is in effect stands to what was wanted."""

    SAME = "same"
    DIFFERS = "differs"
    LOST = "lost"
    EXTRA = "extra"
    UNREADABLE = "unreadable"
    UNKNOWN = "unknown"
    UNSET = "unset"


@dataclass(frozen=True, slots=True)
class Effect:
    """What the library holds: a value, or None for its default, if `known`. `by` names the source
    that decides, `why` how, `split` the differing values of several ranks."""

    known: bool
    value: str | None = None
    by: str = ""
    why: str = ""
    split: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One variable. `diagnostic` names change what is printed, not how fast anything runs."""

    name: str
    cells: tuple[Cell, ...]
    effect: Effect
    verdict: Verdict
    diagnostic: bool


_SAYS_ONLY_WHAT_IT_HAS = frozenset({Source.NCCL_LOG, Source.ENGINE})


def cell(name: str, reading: Reading) -> Cell:
    """What one source says about `name`."""
    if name in reading.values:
        return Cell(reading.source, reading.label, CellState.VALUE, reading.values[name])
    if reading.extent is not Extent.WHOLE:
        reason = reading.reason or reading.extent.value
        return Cell(reading.source, reading.label, CellState.UNREADABLE, reason=reason)
    silent = reading.source in _SAYS_ONLY_WHAT_IT_HAS
    return Cell(reading.source, reading.label, CellState.SILENT if silent else CellState.UNSET)


def truth(readings: Sequence[Reading], version: Version = NEWEST) -> tuple[Row, ...]:
    """A row for every variable that any source names and that may be shown, tuning first."""
    names = {name for reading in readings for name in reading.values if is_allowed(name)}
    rows = [_row(name, readings, version) for name in names]
    return tuple(sorted(rows, key=lambda row: (row.diagnostic, row.name)))


def _row(name: str, readings: Sequence[Reading], version: Version) -> Row:
    cells = tuple(cell(name, reading) for reading in readings)
    effect = in_effect(name, readings)
    return Row(name, cells, effect, _verdict(name, cells, effect, version), is_diagnostic(name))


def in_effect(name: str, readings: Sequence[Reading]) -> Effect:
    """What is in effect by precedence: NCCL's own log; the ranks' environ; the resource_tracker
    child, which was started after the engine had changed its environment; the launcher with
    what the engine sets; the container; and, only where the environment holds nothing, the conf
    files in their order (NCCL_CONF_FILE or the home file, then /etc/nccl.conf)."""
    logged = _of(name, readings, Source.NCCL_LOG)
    answer = _agreed(logged, "NCCL says it read this", missing_is_unset=False)
    answer = answer or _agreed(_of(name, readings, Source.RANK), "the rank's own environment")
    if answer is None:
        gap = _gap(name, readings)
        tracker = _of(name, readings, Source.TRACKER)
        answer = _agreed(tracker, f"started after the engine's changes{gap}")
        answer = answer or _launched(name, readings, gap)
    if answer is not None and (answer.value is not None or answer.split):
        return answer
    return _from_files(name, readings, answer)


def _of(name: str, readings: Iterable[Reading], source: Source) -> list[Cell]:
    return [cell(name, reading) for reading in readings if reading.source is source]


def _agreed(cells: list[Cell], why: str, *, missing_is_unset: bool = True) -> Effect | None:
    """What cells of one kind say together; None if they leave it open."""
    held = [one for one in cells if one.state is CellState.VALUE]
    values = tuple(dict.fromkeys(one.value for one in held))
    open_cells = [one for one in cells if one.state is CellState.UNREADABLE]
    unset = [one for one in cells if one.state is CellState.UNSET]
    if len(values) > 1 or (values and unset):
        parts = (*values, "unset") if unset else values
        return Effect(True, None, held[0].source.value, "the ranks differ", parts)
    if values:
        return Effect(True, values[0], held[0].label, why)
    if unset and not open_cells and missing_is_unset:
        return Effect(True, None, unset[0].label, why)
    return None


def _gap(name: str, readings: Iterable[Reading]) -> str:
    """Why the ranks could not be asked, to name the fall-back's reason."""
    reasons = [c.reason for c in _of(name, readings, Source.RANK) if c.reason]
    return f"; the ranks: {reasons[0]}" if reasons else ""


def _launched(name: str, readings: Sequence[Reading], gap: str) -> Effect | None:
    """The launcher's environment with what the engine does to it, or the container's."""
    engine = [r for r in readings if r.source is Source.ENGINE and name in r.values]
    for reading in engine:
        if name not in reading.only_if_unset:
            return Effect(True, reading.values[name], reading.label, f"the engine sets it{gap}")
    for source, why in (
        (Source.LAUNCHER, "as the launcher was started"),
        (Source.CONTAINER_INIT, "as the container's first process was started"),
        (Source.CONTAINER_CONFIG, "as the container is configured"),
    ):
        answer = _agreed(_of(name, readings, source), why + gap)
        if answer is None:
            continue
        if answer.value is None and not answer.split and engine:
            reading = engine[0]
            return Effect(True, reading.values[name], reading.label, "the engine's default")
        return answer
    return None


def _from_files(name: str, readings: Sequence[Reading], before: Effect | None) -> Effect:
    """Conf files count where the environment is known to hold nothing; first come, first served."""
    for one in _of(name, readings, Source.CONF_FILE):
        if one.state is CellState.UNREADABLE:
            return Effect(False, by=one.label, why=f"the file could not be read: {one.reason}")
        if one.state is CellState.VALUE:
            if before is None:
                why = "the file sets it unless the environment does, which could not be read"
                return Effect(False, by=one.label, why=why)
            return Effect(True, one.value, one.label, "not in the environment, so the file counts")
    if before is not None:
        return before
    reasons = [c.reason for r in readings for c in (cell(name, r),) if c.reason]
    return Effect(False, why=reasons[0] if reasons else "no process was read")


def _verdict(name: str, cells: tuple[Cell, ...], effect: Effect, version: Version) -> Verdict:
    wanted = next((c for c in cells if c.source is Source.WANTED), None)
    wanted = wanted or next((c for c in cells if c.source is Source.RECIPE), None)
    if not effect.known:
        evidence = [c for c in cells if c.source not in (Source.WANTED, Source.RECIPE)]
        blind = any(c.state is CellState.UNREADABLE for c in evidence)
        return Verdict.UNREADABLE if blind else Verdict.UNKNOWN
    if wanted is None or wanted.state is CellState.UNREADABLE:
        return Verdict.UNKNOWN
    if effect.split:
        return Verdict.DIFFERS
    if wanted.state is CellState.VALUE:
        if effect.value is None:
            return Verdict.LOST
        same = same_reading(name, wanted.value, effect.value, version)
        return Verdict.SAME if same else Verdict.DIFFERS
    return Verdict.UNSET if effect.value is None else Verdict.EXTRA


def same_reading(name: str, one: str, other: str, version: Version = NEWEST) -> bool:
    """Whether NCCL makes the same of two values (0x10 and 16); other libraries' are compared as
    text."""
    variable = lookup(name)
    if one == other or variable is None or not variable.lives_in(version):
        return one == other
    first, second = read_value(variable, one, version), read_value(variable, other, version)
    return bool(first.reads_as) and first.reads_as == second.reads_as
