"""The session file: what is whole and sound is read, whatever happened to the rest."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import tomli
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.model.clock import ManualClock
from console.model.fleet import LogId
from console.model.mask import Masks
from console.model.text import clean
from console.session.blocks import SCHEMA_LINE, block, scan
from console.session.files import NotASession
from console.session.journal import Journal
from console.session.journal_logs import JournalLogs
from console.session.player import Player
from console.session.recorder import Recorder
from console.stream.codec import encode
from console.stream.events import Event
from console.stream.fold import fold_all, whole
from console.stream.logs import last_lines, lines
from console.stream.server_events import LogAdvanced, MetricSeen
from console.stream.session_events import NoteWritten
from console.stream.state import Item, Jump, State
from console.stream.timeline import Timeline
from tests.rig.waiting import until
from tests.stream.events import any_event

MASKS = Masks()
_NUMBERS = itertools.count()
SLOW_INPUT = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def record(path: Path, events: list[Event]) -> list[Event]:
    """Write events through the real recorder; what it wrote, stamped."""
    clock = ManualClock()
    timeline = Timeline(clock)
    recorder = Recorder(path, timeline.emit)
    timeline.subscribe(recorder.take)
    seen: list[Event] = []
    timeline.subscribe(lambda item, _: seen.append(item) if not isinstance(item, Jump) else None)
    for event in events:
        clock.advance(1.0)  # lines of one log within less may become one block
        timeline.emit(event)
    recorder.close()
    return seen


def whole_events(journal: Journal) -> Iterator[Event]:
    """The events with whole readings, as a live session had them."""
    readings: dict[str, MetricSeen] = {}
    for event in journal.events(bulk=True):
        if isinstance(event, MetricSeen):
            event = readings[event.server] = whole(readings.get(event.server), event)
        yield event


@settings(max_examples=40, suppress_health_check=SLOW_INPUT)
@given(events=st.lists(any_event(), min_size=1, max_size=40))
def test_a_session_is_read_back_event_for_event(tmp_path: Path, events: list[Event]) -> None:
    path = tmp_path / f"s{next(_NUMBERS)}.toml"
    written = record(path, events)
    assert tomli.loads(path.read_text())["schema"] == "session/1"
    assert list(whole_events(Journal(path))) == written


@settings(max_examples=25, suppress_health_check=SLOW_INPUT)
@given(
    events=st.lists(any_event(), min_size=30, max_size=60),
    growth=st.integers(1, 2000),
    data=st.data(),
)
def test_any_seek_equals_a_fold_from_the_start(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    events: list[Event],
    growth: int,
    data: st.DataObject,
) -> None:
    monkeypatch.setattr("console.session.recorder.SEEK_GROWTH", growth)
    monkeypatch.setattr("console.session.recorder.SEEK_SHARE", 0)
    path = tmp_path / f"s{next(_NUMBERS)}.toml"
    written = record(path, events)
    journal = Journal(path)
    items: list[Item] = []
    player = Player(journal, items.append, lambda _: None)
    for _ in range(5):
        t_us = data.draw(st.integers(0, journal.length_us))
        player.seek(t_us)
        jump = items[-1]
        assert isinstance(jump, Jump)
        plain = [replace(e, lines=()) if isinstance(e, LogAdvanced) else e for e in written]
        assert jump.state == fold_all(State(), [e for e in plain if e.t_us <= t_us])
        assert jump.at_us == t_us
    items.clear()
    player.seek(0)
    player.advance(journal.length_us)
    given_events = [item for item in items if not isinstance(item, Jump)]
    first = items[0]
    assert isinstance(first, Jump)
    assert fold_all(first.state, given_events) == fold_all(State(), written)


def sample(tmp_path: Path, count: int = 30) -> tuple[Path, bytes]:
    path = tmp_path / "sample.toml"
    record(path, [NoteWritten(clean(f"note {n} ü", MASKS)) for n in range(count)])
    return path, path.read_bytes()


def test_cut_at_every_byte_of_the_last_blocks(tmp_path: Path) -> None:
    path, raw = sample(tmp_path)
    index = scan(raw, len(SCHEMA_LINE))
    ends = [index.body[n] + index.length[n] for n in range(len(index))]
    for cut in range(index.body[-4], len(raw)):
        path.write_bytes(raw[:cut])
        whole = sum(end <= cut for end in ends)
        journal = Journal(path)
        texts = [event.text for event in journal.events() if isinstance(event, NoteWritten)]
        assert texts == [f"note {n} ü" for n in range(whole)]
        assert bool(journal.losses()) == (cut not in (*ends, *(end + 1 for end in ends)))


def test_a_flipped_byte_anywhere_costs_at_most_its_own_block(tmp_path: Path) -> None:
    path, raw = sample(tmp_path)
    for place in range(len(SCHEMA_LINE), len(raw)):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 0x15]) + raw[place + 1 :])
        journal = Journal(path)
        texts = {event.text for event in journal.events() if isinstance(event, NoteWritten)}
        missing = {f"note {n} ü" for n in range(30)} - texts
        assert len(missing) <= 1
        assert texts <= {f"note {n} ü" for n in range(30)}
        assert journal.losses() or not missing


def test_garbage_between_blocks_is_counted_and_passed_over(tmp_path: Path) -> None:
    path, raw = sample(tmp_path)
    index = scan(raw, len(SCHEMA_LINE))
    middle = raw.rfind(b"\n[[", 0, index.body[15]) + 1
    path.write_bytes(raw[:middle] + b"\x00\xff garbage\n[[note]] # 9 00000000\n" + raw[middle:])
    journal = Journal(path)
    assert len(list(journal.events())) == 30
    assert journal.losses() == [f"33 bytes are damaged or cut (at byte {middle:,})"]


_WRITER = """
import sys
from pathlib import Path
from console.model.clock import SystemClock
from console.model.text import Clean
from console.session.recorder import Recorder
from console.stream.session_events import NoteWritten
from console.stream.timeline import Timeline
timeline = Timeline(SystemClock())
recorder = Recorder(Path(sys.argv[1]), timeline.emit)
timeline.subscribe(recorder.take)
n = 0
while True:
    for _ in range(50):
        timeline.emit(NoteWritten(Clean(f"note {n}")))
        n += 1
    recorder.flush()
"""


@pytest.mark.parametrize("size", [10_000, 300_000, 900_000])
def test_kill_9_of_the_recorder_leaves_every_whole_block(tmp_path: Path, size: int) -> None:
    path = tmp_path / "killed.toml"
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)])
    try:
        until(lambda: path.exists() and path.stat().st_size > size, 20)
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    texts = [event.text for event in Journal(path).events() if isinstance(event, NoteWritten)]
    assert len(texts) > size // 200
    assert texts == [f"note {n}" for n in range(len(texts))]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"hello world\n", "not a session file (it begins otherwise than schema"),
        (b'schema = "session/2"\n\n', "session/2 is newer than session/1"),
        (SCHEMA_LINE, "no whole block of a session"),
    ],
)
def test_what_is_no_session_is_refused_in_words(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(NotASession) as caught:
        Journal(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(NotASession, match="no such file"):
        Journal(tmp_path / "none.toml")
    with pytest.raises(NotASession, match="a folder"):
        Journal(tmp_path)


@given(st.binary(max_size=400))
def test_no_bytes_make_the_scanner_fail(raw: bytes) -> None:
    index = scan(raw)
    covered = sum(damage.length for damage in index.damage)
    assert covered <= len(raw)
    assert len(index) == 0 or b"[[" in raw


def test_log_lines_are_read_by_number_from_the_journal(tmp_path: Path) -> None:
    name = clean("base", MASKS)
    events: list[Event] = [
        LogAdvanced(
            name,
            first,
            10,
            lines=tuple(clean(f"line {n}", MASKS) for n in range(first, first + 10)),
        )
        for first in range(0, 100, 10)
    ]
    path = tmp_path / "s.toml"
    record(path, events)
    journal = JournalLogs(Journal(path))
    log = LogId("base")
    assert journal.reach(log) == (0, 100)
    assert lines(journal, log, 15, 23) == [f"line {n}" for n in range(15, 23)]
    assert last_lines(journal, log, 3, 42) == ["line 39", "line 40", "line 41"]


def test_a_known_block_reads_by_hand() -> None:
    event = replace(NoteWritten(clean("x", MASKS)), seq=1, t_us=2)
    assert block("note", encode(event)).startswith(b"[[note]] # 28 ")


def test_a_full_disk_stops_the_recording_and_leaves_whole_blocks(tmp_path: Path) -> None:
    said: list[Event] = []
    recorder = Recorder(tmp_path / "s.toml", said.append)
    event = replace(NoteWritten(clean("x", MASKS)), seq=1)
    recorder.take(event, State())
    recorder.flush()
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, recorder._file or -1)
    recorder.take(event, State())
    recorder.flush()
    os.close(full)
    assert recorder.stopped
    assert encode(said[0]).endswith('why = "no space left on device"\n')
    assert len(list(Journal(recorder.path).events())) == 1
