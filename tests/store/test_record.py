"""The baselines of record survive in a file, also one that was cut or written by others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from console.bench.provenance import Unread, Unset, Value
from console.bench.record import Entry
from console.store.record import MOST_ENTRIES, Key, append_record, read_record, record_path

KEY = Key("gpu8", "kimi", "w1")
START = datetime(2026, 2, 10, tzinfo=UTC)


def entry(number: int) -> Entry:
    environment: dict[str, Value] = {
        "NCCL_PROTO": 'a "quoted" value\n',
        "NCCL_ALGO": Unset(),
        "X": Unread("denied"),
    }
    return Entry(START + timedelta(days=number), 90.0 + number / 7, "l", "b", environment)


def test_entries_come_back_and_other_keys_do_not_mix() -> None:
    path = record_path()
    for number in range(3):
        append_record(path, KEY, entry(number))
        append_record(path, Key("gpu9", "kimi", "w1"), entry(number + 10))
    append_record(path, KEY, Entry(START + timedelta(days=9), 62.9))
    found = read_record(path, KEY)
    assert found.entries == (entry(0), entry(1), entry(2), Entry(START + timedelta(days=9), 62.9))
    assert found.lost == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_no_file_is_an_empty_history(tmp_path: Path) -> None:
    assert read_record(tmp_path / "none.toml", KEY).entries == ()


def test_a_torn_or_foreign_block_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    append_record(path, KEY, entry(0))
    with path.open("ab") as file:
        file.write(b'[[baseline]]\nhost = "gpu8"\nmodel = \xff\n\n')
        file.write(b'[[baseline]]\nhost = "gpu8"\nmodel = "m"\nworkload = "w"\nutc = "x"\n\n')
    append_record(path, KEY, entry(1))
    with path.open("ab") as file:
        file.write(b'[[baseline]]\nhost = "gpu8"\nmod')
    found = read_record(path, KEY)
    assert found.entries == (entry(0), entry(1))
    assert found.lost == 3


def test_a_long_history_gives_its_latest(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    for number in range(MOST_ENTRIES + 5):
        append_record(path, KEY, Entry(START + timedelta(days=number), 1.0 + number))
    found = read_record(path, KEY).entries
    assert len(found) == MOST_ENTRIES
    assert found[-1].decode_tok_s == MOST_ENTRIES + 5
