"""A session written anew without the secrets that were learned too late to mask them.

A value that was masked under its name is nowhere in the file: to find it in the lines before,
somebody has to know it, so the masks are given. The old file is only read. The new one has the
same events with the same numbers and times, its own checksums and seek points; what could not be
read of the old one is not in it, and is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from console.model.mask import MASKED, Masks
from console.model.secret import is_secret_key, is_value
from console.model.text import Clean
from console.session.journal import Journal
from console.session.recorder import Recorder
from console.session.redact import Redaction, texts_of
from console.stream.events import Event
from console.stream.fold import fold
from console.stream.server_events import ArgsSeen, EnvRead
from console.stream.session_events import RecordingChanged
from console.stream.state import State

_FLUSHED = 500


@dataclass(slots=True)
class Scrubbed:
    """What was done: events written, texts changed, places redacted by rule, what was lost."""

    events: int = 0
    changed: int = 0
    hits: dict[str, int] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)


def scrub(
    journal: Journal, target: Path, masks: Masks | None = None, *, strict: bool = False
) -> Scrubbed:
    """Write the session again into a new file.

    Args:
        masks: knows the secrets; what the session itself gives away is added to it.
        strict: also take out user names, home folders, addresses and host names.

    Raises:
        OSError: the new file exists, or cannot be written.
    """
    masks, redaction = masks or Masks(), Redaction()
    for event in journal.events(bulk=True):
        _learn(event, masks, redaction)

    def change(text: Clean) -> Clean:
        masked = Clean(masks.mask(text))
        return redaction.text(masked) if strict else masked

    done = Scrubbed()
    said: list[Event] = []
    recorder = Recorder(target, said.append)
    state = State()
    for event in journal.events(bulk=True):
        new = rewritten(event, change)
        state = fold(state, new)
        recorder.take(new, state)
        done.events += 1
        done.changed += sum(
            old != now for old, now in zip(texts_of(event), texts_of(new), strict=True)
        )
        if done.events % _FLUSHED == 0:
            recorder.flush()
    recorder.close()
    for problem in said:
        if isinstance(problem, RecordingChanged):
            target.unlink(missing_ok=True)
            raise OSError(0, problem.why)
    done.hits, done.losses = dict(redaction.hits), journal.losses()
    return done


def _learn(event: Event, masks: Masks, redaction: Redaction) -> None:
    if isinstance(event, EnvRead | ArgsSeen):
        for name, value in event.values if isinstance(event, EnvRead) else event.args:
            masks.learn_pair(name, value)
    for text in texts_of(event):
        masks.mask(text)
        redaction.learn_text(text)
    redaction.learn(event)


def rewritten(event: Event, change: Callable[[Clean], Clean]) -> Event:
    """The event with every text changed, numbers and closed words as they were.

    A value under a secret name is masked whole.
    """
    new = {
        part.name: _changed(getattr(event, part.name), change)
        for part in fields(event)
        if part.name not in ("seq", "t_us")
    }
    return replace(event, **new)


def _changed(value: Any, change: Callable[[Clean], Clean]) -> Any:
    if type(value) is str:
        return change(Clean(value))
    if not isinstance(value, tuple):
        return value
    if value and all(isinstance(part, tuple) and len(part) == 2 for part in value):
        return _pairs(value, change)
    return tuple(_changed(part, change) for part in value)


def _pairs(pairs: tuple[tuple[Clean, Any], ...], change: Callable[[Clean], Clean]) -> Any:
    """Names stay apart: two that become alike would be one key twice."""
    found: dict[str, object] = {}
    for name, value in pairs:
        new = changed = change(name)
        number = 2
        while new in found:
            new, number = Clean(f"{changed}~{number}"), number + 1
        # A circumstance is written with an equals sign before its value; `=None` hides nothing.
        secret = (
            isinstance(value, str) and is_secret_key(name) and is_value(value.removeprefix("="))
        )
        found[new] = MASKED if secret else _changed(value, change)
    return tuple(found.items())
