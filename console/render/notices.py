"""The one line above the footer: what needs a person's eye most, and the key of its remedy.

And what stands in a pane that has nothing to show yet: always why, in words.
"""

from __future__ import annotations

from console.model.palette import Role
from console.model.span import Span, Spans
from console.render.acts import failed_act
from console.render.label import label
from console.stream.fact import FeedState, Link, Recording
from console.stream.session_events import Noticed
from console.stream.state import Host, Log, State

_WHOLE = "session"
"""The subject of what is about no server and no host: told without it."""

NOTE_US = 300_000_000
"""How long a note stands that asks for nothing."""

_SEVERITIES = {"error": Role.ERROR, "warning": Role.WARNING, "note": Role.NOTE}
_FEEDS: dict[FeedState, tuple[str, Role]] = {
    FeedState.OPENING: ("opening the log", Role.DIM),
    FeedState.FOLLOWING: ("following; no line yet", Role.DIM),
    FeedState.WAITING: ("waiting for the log", Role.DIM),
    FeedState.MISSING: ("the log does not exist", Role.WARNING),
    FeedState.UNREADABLE: ("the log cannot be read", Role.WARNING),
    FeedState.CUT: ("the connection to the log is cut", Role.WARNING),
}


def problem(state: State, now_us: int = 0) -> Spans:
    """What is wrong now, most pressing first; nothing when all is well."""
    for name, host in state.hosts.items():
        link = host.link
        if link is not None and link.link in (Link.LOST, Link.REFUSED):
            what = link.failure.value if link.failure else link.link.value
            more = "; see its log" if link.detail else ""
            return _line(Role.ERROR, label(name), _told(what, label(link.why)) + more)
    recording = state.session.recording
    if recording is not None and recording.recording is Recording.STOPPED:
        return _line(Role.ERROR, "recording stopped", label(recording.why))
    dropped = state.session.dropped
    if dropped is not None:
        return _line(Role.WARNING, f"{dropped.count:,} events not recorded", label(dropped.why))
    newest = _newest(state, now_us)
    act = failed_act(state)
    ended = act.finished if act is not None else None
    if act is not None and ended is not None and (newest is None or newest.seq < ended.seq):
        name = f"{label(act.requested.verb)} {label(act.requested.server)}" if act.requested else ""
        return _line(Role.ERROR, f"{name} {label(ended.outcome)}".strip(), label(ended.text))
    return noticed_spans(newest) if newest else ()


def _newest(state: State, now_us: int) -> Noticed | None:
    """The newest notice; a mere note only while it is new."""
    for notice in reversed(state.session.notices):
        if notice.severity != "note" or now_us - notice.t_us < NOTE_US:
            return notice
    return None


def noticed_spans(notice: Noticed) -> Spans:
    """One notice, its remedy's key at the end."""
    remedy = f" ({label(notice.remedy)})" if notice.remedy else ""
    role = _SEVERITIES.get(notice.severity, Role.NOTE)
    text = label(notice.text) + remedy
    if notice.subject == _WHOLE:
        return (Span(" ! ", role), Span(text))
    return _line(role, label(notice.subject), text)


def said_spans(text: str, good: bool) -> Spans:
    """How something a person asked for has ended."""
    return (Span(" ✓ " if good else " ! ", Role.GOOD if good else Role.WARNING), Span(text))


def why_no_lines(name: str, log: Log | None, host: Host | None) -> tuple[Spans, ...]:
    """What a log pane without lines says: the link's trouble, else the feed's, in whole lines."""
    link = host.link if host else None
    if link is not None and link.link is not Link.UP:
        role = Role.ERROR if link.link in (Link.LOST, Link.REFUSED) else Role.DIM
        what = link.failure.value if link.failure else link.link.value
        first = (
            Span(f"{label(link.host)}: ", Role.STRONG),
            Span(_told(what, label(link.why)), role),
        )
        return (first, *((Span(label(line)),) for line in link.detail))
    if log is None:
        return ((Span(f"{label(name)} has no log in the fleet file.", Role.DIM),),)
    if log.feed is None:
        return ((Span("the log is not read yet", Role.DIM),),)
    word, role = _FEEDS[log.feed.feed]
    told = (Span(_told(word, label(log.feed.why)), role),)
    if log.feed.feed not in (FeedState.MISSING, FeedState.UNREADABLE):
        return (told,)
    how = f"spec-console doctor {label(name)} tells which file the server writes, and what to mend."
    return (told, (Span(how, Role.DIM),))


def _told(what: str, why: str) -> str:
    return what if not why or why == what else f"{what}: {why}"


def _line(role: Role, subject: str, text: str) -> Spans:
    spans = (Span(" ! ", role), Span(subject, Role.STRONG))
    return (*spans, Span(f": {text}")) if text else spans
