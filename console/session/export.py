"""A session for other programs: every event as JSON lines, every series as CSV.

Reads the journal only; writes text to whoever asked.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime, timedelta

from console.model.clock import utc_from_text, utc_text
from console.model.text import Clean, plain
from console.session.journal import Journal
from console.session.words import as_record
from console.stream.events import Event
from console.stream.fact import Figures
from console.stream.fold import whole
from console.stream.host_events import GpuSeen
from console.stream.run_events import RunMeasured
from console.stream.server_events import HealthSeen, MetricSeen, TokenSeen
from console.stream.session_events import SessionOpened

COLUMNS = ("t_us", "utc", "subject", "series", "value")
_KINDS = ("gpu", "health", "metric", "opened", "run", "token")
_FORMULA = ("=", "+", "-", "@", "\t")


def json_lines(journal: Journal) -> Iterator[str]:
    """Each event as one JSON object, log lines among them; ASCII."""
    for event in journal.events(bulk=True):
        yield json.dumps(as_record(event), ensure_ascii=True, allow_nan=False)


def series_csv(journal: Journal) -> Iterator[str]:
    """Every sample of every series, a row each, header first: time, whose, which, value.

    Units are in the series' names. A name that a spreadsheet would take for a formula gets an
    apostrophe in front.
    """
    yield _row(COLUMNS)
    opened: datetime | None = None
    metrics: dict[str, MetricSeen] = {}
    for number in range(len(journal.index)):
        if journal.index.kind_of(number) not in _KINDS:
            continue
        event = journal.event(number)
        if event is None:
            continue
        if isinstance(event, SessionOpened):
            opened = _began(event)
            continue
        if isinstance(event, MetricSeen):
            event = metrics[event.server] = whole(metrics.get(event.server), event)
        for subject, name, value in _samples(event):
            utc = _utc(opened, event.t_us)
            yield _row((str(event.t_us), utc, _cell(subject), _cell(name), repr(value)))


def _samples(event: Event) -> Iterator[tuple[str, str, float]]:
    def of(subject: str, figures: Figures) -> Iterator[tuple[str, str, float]]:
        for name, value in figures:
            yield _plain(subject), plain(name), value

    match event:
        case MetricSeen():
            yield from of(event.server, event.figures)
        case GpuSeen():
            yield from of(f"{event.host}/gpu{event.gpu}", event.figures)
        case RunMeasured() if not event.void:
            subject = f"{event.bench}/{'warm-up' if event.warm_up else event.run}"
            yield from of(subject, event.figures)
            if event.ttft_us is not None:
                yield _plain(subject), "ttft_us", event.ttft_us
            if event.decode_tok_s is not None:
                yield _plain(subject), "decode_tok_s", event.decode_tok_s
        case TokenSeen():
            for name in ("decode_tok_s", "accept_len"):
                value = getattr(event, name)
                if value is not None:
                    yield _plain(event.server), name, value
        case HealthSeen() if event.failure is None:
            yield _plain(event.server), "health_wait_us", event.wait_us
        case _:
            return


def _began(event: SessionOpened) -> datetime | None:
    try:
        return utc_from_text(event.utc)
    except ValueError:
        return None


def _utc(opened: datetime | None, t_us: int) -> str:
    if opened is None:
        return ""
    try:
        return utc_text(opened + timedelta(microseconds=t_us))
    except OverflowError:
        return ""


def _plain(text: str) -> str:
    return plain(Clean(text))


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _row(cells: tuple[str, ...]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()
