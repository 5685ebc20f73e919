"""What a session is and what happened in it: facts in pairs, and a chronicle in its order."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.palette import Role
from console.model.span import Span, Spans
from console.model.zone import in_zone
from console.render.acts import act_entries
from console.render.header import Mode, session_utc
from console.render.label import label
from console.render.spans import wrapped
from console.render.units import clock, counted, duration, size
from console.stream.fact import Recording
from console.stream.session_events import MarkerPut, NoteWritten, Noticed, StepFinished, TimeJumped
from console.stream.state import State

_Told = MarkerPut | NoteWritten | StepFinished | Noticed | TimeJumped

NONE = "–"
_NAME = 11
_SEVERITIES = {"error": Role.ERROR, "warning": Role.WARNING}


def facts(state: State, now_us: int, mode: Mode, room: int) -> list[Spans]:
    """What the session is: name and value, a value too long for its line wrapped."""
    opened = state.session.opened
    began = session_utc(state, 0)
    pairs = [
        ("fleet", label(opened.fleet) if opened else NONE, Role.STRONG),
        ("origin", _origin(state), Role.TEXT),
        ("began", _moment(state, 0, mode.zone) if began else NONE, Role.TEXT),
        ("length", clock(now_us), Role.TEXT),
        ("recording", *_recording(state, now_us, mode)),
        ("lost", *_lost(state)),
    ]
    lines: list[Spans] = []
    for name, value, role in pairs:
        parts = wrapped(value, max(10, room - _NAME)) or [NONE]
        for place, part in enumerate(parts):
            head = name if place == 0 else ""
            lines.append((Span(f"{head:<{_NAME}}", Role.DIM), Span(part, role)))
    return lines


def chronicle(state: State, zone: str) -> list[Spans]:
    """Markers, notes, steps, acts, notices and what was lost, in the order of the session."""
    session = state.session
    found: list[_Told] = [*session.markers, *session.notes, *session.steps, *session.notices]
    lines = [(event.t_us, tuple(_entry(event))) for event in found]
    lines += [entry for act in state.acts.values() for entry in act_entries(act)]
    lines += [(log.gap.t_us, _gap(log.gap.text)) for log in state.logs.values() if log.gap]
    if session.jumped is not None:
        lines.append((session.jumped.t_us, tuple(_entry(session.jumped))))
    lines.sort(key=lambda line: line[0])
    return [
        (Span(f"{_clock(state, t_us, zone)}  ", Role.LOG_TIME), *spans) for t_us, spans in lines
    ]


def _entry(event: _Told) -> Iterator[Span]:
    match event:
        case MarkerPut():
            yield Span("◆ marker  ", Role.KEY)
            yield Span(label(event.name), Role.STRONG)
        case NoteWritten():
            yield Span("  note    ", Role.NOTE)
            yield Span(label(event.text))
        case StepFinished():
            word, role = (
                ("✓ step    ", Role.GOOD) if event.exit == 0 else ("✗ step    ", Role.ERROR)
            )
            yield Span(word, role)
            yield Span(f"{label(event.verb)} {label(event.server)}".rstrip(), Role.STRONG)
            yield Span(f"  {label(event.text)}")
        case Noticed():
            role = _SEVERITIES.get(event.severity, Role.NOTE)
            yield Span(f"{'!' if role is not Role.NOTE else ' '} {label(event.severity):<8}", role)
            yield Span(label(event.subject), Role.STRONG)
            remedy = f" ({label(event.remedy)})" if event.remedy else ""
            yield Span(f"  {label(event.text)}{remedy}")
        case TimeJumped():
            yield Span("┊ time    ", Role.WARNING)
            yield Span(f"{duration(abs(event.gap_us))}: {label(event.why)}")


def _gap(text: str) -> Spans:
    return (Span("┊ log     ", Role.WARNING), Span(label(text)))


def _origin(state: State) -> str:
    opened = state.session.opened
    if opened is None:
        return NONE
    machine = f", on {label(opened.machine)}" if opened.machine else ""
    return f"{label(opened.origin)}, written by {label(opened.writer)}{machine}"


def _recording(state: State, now_us: int, mode: Mode) -> tuple[str, Role]:
    recording = state.session.recording
    if recording is None or recording.recording is Recording.OFF:
        return ("nothing is recorded" if not mode.replay else "a replay records nothing", Role.DIM)
    path = label(recording.path)
    if recording.recording is Recording.STOPPED:
        return (f"stopped: {label(recording.why)}; {path}", Role.ERROR)
    if mode.replay:
        return (path, Role.TEXT)
    held = f"{size(mode.recorded_bytes)}, " if mode.recorded_bytes is not None else ""
    return (f"{held}{clock(now_us - recording.t_us)}, {path}", Role.RECORDING)


def _lost(state: State) -> tuple[str, Role]:
    """Everything that is missing: events not recorded, log lines dropped."""
    parts = []
    dropped = state.session.dropped
    if dropped is not None:
        parts.append(f"{counted(dropped.count, 'event')} not recorded: {label(dropped.why)}")
    for name, log in state.logs.items():
        if log.mark.dropped:
            parts.append(f"{counted(log.mark.dropped, 'line')} of {label(name)}")
    return ("; ".join(parts), Role.WARNING) if parts else ("nothing", Role.DIM)


def _moment(state: State, t_us: int, zone: str) -> str:
    utc = session_utc(state, t_us)
    return in_zone(utc, zone).strftime("%Y-%m-%d %H:%M:%S %Z") if utc else NONE


def _clock(state: State, t_us: int, zone: str) -> str:
    utc = session_utc(state, t_us)
    return in_zone(utc, zone).strftime("%H:%M:%S") if utc else clock(t_us)
