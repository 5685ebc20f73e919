"""Lines do not depend on how the bytes were cut, and their offsets cover every byte."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.services.lines import MOST_BYTES, Cut, Splitter


def split(*pieces: bytes, offset: int = 0) -> list[bytes]:
    splitter = Splitter(offset)
    for piece in pieces:
        splitter.feed(piece)
    cut = splitter.take()
    return cut.lines if cut else []


def test_whole_lines_with_their_offsets() -> None:
    splitter = Splitter(100)
    splitter.feed(b"one\ntwo\nthr")
    assert splitter.take() == Cut([b"one", b"two"], 100, 108)
    assert splitter.take() is None
    splitter.feed(b"ee\n")
    assert splitter.take() == Cut([b"three"], 108, 114)
    assert (splitter.fed, splitter.taken) == (114, 114)


def test_an_unfinished_line_waits_and_the_end_of_the_file_gives_it() -> None:
    splitter = Splitter(0)
    splitter.feed(b"a\nhalf")
    assert splitter.take() == Cut([b"a"], 0, 2)
    assert splitter.take_bars() is None
    assert splitter.finish() == Cut([b"half"], 2, 6)
    assert splitter.finish() is None


def test_dos_ends_are_ends() -> None:
    assert split(b"one\r\ntwo\r", b"\nthree\n\r\n") == [b"one", b"two", b"three", b""]


def test_a_bar_collapses_to_its_latest_state() -> None:
    assert split(b"\rLoad:  5%|#\rLoad: 10%|##\rLoad: 15%|###\nnext\n") == [
        b"Load: 15%|###",
        b"next",
    ]


def test_bars_side_by_side_are_kept_by_prefix() -> None:
    data = b"TP0 load: 1%\rTP1 load: 2%\rTP0 load: 3%\rTP1 load: 4%\n"
    assert split(data) == [b"TP0 load: 3%", b"TP1 load: 4%"]


def test_text_drawn_over_is_gone() -> None:
    assert split(b"wait\rdone\n") == [b"done"]
    assert split(b"wait\r    \rdone\n") == [b"done"]
    assert split(b"done\r   \n") == [b"done"]


def test_a_bar_is_seen_before_its_newline_and_once() -> None:
    splitter = Splitter(0)
    splitter.feed(b"\rLoad:  5%")
    seen = [splitter.has_bars, splitter.take_bars(), splitter.has_bars, splitter.take_bars()]
    assert seen == [True, Cut([b"Load:  5%"], 0, 10), False, None]
    splitter.feed(b"\rLoad: 10%\rLoad: 15%")
    assert splitter.take_bars() == Cut([b"Load: 15%"], 10, 30)
    splitter.feed(b"\rLoad: 20%\n")
    assert splitter.take() == Cut([b"Load: 20%"], 30, 41)


def test_a_state_cut_by_a_chunk_is_whole_when_it_goes_on() -> None:
    splitter = Splitter(0)
    splitter.feed(b"\rLoad: 1")
    assert splitter.take_bars() == Cut([b"Load: 1"], 0, 8)
    splitter.feed(b"5%\n")
    assert splitter.take() == Cut([b"Load: 15%"], 8, 11)


def test_a_long_line_is_cut_and_counted() -> None:
    whole = b"x" * 70_000
    cut = b"x" * MOST_BYTES + b" +4,464 bytes"
    assert split(whole + b"\nnext\n") == [cut, b"next"]
    assert split(b"x" * 40_000, b"x" * 30_000, b"\n") == [cut]


@pytest.mark.parametrize("character", ["ä", "界", "🚀", "x"])
def test_a_long_line_is_never_cut_inside_a_character(character: str) -> None:
    for before in range(4):
        whole = b"x" * before + character.encode() * 70_000
        for pieces in (
            [whole],
            [whole[:MOST_BYTES], whole[MOST_BYTES:]],
            [whole[:65_000], whole[65_000:]],
        ):
            [line] = split(*pieces, b"\n")
            text, _, extra = line.partition(b" +")
            kept = text.decode()
            assert kept == "x" * before + character * (len(kept) - before)
            assert MOST_BYTES - len(character.encode()) < len(text) <= MOST_BYTES
            rest = len(whole) - len(text)
            assert extra == (f"{rest:,} bytes".encode() if rest else b"")


def test_a_hundred_megabytes_without_a_newline_are_not_held() -> None:
    splitter = Splitter(0)
    for _ in range(1600):
        splitter.feed(b"y" * 65_536)
    splitter.feed(b"\n")
    cut = splitter.take()
    assert cut is not None
    assert cut.end == 1600 * 65_536 + 1
    assert cut.lines == [b"y" * 65_536 + b" +104,792,064 bytes"]


def test_runs_of_nul_are_named_across_chunks() -> None:
    assert split(b"\0" * 70_000, b"\0" * 5, b"after\n") == ["<NUL>×70005after".encode()]
    assert split(b"a\0b\n") == [b"a\0b"]


pieces = st.lists(
    st.sampled_from(
        [b"\n", b"\r", b"\0", b"ab", b" 5%", b"load", b"\r\n", b"\0\0\0\0", b"\xc3", b"\xa9"]
    ),
    max_size=40,
)


@given(pieces, st.integers(0, 2**40))
def test_the_cut_of_the_chunks_changes_nothing(parts: list[bytes], offset: int) -> None:
    whole = Splitter(offset)
    whole.feed(b"".join(parts))
    apart = Splitter(offset)
    for part in parts:
        apart.feed(part)
    assert apart.take() == whole.take()
    assert apart.finish() == whole.finish()


@given(pieces, st.integers(0, 2**40))
def test_offsets_follow_on_and_cover_all(parts: list[bytes], offset: int) -> None:
    splitter = Splitter(offset)
    cuts: list[Cut | None] = []
    for number, part in enumerate(parts):
        splitter.feed(part)
        if number % 3 == 0:
            cuts.append(splitter.take())
        if number % 5 == 0:
            cuts.append(splitter.take_bars())
    cuts.append(splitter.finish())
    found = [cut for cut in cuts if cut is not None]
    assert all(cut.lines for cut in found)
    assert all(one.end == two.start for one, two in pairwise(found))
    assert all(b"\n" not in line and b"\r" not in line for cut in found for line in cut.lines)
    if found:
        assert found[0].start == offset
        assert found[-1].end == offset + len(b"".join(parts))


@given(st.lists(st.binary(max_size=20).filter(lambda b: not set(b) & {0, 10, 13}), max_size=20))
def test_plain_lines_come_back_as_they_are(lines: list[bytes]) -> None:
    assert split(b"".join(line + b"\n" for line in lines)) == lines
