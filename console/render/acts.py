"""An act under way or just ended, in lines: phase, time gone, load expected, way back; and all acts
of a session for its chronicle.

Pure text with roles from State and the time. Never says more of an end than its event does.
"""

from __future__ import annotations

from collections.abc import Iterator

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.label import label
from console.render.loading import load_lines, loading
from console.render.spans import fitted, joined, wrapped
from console.render.units import clock, duration
from console.stream.state import Act, State

SHOWN_US = 60_000_000
"""How long the end of an act stands where the act stood."""

_LEAD = 8
_ENDS: dict[str, tuple[str, Role]] = {
    "done": ("✓", Role.GOOD),
    "rolled back": ("↶", Role.WARNING),
    "up, but not as asked": ("!", Role.WARNING),
    "interrupted": ("!", Role.WARNING),
}
_FAILED = ("✗", Role.ERROR)


def shown_act(state: State, now_us: int) -> Act | None:
    """The act a person wants to see: the newest under way, else the one that ended just now and
    that no verdict has followed."""
    begun = [act for act in state.acts.values() if act.requested is not None]
    going = [act for act in begun if act.finished is None and act.refused is None]
    if going:
        return going[-1]
    told = max((verdict.seq for verdict in state.verdicts), default=-1)
    ended = [
        act
        for act in begun
        if act.finished and now_us - act.finished.t_us < SHOWN_US and act.finished.seq > told
    ]
    return ended[-1] if ended else None


def failed_act(state: State) -> Act | None:
    """The newest act that ended, where it did not end as it was meant to."""
    ended = [act for act in state.acts.values() if act.finished is not None]
    if not ended:
        return None
    last = max(ended, key=lambda act: act.finished.seq if act.finished else 0)
    return last if last.finished and last.finished.outcome != "done" else None


def act_title(act: Act) -> tuple[Spans, Spans]:
    """What stands in the frame of its pane: the act, and the host's slot it has."""
    asked = act.requested
    if asked is None:
        return (Span("Act", Role.TITLE),), ()
    where = label(asked.slot or asked.host)
    name = Span(f"  {label(asked.verb)} {label(asked.server)}", Role.STRONG)
    return (Span("Act", Role.TITLE), name), (Span(where, Role.DIM),) if where else ()


def act_lines(state: State, act: Act, now_us: int, room: int, most: int) -> tuple[Spans, ...]:
    """At most `most` lines of `room` cells: how far it is first, how it is undone last."""
    undo = _undo(act)
    free = max(0, most - 1 - len(undo))
    body = _load(state, act, now_us, room)[:free]
    if not body:
        body = _said(act, room, free)
    return tuple(fitted(line, room) for line in (_far(act, now_us), *body, *undo)[:most])


def act_entries(act: Act) -> Iterator[tuple[int, Spans]]:
    """When, and what the chronicle says: asked for or refused, how far it is, how it ended."""
    asked, refused, ended = act.requested, act.refused, act.finished
    if refused is not None:
        name = f"{label(refused.verb)} {label(refused.server)}"
        yield refused.t_us, _entry("✗", Role.WARNING, name, f"refused: {label(refused.why)}")
    if asked is None:
        return
    name = f"{label(asked.verb)} {label(asked.server)}"
    given = "".join(f", {label(key)} {label(value)}" for key, value in asked.arguments)
    text = f"asked for by {label(asked.who)}, {label(asked.confirmed)}{given}"
    yield asked.t_us, _entry("╋", Role.KEY, name, text)
    if ended is not None:
        shape, role = _ENDS.get(ended.outcome, _FAILED)
        yield ended.t_us, _entry(shape, role, name, f"{label(ended.outcome)}: {label(ended.text)}")
    elif act.advanced is not None:
        text = f"{label(act.advanced.phase)}: {label(act.advanced.text)}"
        yield act.advanced.t_us, _entry("◔", Role.STARTING, name, text)


def _entry(shape: str, role: Role, name: str, text: str) -> Spans:
    return (Span(f"{shape} act     ", role), Span(name, Role.STRONG), Span(f"  {text}"))


def _far(act: Act, now_us: int) -> Spans:
    """Phase or end, how long it goes on, how long its load is expected to take."""
    asked, ended, advanced = act.requested, act.finished, act.advanced
    since_us = asked.t_us if asked is not None else now_us
    if ended is not None:
        shape, role = _ENDS.get(ended.outcome, _FAILED)
        head = Span(f"{shape} {label(ended.outcome)}", role)
        return (head, Span(f"  after {clock(ended.t_us - since_us)}", Role.DIM))
    phase = label(advanced.phase) if advanced is not None else "begun"
    parts: list[Spans] = [
        (Span(f"◔ {phase}", Role.STARTING),),
        (Span(f"{clock(now_us - since_us)} since it began"),),
    ]
    if asked is not None and asked.expected_us is not None:
        told = f"load expected about {duration(asked.expected_us)}"
        parts.append((Span(told, Role.DIM),))
    return joined(parts, "  ")


def _load(state: State, act: Act, now_us: int, room: int) -> list[Spans]:
    """Phases and bar of the load that is waited for; nothing once the act has ended."""
    asked = act.requested if act.finished is None else None
    server = state.servers.get(asked.server) if asked is not None else None
    load = loading(server) if server is not None else None
    if asked is None or server is None or load is None or load.t_us < asked.t_us:
        return []
    return list(load_lines(server, now_us, room))


def _said(act: Act, room: int, most: int) -> list[Spans]:
    last = act.finished or act.advanced
    if last is None:
        return []
    role = Role.TEXT if act.finished is None else _ENDS.get(act.finished.outcome, _FAILED)[1]
    return _lead("" if act.finished is None else "end", label(last.text), role, room, most)


def _undo(act: Act) -> list[Spans]:
    asked = act.requested
    if asked is None or act.finished is not None or not asked.undo:
        return []
    return [(Span(f"{'undo':<{_LEAD}}", Role.DIM), Span(label(asked.undo), Role.DIM))]


def _lead(name: str, text: str, role: Role, room: int, most: int) -> list[Spans]:
    """A text below its name, in as many lines as there may be; the last one is cut with a mark."""
    parts = wrapped(text, max(8, room - _LEAD))
    shown = parts[: max(0, most - 1)]
    if len(parts) >= most > 0:
        shown.append(" ".join(parts[most - 1 :]))
    return [
        (Span(f"{name if place == 0 else '':<{_LEAD}}", Role.DIM), Span(part, role))
        for place, part in enumerate(shown)
    ]
