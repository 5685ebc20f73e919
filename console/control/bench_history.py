"""A fresh baseline against its own history, before anything is compared with it.

Owns what a history is of: host, model and everything that was asked for. Assumed figures and arms
that speculate never enter it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from console.bench.provenance import Group, Unread
from console.bench.record import Departed, Entry, against_history, stale
from console.model.clock import Clock, utc_text
from console.model.fleet import Arm
from console.model.mask import Masks
from console.model.text import Clean, clean
from console.store.record import Key, append_record, read_record, record_path
from console.stream.events import Event
from console.stream.measured import circumstances_of
from console.stream.run_events import BenchFinished
from console.stream.session_events import HistoryKnown, Noticed
from console.stream.state import Bench

TOPIC = "baseline of record"
_NOTHING = Group({}, "not taken")
Emit = Callable[[Event], object]


def with_history(
    event: BenchFinished, bench: Bench, clock: Clock, emit: Emit, masks: Masks
) -> BenchFinished:
    """The end of a benchmark; that of a valid baseline says in `why` what it departed from, and
    the history is emitted and added to. After one of a speculative arm it is said where the last
    baseline there is was measured before the host was rebooted."""
    started, rate = bench.started, dict(event.figures).get(Clean("decode_tok_s"))
    if not event.valid or started is None or rate is None:
        return event

    def warn(text: str) -> Clean:
        said = clean(text, masks)
        emit(Noticed(started.server, Clean("warning"), said))
        return said

    entry, key = entry_of(bench, rate, clock), key_of(bench)
    try:
        path = record_path()
        history = read_record(path, key)
        if started.arm is Arm.BASELINE:
            append_record(path, key, entry)
    except OSError as error:
        warn(f"baselines of record: {(error.strerror or str(error)).lower()}")
        return event
    if history.lost:
        warn(f"baselines of record: {history.lost} entries are damaged and left out")
    if started.arm is not Arm.BASELINE:
        last = history.entries[-1] if history.entries else None
        why = stale("", entry.boot, last) if last is not None else None
        if last is not None and why is not None:
            warn(f"{why}; {last.decode_tok_s:.1f} tok/s on {last.utc:%Y-%m-%d}: measure it again")
        return event
    emit(history_known(started.server, (*history.entries, entry), masks))
    standing = against_history(entry, history.entries)
    return replace(event, why=warn(standing.text)) if isinstance(standing, Departed) else event


def key_of(bench: Bench) -> Key:
    """Host, model and request."""
    taken = circumstances_of(bench).groups
    host, model, request = (taken.get(name, _NOTHING) for name in ("host", "model", "request"))
    return Key(_text(host, "name"), _text(model, "name"), request.digest())


def entry_of(bench: Bench, rate: float, clock: Clock) -> Entry:
    """The benchmark as an entry; an environment that was not read is None."""
    taken = circumstances_of(bench).groups
    host, launch = taken.get("host", _NOTHING), taken.get("launch", _NOTHING)
    env = taken.get("env", _NOTHING)
    environment = None if env.unread else _told(env)
    launch_id, boot = _text(launch, "launch_id"), _text(host, "boot_id")
    return Entry(clock.utc(), rate, launch_id, boot, environment)


def _told(env: Group) -> Mapping[str, str]:
    """What was read; a run's own random name says nothing."""
    return {
        name: value
        for name, value in env.values.items()
        if isinstance(value, str) and name != "SGLANG_RUN_ID"
    }


def _text(group: Group, key: str) -> str:
    value = group.values.get(key, Unread("not told"))
    return value if isinstance(value, str) else ""


def history_known(server: Clean, entries: Sequence[Entry], masks: Masks) -> HistoryKnown:
    """The history as one event: rates by UTC, and what changed at each: `restart`, `environment`,
    `reboot`."""
    figures, marks = [], []
    last: Entry | None = None
    for entry in entries:
        when = Clean(utc_text(entry.utc))
        figures.append((when, entry.decode_tok_s))
        changed = _changed(last, entry) if last is not None else ()
        if changed:
            marks.append((when, clean(", ".join(changed), masks)))
        last = entry
    return HistoryKnown(server, Clean(TOPIC), tuple(figures), tuple(marks))


def _changed(last: Entry, entry: Entry) -> tuple[str, ...]:
    found = []
    if last.boot != entry.boot:
        found.append("reboot")
    elif last.launch != entry.launch:
        found.append("restart")
    if last.environment != entry.environment:
        found.append("environment")
    return tuple(found)
