"""Figures in a session file: only what changed is written, and every reader gets all of them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from console.model.clock import ManualClock
from console.model.mask import Masks
from console.session.changed import WHOLE_EVERY_US
from console.session.export import series_csv
from console.session.journal import Journal
from console.session.recorder import Recorder
from console.session.scrub import scrub
from console.stream.fold import fold_all
from console.stream.server_events import MetricSeen
from console.stream.state import State
from console.stream.timeline import Timeline
from tests.session.test_hostile import SLOW_INPUT
from tests.session.writing import c

NAMES = ("running", "queued", "decode_tokens_total", "token_usage")


def reading(server: str, figures: dict[str, float], source: str = "/metrics") -> MetricSeen:
    return MetricSeen(c(server), c(source), tuple((c(name), v) for name, v in figures.items()))


def record(path: Path, readings: list[MetricSeen], apart_s: float = 2.0) -> list[MetricSeen]:
    """Record them; the readings as State had them."""
    path.unlink(missing_ok=True)
    clock = ManualClock()
    timeline = Timeline(clock)
    recorder = Recorder(path, timeline.emit)
    timeline.subscribe(recorder.take)
    seen = []
    for event in readings:
        clock.advance(apart_s)
        timeline.emit(event)
        metric = timeline.state.servers[event.server].metric
        assert metric is not None
        seen.append(metric)
    recorder.close()
    return seen


def metrics(journal: Journal) -> list[MetricSeen]:
    return [event for event in journal.events() if isinstance(event, MetricSeen)]


def test_only_what_changed_is_written_and_a_whole_reading_every_minute(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    record(
        path, [reading("a", {"running": 1.0, "decode_tokens_total": float(n)}) for n in range(62)]
    )
    written = metrics(Journal(path))
    assert [len(event.figures) for event in written[:3]] == [2, 1, 1]
    whole = [event.t_us for event in written if not event.since]
    assert [late - early for late, early in zip(whole[1:], whole, strict=False)] == [
        WHOLE_EVERY_US
    ] * 2
    assert b"decode_tokens_total = 7 }" in path.read_bytes()


def test_a_figure_that_is_gone_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    both = {"running": 1.0, "queued": 2.0}
    record(path, [reading("a", both), reading("a", both), reading("a", {"running": 1.0})])
    journal = Journal(path)
    assert [event.since for event in metrics(journal)] == [0, 1, 0]
    metric = journal.state_before(len(journal.index)).servers["a"].metric
    assert metric is not None
    assert dict(metric.figures) == {"running": 1.0}


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW_INPUT)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.dictionaries(st.sampled_from(NAMES), st.floats(allow_nan=False), max_size=4),
        ),
        min_size=1,
        max_size=30,
    ),
    st.floats(0.1, 40),
)
def test_every_reading_comes_back_whole_at_every_place(
    tmp_path: Path, given_: list[tuple[str, dict[str, float]]], apart_s: float
) -> None:
    path = tmp_path / "s.toml"
    seen = record(path, [reading(*one) for one in given_], apart_s)
    journal = Journal(path)
    state = State()
    for number, wanted in enumerate(seen):
        state = fold_all(state, journal.events(number, number + 1))
        metric = state.servers[wanted.server].metric
        assert metric is not None
        assert dict(metric.figures) == dict(wanted.figures)
        assert (metric.seq, metric.t_us, metric.since) == (wanted.seq, wanted.t_us, 0)
    rows = [row.split(",") for row in series_csv(journal)][1:]
    assert len(rows) == sum(len(event.figures) for event in seen)


def test_where_the_reading_before_is_lost_only_what_is_told_is_known(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    record(path, [reading("a", {"running": 1.0, "queued": float(n)}) for n in range(3)])
    raw = path.read_bytes().replace(b"queued = 1 }", b"queued = 9 }")  # its sum holds no more
    path.write_bytes(raw)
    journal = Journal(path)
    assert len(journal.losses()) == 1
    metric = journal.state_before(len(journal.index)).servers["a"].metric
    assert metric is not None
    assert dict(metric.figures) == {"queued": 2.0}


def test_a_scrubbed_session_has_the_same_figures(tmp_path: Path) -> None:
    path, new = tmp_path / "s.toml", tmp_path / "n.toml"
    record(path, [reading("a", {"running": 1.0, "queued": float(n)}) for n in range(9)])
    scrub(Journal(path), new, Masks())
    ends = [Journal(one) for one in (path, new)]
    states = [journal.state_before(len(journal.index)) for journal in ends]
    assert states[0] == states[1]
