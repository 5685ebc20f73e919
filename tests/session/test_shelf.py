"""The folder of sessions: names, and what goes when it is full."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from console.model.mask import Masks
from console.model.text import clean
from console.session.shelf import Room, make_room, new_path
from console.stream.session_events import MarkerPut, NoteWritten
from tests.session.test_journal import record

MASKS = Masks()
NOTE = NoteWritten(clean("x" * 200, MASKS))
MARKER = MarkerPut(clean("kept", MASKS))


def test_nothing_goes_while_there_is_room(tmp_path: Path) -> None:
    record(tmp_path / "a.toml", [NOTE])
    used = (tmp_path / "a.toml").stat().st_size
    assert make_room(tmp_path, cap=used + 1) == Room(used)


def test_the_oldest_without_markers_goes_first_and_it_is_said(tmp_path: Path) -> None:
    record(tmp_path / "1.toml", [MARKER, NOTE])
    record(tmp_path / "2.toml", [NOTE])
    record(tmp_path / "3.toml", [NOTE])
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    room = make_room(tmp_path, cap=size)
    assert room.deleted == (tmp_path / "2.toml",)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.toml", "3.toml"]
    assert room.said(size)[0] == f"deleted 2.toml: sessions are over {size:,} bytes"
    assert not room.full


def test_where_none_is_left_to_delete_nothing_is_recorded(tmp_path: Path) -> None:
    record(tmp_path / "1.toml", [MARKER])
    (tmp_path / "2.toml").write_text("not a session")
    room = make_room(tmp_path, cap=10)
    assert room.full
    assert room.deleted == ()
    assert "not recording" in room.said(10)[0]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_link_is_never_followed_or_deleted(tmp_path: Path) -> None:
    record(tmp_path / "real", [NOTE])
    (tmp_path / "link.toml").symlink_to(tmp_path / "real")
    assert make_room(tmp_path, cap=1).deleted == ()
    assert (tmp_path / "link.toml").is_symlink()


def test_near_the_cap_it_is_said(tmp_path: Path) -> None:
    record(tmp_path / "a.toml", [NOTE])
    used = (tmp_path / "a.toml").stat().st_size
    cap = used * 100 // 95
    assert make_room(tmp_path, cap).said(cap) == [f"sessions use {used:,} of {cap:,} bytes"]


def test_names_are_safe_and_never_taken(tmp_path: Path) -> None:
    moment = datetime(2026, 2, 24, 17, 5, 41, tzinfo=UTC)
    first = new_path(tmp_path, moment, "../kimi fleet.toml")
    assert first == tmp_path / "2026-02-24T17-05-41Z-kimi-fleet.toml"
    first.symlink_to("/nonexistent")
    second = new_path(tmp_path, moment, "../kimi fleet.toml")
    assert second.name == "2026-02-24T17-05-41Z-kimi-fleet-2.toml"
    assert new_path(tmp_path, moment, "...").name == "2026-02-24T17-05-41Z-session.toml"
    assert os.path.lexists(first)
