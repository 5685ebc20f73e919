"""A long session in several files: written on, found again, read as one, each of them alone too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from console.control.replay import Replay
from console.model.clock import ManualClock
from console.model.fleet import LogId
from console.model.mask import Masks
from console.session.journal import Journal
from console.session.journal_logs import JournalLogs
from console.session.landmarks import find
from console.session.recorder import SEEK_GROWTH, Recorder
from console.session.segments import copy_session, first_of, following, segment
from console.session.shelf import make_room
from console.stream.fact import Recording
from console.stream.logs import lines
from console.stream.server_events import LogAdvanced
from console.stream.session_events import MarkerPut, NoteWritten, RecordingChanged, SessionClosed
from console.stream.state import Item
from console.stream.timeline import Timeline
from tests.session.writing import c

COUNT = 400


class Long:
    """A session of 400 batches of log lines with a marker every hundred."""

    def __init__(self, path: Path, segment_bytes: int = 40_000) -> None:
        self.clock = ManualClock()
        self.timeline = Timeline(self.clock)
        self.items: list[Item] = []
        self.recorder = Recorder(path, self.timeline.emit, segment_bytes)
        self.timeline.subscribe(self.recorder.take)
        self.timeline.subscribe(lambda item, _state: self.items.append(item))
        self.lines = 0

    def write(self, count: int) -> None:
        for _ in range(count):
            self.clock.advance(0.5)
            batch = tuple(c(f"line {self.lines + n} {'x' * 60}") for n in range(5))
            self.timeline.emit(LogAdvanced(c("base"), self.lines, 5, lines=batch))
            self.lines += 5
            if self.lines % 500 == 0:
                self.timeline.emit(MarkerPut(c(f"at {self.lines}")))
            self.recorder.flush()

    def close(self) -> None:
        self.timeline.emit(SessionClosed(c("left")))
        self.recorder.close()


@pytest.fixture
def night(tmp_path: Path) -> Path:
    path = tmp_path / "night.toml"
    long = Long(path)
    long.write(COUNT)
    long.close()
    return path


@pytest.mark.parametrize("segment_bytes", [2 * SEEK_GROWTH, SEEK_GROWTH])
def test_nothing_is_written_behind_the_end(tmp_path: Path, segment_bytes: int) -> None:
    """The last event is the one that makes the file long enough for a seek point, or a segment."""
    long = Long(tmp_path / "night.toml", segment_bytes)
    long.write(1)
    one = long.recorder.size
    long.timeline.emit(NoteWritten(c("x")))
    long.recorder.flush()
    around = long.recorder.size - one
    long.timeline.emit(NoteWritten(c("x" * (SEEK_GROWTH - long.recorder.size - around - 20))))
    long.recorder.flush()
    assert SEEK_GROWTH - 40 < long.recorder.size < SEEK_GROWTH
    long.close()
    assert long.recorder.size > SEEK_GROWTH
    assert Journal(tmp_path / "night.toml").closed


def test_whichever_file_is_opened_the_whole_session_is(night: Path) -> None:
    parts = list(following(night))
    assert len(parts) >= 3
    assert {part.stat().st_mode & 0o777 for part in (night, *parts)} == {0o600}
    for path in (night, parts[1]):
        journal = Journal(path)
        assert journal.path == str(night)
        assert journal.losses() == []
        assert journal.closed
        logs = JournalLogs(journal)
        held = lines(logs, LogId("base"), 0, 5 * COUNT)
        assert held == [f"line {n} {'x' * 60}" for n in range(5 * COUNT)]
        events = list(journal.events())
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        found = find(journal, "line 1999 ", 0, 1)
        assert found is not None
        assert journal.index.part[found] == len(parts)
    replay = Replay(Journal(night), ManualClock(), Masks())
    replay.player.seek(replay.player.length_us)
    assert [one.name for one in replay.timeline.state.session.markers][-1] == "at 2000"
    replay.player.seek(1_000_000)
    assert replay.timeline.state.session.markers == ()


def test_a_later_file_alone_knows_what_was_known_when_it_began(night: Path, tmp_path: Path) -> None:
    last = list(following(night))[-1]
    alone = tmp_path / "alone.toml"
    alone.write_bytes(last.read_bytes())
    journal = Journal(alone)
    state = journal.state_before(len(journal.index))
    whole = Journal(night)
    assert state == whole.state_before(len(whole.index))


def test_joined_they_are_one_file(night: Path, tmp_path: Path) -> None:
    target = tmp_path / "joined.toml"
    copy_session(night, target)
    one, many = Journal(target), Journal(night)
    assert one.losses() == []
    assert list(one.events(bulk=True)) == list(many.events(bulk=True))
    assert target.stat().st_mode & 0o777 == 0o600


def test_who_follows_goes_on_into_the_next_file(tmp_path: Path) -> None:
    path = tmp_path / "night.toml"
    long = Long(path)
    long.write(20)
    journal = Journal(path)
    logs = JournalLogs(journal)
    seen = len(list(journal.events()))
    reached = logs.reach(LogId(c("base")))[1]
    for _ in range(20):
        long.write(10)
        journal.read_on()
        assert logs.reach(LogId(c("base")))[1] > reached
        reached = logs.reach(LogId(c("base")))[1]
        now = len(list(journal.events()))
        assert now > seen
        seen = now
    long.close()
    journal.read_on()
    assert journal.closed
    assert [event.seq for event in journal.events()] == list(range(1, len(long.items) + 1))


def test_a_damaged_or_missing_file_costs_what_it_held(night: Path) -> None:
    parts = list(following(night))
    raw = parts[0].read_bytes()
    parts[0].write_bytes(raw[:2000] + b"?" + raw[2001:])
    whole = len(list(Journal(night).events()))
    assert len(Journal(night).losses()) == 1
    assert whole > 380
    parts[1].unlink()
    assert {Journal(night).index.part[-1]} == {1}


def test_a_link_is_no_part_of_it(night: Path, tmp_path: Path) -> None:
    parts = list(following(night))
    other = tmp_path / "elsewhere"
    parts[0].rename(other)
    os.symlink(other, parts[0])
    assert list(following(night)) == []
    assert Journal(night).index.part[-1] == 0


def test_the_shelf_takes_a_session_as_one(night: Path, tmp_path: Path) -> None:
    size = sum(path.stat().st_size for path in (night, *following(night)))
    kept = make_room(tmp_path, size)
    assert (kept.full, kept.deleted) == (True, ())  # it holds markers: nothing of it goes
    plain = tmp_path / "plain.toml"
    long = Long(plain)
    long.write(50)
    long.close()
    room = make_room(tmp_path, size + 100)
    assert room.deleted == (plain,)
    assert not list(tmp_path.glob("plain*"))
    assert first_of(segment(night, 3)) == night


def test_what_is_left_of_an_earlier_session_is_never_continued(tmp_path: Path) -> None:
    (tmp_path / "night.0002.toml").write_text("left\n")
    with pytest.raises(FileExistsError, match="of an earlier session"):
        Recorder(tmp_path / "night.toml", print)
    assert not (tmp_path / "night.toml").exists()


def test_a_further_file_that_cannot_be_made_ends_the_recording_and_is_said(tmp_path: Path) -> None:
    path = tmp_path / "night.toml"
    long = Long(path)
    long.write(10)
    (tmp_path / "night.0002.toml").mkdir()
    long.write(200)
    said = [item for item in long.items if isinstance(item, RecordingChanged)]
    assert [(one.recording, one.why) for one in said] == [(Recording.STOPPED, "file exists")]
    assert Journal(path).losses() == []
