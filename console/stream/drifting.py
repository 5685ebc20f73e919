"""Drift of a server's environment: what an earlier session kept, what is now, what follows.

Pure. The watch rule compares only what was read whole; it says a drift once, and once more when
the environment is again the one of before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from console.model.clock import utc_from_text, utc_text
from console.model.text import Clean
from console.nccl.drift import Drift, Recorded, drift
from console.nccl.finding import Severity
from console.nccl.truth import Extent
from console.stream.environment import effective, wanted_of
from console.stream.events import Event
from console.stream.server_events import EnvDrifted, EnvRead
from console.stream.session_events import HistoryKnown, Noticed
from console.stream.state import Server, State

Kept = Recorded
"""What is kept of a server from one session to the next."""

TOPIC = Clean("environment")
"""The topic of the history that a drift is judged by."""

_UNSTEADY = frozenset({"SGLANG_RUN_ID", "CUDA_CACHE_PATH", "MASTER_PORT"})
"""Names that are another value at every launch."""
_IDS = ("boot_id", "container_id")
_TIMES = ("container_started", "process_started")
_EVER = datetime.max.replace(tzinfo=UTC)
_RUN = Clean("run_tok_s")
_WHOLE = Clean("whole")
_REMEDY = Clean("its environment shows all")


def history_of(server: Clean, kept: Recorded) -> HistoryKnown:
    """What was kept, as the event a session begins with; every text in it must be Clean."""
    values = [(Clean(f"env.{name}"), Clean(value)) for name, value in kept.env.items()]
    values += [(Clean(name), Clean(getattr(kept, name))) for name in _IDS if getattr(kept, name)]
    for name in _TIMES:
        moment = getattr(kept, name)
        if moment is not None:
            values.append((Clean(name), Clean(utc_text(moment))))
    figures = [(_WHOLE, float(kept.extent is Extent.WHOLE))]
    if kept.run_tok_s is not None:
        figures.append((_RUN, kept.run_tok_s))
    return HistoryKnown(server, TOPIC, tuple(figures), tuple(values))


def recorded_in(event: HistoryKnown) -> Recorded:
    """What `history_of` wrote; a time that is none is unknown."""
    values = {str(name): str(value) for name, value in event.values}
    figures = dict(event.figures)
    return Recorded(
        {name[4:]: value for name, value in values.items() if name.startswith("env.")},
        Extent.WHOLE if figures.get(_WHOLE) else Extent.PARTLY,
        values.get("boot_id", ""),
        values.get("container_id", ""),
        moment_of(values.get("container_started", "")),
        moment_of(values.get("process_started", "")),
        figures.get(_RUN),
    )


def moment_of(text: str) -> datetime | None:
    """A UTC text as a time, None where it is none."""
    try:
        return utc_from_text(text)
    except ValueError:
        return None


def recorded_now(cell: Server, state: State) -> Recorded | None:
    """How a server is now; None while none of its processes is known."""
    process = cell.process
    if process is None or process.pid is None:
        return None
    values, extent = effective(cell)
    host = state.hosts.get(cell.listed.host) if cell.listed is not None else None
    return Recorded(
        {name: value for name, value in values.items() if name not in _UNSTEADY},
        extent,
        host.machine.boot_id if host is not None and host.machine is not None else "",
        process.container,
        moment_of(process.container_started),
        moment_of(process.started),
    )


def drifted(server: Clean, kept: Recorded, now: Recorded, at: datetime) -> EnvDrifted:
    """The event that says how `now` differs from what was kept; nothing lost or changed where
    it does not."""
    found = [one for one in drift(kept, now, at) if one.severity is Severity.ERROR]
    lost = [name for one in found if one.kind == "lost" for name in one.names]
    changed = [
        (Clean(name), Clean(f"{kept.env.get(name, 'unset')} → {now.env.get(name, 'unset')}"))
        for one in found
        if one.kind in ("changed", "gained")
        for name in one.names
    ]
    text = _joined(found) if found else "as in the last good run"
    return EnvDrifted(server, tuple(map(Clean, lost)), tuple(changed), Clean(text))


def successor(kept: Recorded | None, now: Recorded, run_tok_s: float | None) -> Recorded | None:
    """What is kept from now on, None for what was kept before.

    An environment that drifted takes the place of the one before only with a valid run that is
    no slower: until then the drift goes on being said.
    """
    fresh = replace(now, run_tok_s=run_tok_s)
    if kept is None:
        return fresh
    worse = any(one.severity is Severity.ERROR for one in drift(kept, now, _EVER))
    if worse:
        faster = run_tok_s is not None and run_tok_s >= (kept.run_tok_s or 0.0)
        return fresh if faster else None
    best = max(filter(None, (run_tok_s, kept.run_tok_s)), default=None)
    env = now.env if now.extent is Extent.WHOLE else {**kept.env, **now.env}
    new = replace(fresh, env=env, extent=kept.extent, run_tok_s=best)
    return None if new == kept else new


def _joined(found: list[Drift]) -> str:
    """One line; what caused it stands once."""
    first, *others = (one.text for one in found)
    cause = first.rpartition("; ")[0]
    return "; ".join([first, *(text.removeprefix(f"{cause}; ") for text in others)])


def _asked_for(kept: Recorded, now: Recorded, wanted: EnvRead | None) -> Recorded:
    """What was kept, with what has come to be as its profile wants it: that is no drift."""
    values = {str(name): str(value) for name, value in wanted.values} if wanted else {}
    met = {name: value for name, value in values.items() if now.env.get(name) == value}
    return replace(kept, env={**kept.env, **met})


def _settled(server: Server) -> bool:
    """Whether the readings are those of one moment: their process is said after all of them."""
    process = server.process
    if process is None:
        return False
    named = (read for read in server.envs.values() if read.source not in ("wanted", "nccl log"))
    return all(read.seq < process.seq for read in named)


def drift_rule() -> Callable[[str, Server, State, int], Iterable[Event]]:
    """The watch rule; it compares again only when a reading or what was kept is another one."""
    judged: dict[str, tuple[object, ...]] = {}

    def rule(name: str, server: Server, state: State, now_us: int) -> Iterable[Event]:
        history = server.history.get(TOPIC)
        opened = state.session.opened
        if history is None or opened is None:
            return
        host = state.hosts.get(server.listed.host) if server.listed is not None else None
        machine = host.machine if host is not None else None
        facts = (server.process, history, machine, wanted_of(server))
        if not _settled(server):
            return
        before = judged.get(name)
        if before is not None and all(one is two for one, two in zip(before, facts, strict=True)):
            return
        judged[name] = facts
        now = recorded_now(server, state)
        began = moment_of(opened.utc)
        if now is None or began is None:
            return
        at = began + timedelta(microseconds=now_us)
        kept = _asked_for(recorded_in(history), now, wanted_of(server))
        event = drifted(Clean(name), kept, now, at)
        old = server.drift
        if old is None and not (event.lost or event.changed):
            return
        if old is None or (old.lost, old.changed) != (event.lost, event.changed):
            yield event
            if event.lost or event.changed:
                yield Noticed(Clean(name), Clean("error"), event.why, _REMEDY)

    return rule
