"""A reader written from docs/session-format.md alone: it finds what the console's own reads.

It uses nothing of the console and no library beside Python's own.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.session.journal import Journal
from console.session.words import as_record
from console.stream.events import Event
from tests.session.test_journal import record
from tests.stream.events import any_event

ROOT = Path(__file__).parents[2]
_NUMBERS = itertools.count()


# The reader begins here.
FIRST = re.compile(rb'schema = "session/(\d+)"\n\n')
HEADER = re.compile(rb"\[\[([a-z_]{1,32})\]\] # (\d+) ([0-9a-f]{8})\n")


def read(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every whole block as (kind, table); seek blocks are left aside."""
    data = path.read_bytes()
    first = FIRST.match(data)
    if first is None or int(first[1]) > 1:
        raise ValueError("not a session/1 file")
    at = first.end()
    while (header := HEADER.search(data, at)) is not None:
        kind, start, length = header[1], header.end(), int(header[2])
        body = data[start : start + length]
        if len(body) == length and crc32(kind + body) == int(header[3], 16):
            at = start + length + 1
            if kind != b"seek":
                yield kind.decode(), tomllib.loads(body.decode())
        else:
            at = header.start() + 1


# The reader ends here.


def test_it_has_at_most_thirty_lines() -> None:
    text = Path(__file__).read_text()
    reader = text.partition("begins here.\n")[2].partition("# The reader ends")[0]
    assert len([line for line in reader.splitlines() if line.strip()]) <= 30


def blocks(path: Path) -> list[tuple[str, int, int]]:
    index = Journal(path).index
    return [
        (index.kind_of(n), index.seq[n], index.t_us[n])
        for n in range(len(index))
        if index.kind_of(n) != "seek"
    ]


def found(path: Path) -> list[tuple[str, int, int]]:
    return [(kind, table["seq"], table["t_us"]) for kind, table in read(path)]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "sample_sessions").glob("*.toml")), ids=lambda path: str(path.name)
)
def test_every_sample(path: Path) -> None:
    assert found(path) == blocks(path)
    assert found(path)[0] == ("opened", 1, 0)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(any_event(), min_size=1, max_size=10))
def test_every_kind_reads_as_the_console_reads_it(tmp_path: Path, events: list[Event]) -> None:
    path = tmp_path / f"s{next(_NUMBERS)}.toml"
    record(path, events)
    own = [as_record(event) for event in Journal(path).events(bulk=True)]
    for record_, (kind, table) in zip(own, read(path), strict=True):
        assert record_["kind"] == kind
        for name, value in table.items():
            assert name in record_
            if not isinstance(value, dict | list | float | str):
                assert record_[name] == value


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file(tmp_path: Path, data: st.DataObject) -> None:
    raw = bytearray((ROOT / "sample_sessions" / "story.toml").read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(30, len(raw) - 1))
        raw[place] = data.draw(st.integers(0, 255))
    path = tmp_path / f"d{next(_NUMBERS)}.toml"
    path.write_bytes(raw[: data.draw(st.integers(1000, len(raw)))])
    assert found(path) == blocks(path)


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(b'schema = "session/2"\n\n')
    with pytest.raises(ValueError, match="not a session/1 file"):
        list(read(path))
