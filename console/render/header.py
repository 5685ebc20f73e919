"""The top line: what is looked at, how the hosts are reached, what is recorded, what time it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from console.model.clock import utc_from_text
from console.model.palette import Role
from console.model.span import Span, Spans
from console.model.zone import UTC_ZONE, in_zone
from console.render.label import label
from console.render.spans import cells, fitted, joined, spread
from console.render.units import UNKNOWN, clock, duration, size
from console.stream.fact import Link, Recording
from console.stream.state import Host, State

_LINKS: dict[Link, tuple[str, Role]] = {
    Link.CONNECTING: ("connecting", Role.STARTING),
    Link.UP: ("", Role.GOOD),
    Link.LOST: ("✗ link lost", Role.ERROR),
    Link.REFUSED: ("✗ refused", Role.ERROR),
    Link.CLOSED: ("closed", Role.DIM),
}


@dataclass(frozen=True, slots=True)
class Mode:
    """What the control says about this session.

    Attributes:
        replay: a player is at work.
        read_only: nothing can be changed on any host now.
        recorded_bytes: how much is recorded so far; None when nothing is.
        zone: the time zone that clocks are shown in, a name that `in_zone` knows.
    """

    replay: bool = False
    read_only: bool = True
    recorded_bytes: int | None = None
    zone: str = UTC_ZONE


def header_spans(state: State, now_us: int, mode: Mode, room: int) -> Spans:
    """The line, exactly `room` cells wide; hosts give way first, those in trouble last."""
    opened = state.session.opened
    fleet = label(opened.fleet) if opened else ""
    left = joined(((Span(" spec-console", Role.TITLE),), (Span(fleet),) if fleet else ()))
    right = _right(state, now_us, mode, room >= 100)
    first = sorted(state.hosts.items(), key=lambda one: not _troubled(one[1]))
    hosts = joined((host_spans(name, host) for name, host in first), " · ", Role.DIM)
    free = room - cells(left) - cells(right) - 5
    if hosts and (room >= 100 or _troubled(first[0][1])) and free > 12:
        left = joined((left, fitted(hosts, min(free, cells(hosts)))), "   ")
    return spread(left, right, room)


def host_spans(name: str, host: Host) -> Spans:
    """A host's name, how it is reached, and its round trip or what is wrong."""
    listed, link = host.listed, host.link
    wire = label(listed.alias) if listed and listed.alias else "local"
    how = "ssh" if wire != "local" else "local"
    shown = Span(label(name), Role.STRONG)
    if link is None:
        return (shown, Span(f" {how} {UNKNOWN}", Role.DIM))
    word, role = _LINKS[link.link]
    if link.link is Link.UP:
        took = f" {duration(link.rtt_us)}" if link.rtt_us is not None else " up"
        return (shown, Span(f" {how}{took}", Role.DIM))
    what = f": {link.failure.value}" if link.failure is not None else ""
    return (shown, Span(f" {word}{what}", role))


def session_utc(state: State, now_us: int) -> datetime | None:
    """UTC at a position of the session; None while no event told it."""
    for event in (state.session.clock, state.session.opened):
        if event is not None:
            try:
                told = utc_from_text(event.utc)
            except ValueError:
                continue
            return told + timedelta(microseconds=now_us - event.t_us)
    return None


def _troubled(host: Host) -> bool:
    return host.link is not None and host.link.link is not Link.UP


def _right(state: State, now_us: int, mode: Mode, whole: bool) -> Spans:
    access = Span("read-only", Role.DIM) if mode.read_only else Span("UNLOCKED", Role.WARNING)
    utc = session_utc(state, now_us)
    form = "%H:%M:%S %Z" if whole else "%H:%M %Z"
    shown = in_zone(utc, mode.zone).strftime(form) if utc else f"{UNKNOWN} {mode.zone}"
    parts = ((access,), _recording(state, now_us, mode, whole), (Span(shown),))
    return (*joined(parts, "   " if whole else "  "), Span(" "))


def _recording(state: State, now_us: int, mode: Mode, whole: bool) -> Spans:
    if mode.replay:
        return (Span("REPLAY", Role.WARNING),)
    recording = state.session.recording
    if recording is None or recording.recording is Recording.OFF:
        return (Span("not recorded", Role.DIM),)
    if recording.recording is Recording.STOPPED:
        return (Span("✗ recording stopped", Role.ERROR),)
    spans = [Span("● REC", Role.RECORDING), Span(f" {clock(now_us - recording.t_us)}")]
    if whole and mode.recorded_bytes is not None:
        spans.append(Span(f" {size(mode.recorded_bytes)}"))
    return tuple(spans)
