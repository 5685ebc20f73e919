"""A server's environment from State: what each source says, what is in effect, what proves it.

Pure. Turns readings that were seen into room nccl's; a source that is gone, or the log of a process
that is no longer there, is left out. Never takes absence from a source that was not read whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from console.engines.dialect import Dialect
from console.model.text import Clean
from console.nccl.allreduce import AllReduce, Path, allreduce_path
from console.nccl.rules import Machine
from console.nccl.truth import Effect, Extent, Reading, Row, Source, in_effect, truth
from console.nccl.version import NEWEST, Version, parse_version
from console.stream.fact import Completeness
from console.stream.server_events import EnvRead
from console.stream.state import Server, State

GONE = Clean("no such process or file any more")
"""Why a source that was read before says nothing now."""
_PLAN = Clean("plan")
WANTED = Clean("wanted")
"""The source that is the profile of a server, `why` says which."""
WISHES = (WANTED, _PLAN)
"""Sources that say what somebody wants, not what is."""

_SOURCES = {
    "wanted": Source.WANTED,
    "plan": Source.WANTED,
    "recipe": Source.RECIPE,
    "launcher": Source.LAUNCHER,
    "tracker": Source.TRACKER,
    "container's first process": Source.CONTAINER_INIT,
    "container's configuration": Source.CONTAINER_CONFIG,
    "nccl log": Source.NCCL_LOG,
}
_EXTENTS = {
    Completeness.WHOLE: Extent.WHOLE,
    Completeness.PARTLY: Extent.PARTLY,
    Completeness.UNREADABLE: Extent.UNREADABLE,
}
_HOME_SINCE = Version(2, 30)
_ASKED_FOR = ("1 with ", "forced to 1 with ")
_NOBODY = "NCCL_"
_TUNED = {
    f"NCCL_{name}": place
    for place, name in enumerate(
        ("PROTO", "ALGO", "P2P_LEVEL", "P2P_DISABLE", "MAX_NCHANNELS", "BUFFSIZE", "NTHREADS")
    )
}
"""No shell hands an environment on in the order in which it was typed."""


def nccl_version(cell: Server) -> Version | None:
    """The library's version, as the server's log says it."""
    return parse_version(cell.collective.version) if cell.collective is not None else None


def wanted_of(cell: Server) -> EnvRead | None:
    """What a server is wanted to run with: its profile, else a plan that was imported."""
    return cell.envs.get(WANTED) or cell.envs.get(_PLAN)


def readings(cell: Server) -> tuple[Reading, ...]:
    """What was read of a server, in the order of its precedence among conf files."""
    version = nccl_version(cell) or NEWEST
    pids = {read.pid for read in cell.envs.values() if read.source != "nccl log"}
    found: list[Reading] = []
    for read in cell.envs.values():
        source = _source_of(read.source, version)
        if source is None or read.why == GONE:
            continue
        if source is Source.NCCL_LOG and read.pid not in pids:
            continue
        if source is Source.WANTED and read is not wanted_of(cell):
            continue
        label = (
            read.source.removeprefix("conf ").removesuffix(" by passwd").removesuffix(" by HOME")
        )
        values = {str(name): str(value) for name, value in read.values}
        found.append(Reading(source, label, values, _EXTENTS[read.completeness], read.why))
    found.extend(_engine(cell))
    return tuple(sorted(found, key=_place))


def _source_of(source: str, version: Version) -> Source | None:
    if source.startswith("rank"):
        return Source.RANK
    if source.startswith("conf "):
        by = " by passwd" if version >= _HOME_SINCE else " by HOME"
        return None if source.endswith(by) else Source.CONF_FILE
    return _SOURCES.get(source)


def _place(reading: Reading) -> tuple[int, int, int, str]:
    """Wishes first; the home file before /etc; ranks by their number."""
    digits = "".join(filter(str.isdigit, reading.label))
    last = reading.label == "/etc/nccl.conf"
    return list(Source).index(reading.source), last, int(digits or 0), reading.label


def _engine(cell: Server) -> Iterator[Reading]:
    """What the engine sets by itself in this version, as far as that needs no argument."""
    seen = cell.engine
    if seen is None or not seen.version:
        return
    args = dict(cell.args.args) if cell.args is not None else {}
    values: dict[str, str] = {}
    weak: set[str] = set()
    for one in Dialect.of(seen.engine, seen.version).self_set():
        conditional = one.when and not one.when.startswith(_ASKED_FOR)
        if conditional or one.how == "removed":
            continue
        flags = [word.strip("-;").replace("-", "_") for word in one.when.split() if "--" in word]
        asked = any(args.get(Clean(flag), "").lower() == "true" for flag in flags)
        values[one.name] = "1" if asked else one.value
        if one.how == "default" and not asked:
            weak.add(one.name)
    if values:
        label = f"{seen.engine.value} {seen.version}"
        yield Reading(Source.ENGINE, label, values, only_if_unset=frozenset(weak))


def table(cell: Server) -> tuple[Row, ...]:
    """The truth table of a server."""
    return truth(readings(cell), nccl_version(cell) or NEWEST)


def effective(cell: Server) -> tuple[dict[str, str], Extent]:
    """What is in effect, what is tuned most first; WHOLE when what is not named is known to be
    unset."""
    found = readings(cell)
    names = {name for reading in _evidence(found) for name in reading.values}
    values: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (_TUNED.get(name, len(_TUNED)), name)):
        effect = in_effect(name, found)
        if effect.known and effect.value is not None:
            values[name] = effect.value
    absent: Effect = in_effect(_NOBODY, found)
    return values, Extent.WHOLE if absent.known else Extent.PARTLY


def _evidence(found: tuple[Reading, ...]) -> Iterator[Reading]:
    """Without the wishes."""
    return (one for one in found if one.source not in (Source.WANTED, Source.RECIPE))


def basis(cell: Server) -> tuple[EnvRead | None, str]:
    """The reading that decides for what a process holds, and what the ranks' readings lack."""
    reads = [read for read in cell.envs.values() if read.why != GONE]
    ranks = [read for read in reads if read.source.startswith("rank")]
    whole = [read for read in ranks if read.completeness is Completeness.WHOLE]
    lack = next((read.why for read in ranks if read.completeness is not Completeness.WHOLE), "")
    named = {read.source: read for read in reads}
    if ranks and len(whole) == len(ranks):
        return ranks[0], ""
    tracker = named.get(Clean("tracker"))
    if tracker is not None and tracker.completeness is Completeness.WHOLE:
        return tracker, lack
    return named.get(Clean("launcher")), lack


def allreduce(cell: Server) -> AllReduce:
    """Which way decode's all-reduce goes, by the log, else by the arguments."""
    seen = cell.collective
    if seen is not None and seen.path:
        return AllReduce(Path(seen.path), seen.proof, seen.line or 0)
    args: Mapping[Clean, Clean] = dict(cell.args.args) if cell.args is not None else {}
    argv = [
        f"--{name.replace('_', '-')}={value}"
        for name, value in args.items()
        if value and value.lower() != "none"
    ]
    return allreduce_path((), argv)


def machine(cell: Server, state: State) -> Machine:
    """What is known of the box that the findings depend on."""
    host = state.hosts.get(cell.listed.host) if cell.listed is not None else None
    gpus = len(host.gpus_listed) if host is not None else 0
    pcie = "PCIe-only" in allreduce(cell).proof or None
    return Machine(pcie_only=pcie, local_gpus=gpus or None)
