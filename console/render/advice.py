"""What the environments come to in a word, and what to do next: verbs, in the order of their use.

Pure: from State alone. Knows no key and no screen; judges nothing that room nccl or a watch rule
has not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from console.model.fleet import Arm
from console.model.palette import Role
from console.model.span import Span, Spans
from console.nccl.truth import Verdict
from console.render.label import label
from console.render.standings import UP, running_arm, standing
from console.render.units import EMPTY, UNKNOWN
from console.stream.environment import GONE, WISHES, table, wanted_of
from console.stream.fact import Completeness
from console.stream.state import Server, State

MOST_NAMED = 2
_WORDS = ((Verdict.LOST, "✗", "lost"), (Verdict.DIFFERS, "≠", "differ"))

Step = tuple[str, str]
"""A verb, and what it would do now."""


def env_spans(server: Server) -> Spans:
    """`✗ 6 lost`, `≠ 1 differ`, `✓`; `?` when it was not read, `–` with nothing to hold it to."""
    drift = server.drift
    if drift is not None and (drift.lost or drift.changed):
        if drift.lost:
            return (Span(f"✗ {len(drift.lost)} lost", Role.ERROR),)
        return (Span(f"≠ {len(drift.changed)} differ", Role.ERROR),)
    if not _read(server):
        return (Span(UNKNOWN, Role.DIM),)
    if wanted_of(server) is None:
        held = drift is not None or "environment" in server.history
        return (Span("✓", Role.GOOD),) if held else (Span(EMPTY, Role.DIM),)
    rows = [row for row in table(server) if row.verdict in _JUDGED]
    for verdict, shape, word in _WORDS:
        found = sum(row.verdict is verdict for row in rows)
        if found:
            return (Span(f"{shape} {found} {word}", Role.ERROR),)
    if any(row.verdict is Verdict.UNREADABLE for row in rows):
        return (Span("? unreadable", Role.WARNING),)
    return (Span("✓", Role.GOOD),)


_JUDGED = (Verdict.LOST, Verdict.DIFFERS, Verdict.UNREADABLE, Verdict.SAME)


def env_problems(state: State) -> tuple[str, ...]:
    """A sentence for each server that lacks what it is wanted to have or had before; of none that
    is being changed."""
    found: list[str] = []
    changing = _changing(state)
    for name, server in state.servers.items():
        drift = server.drift
        if _in(server, changing):
            continue
        if drift is not None and (drift.lost or drift.changed):
            found.append(f"{label(name)}: {label(drift.why)}")
        elif _read(server) and wanted_of(server) is not None:
            found.extend(_missing(name, server))
    return tuple(found)


def _missing(name: str, server: Server) -> Iterator[str]:
    wanted = wanted_of(server)
    gone = {row.name for row in table(server) if row.verdict in (Verdict.LOST, Verdict.DIFFERS)}
    if wanted is not None and gone:
        named = [f"{name}={value}" for name, value in wanted.values if name in gone]
        more = f" and {len(gone) - MOST_NAMED} more" if len(gone) > MOST_NAMED else ""
        told = label(" ".join(named[:MOST_NAMED]))
        yield f"{label(name)} runs without {told}{more} of its profile"


def swap_to(state: State, selected: str) -> str:
    """The server that a swap is to start: the selected one, or the only other of its slot where the
    selected one is up."""
    server = state.servers.get(selected)
    if server is None or server.listed is None or standing(server) not in UP:
        return selected
    others = beside(state, selected)
    return others[0] if len(others) == 1 else selected


def beside(state: State, name: str) -> list[str]:
    """The other servers of a server's slot."""
    server = state.servers.get(name)
    if server is None or server.listed is None:
        return []
    slot = {str(server.listed.slot)}
    return [other for other, its in state.servers.items() if other != name and _in(its, slot)]


def next_steps(state: State, selected: str) -> tuple[Step, ...]:
    """What leads on from here, most urgent first; nothing when nothing does."""
    server = state.servers.get(selected)
    if server is None:
        return ()
    found: list[Step] = []
    if env_problems(state):
        found.append(("mode.environment", "see what is missing"))
    if _in(server, _changing(state)):
        return tuple(found)
    up = standing(server) in UP
    arm = running_arm(server)
    if up and not _read(server):
        found.append(("env", "read its environment"))
    measured = {
        bench.started.arm
        for bench in state.benches.values()
        if bench.started is not None and bench.finished is not None and bench.finished.valid
    }
    running = any(bench.finished is None for bench in state.benches.values())
    if up and not running and _read(server) and any(_missing(selected, server)):
        found.append(("restart", "restart it with its profile"))
    if running:
        found.append(("bench.stop", "end the benchmark"))
    elif up and arm is not None and arm not in measured:
        found.append(("bench", f"measure it ({arm.value})"))
    if measured >= {Arm.BASELINE, Arm.SPECULATIVE} and not state.verdicts:
        found.append(("compare", "compare the arms"))
    elif len(measured) == 1 and not running:
        other = swap_to(state, selected)
        listed = state.servers[other].listed
        if (
            listed is not None
            and listed.arm not in measured
            and standing(state.servers[other]) not in UP
        ):
            found.append(("swap", f"swap arms to {label(other)}, then measure it"))
    return tuple(found)


def _changing(state: State) -> set[str]:
    """The slots that an act has now: what was read of their servers is about to be past."""
    return {
        act.requested.slot
        for act in state.acts.values()
        if act.requested is not None and act.finished is None and act.refused is None
    }


def _in(server: Server, slots: set[str]) -> bool:
    return server.listed is not None and server.listed.slot in slots


def _read(server: Server) -> bool:
    """Whether any source but a wish was read."""
    return any(
        read.source not in WISHES
        and read.why != GONE
        and read.completeness is not Completeness.UNREADABLE
        for read in server.envs.values()
    )
