from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model.clock import ManualClock, SystemClock
from console.model.fleet import LogId
from console.model.text import Clean
from console.render.pattern import Pattern
from console.stream.fact import GapKind
from console.stream.logs import Ring
from console.stream.server_events import LogAdvanced, LogGap
from console.ui.panes.log_find import Find
from console.ui.panes.log_sieve import Sieve, Wanted
from console.ui.panes.log_sifted import Sifted
from console.ui.window import Window

LOG = LogId("base")
STAMP = "[2026-02-24 17:05:01 TP0] "


def ring_of(texts: list[str], size: int = 7, most_lines: int = 200_000) -> Ring:
    ring = Ring(most_lines)
    for first in range(0, len(texts), size):
        feed(ring, first, texts[first : first + size])
    return ring


def feed(ring: Ring, first: int, texts: list[str]) -> int:
    lines = tuple(map(Clean, texts))
    ring.take(LogAdvanced(Clean(LOG), first, len(lines), lines=lines))
    return first + len(lines)


def searched(ring: Ring, wanted: Wanted, start: int, stretch: int = 11) -> Sieve:
    sieve = Sieve(ring, LOG, wanted, start, ManualClock())
    end = ring.reach(LOG)[1]
    while not sieve.search_on(end, stretch, 1) or not sieve.search_back(stretch):
        pass
    return sieve


def window_texts(ring: Ring, sieve: Sieve, height: int) -> list[str]:
    window = Window()
    window.look(Sifted(ring, LOG, sieve), ring.reach(LOG)[1], height)
    return [str(line.text) for line in window.lines]


WORDS = st.lists(st.sampled_from(["error one", "fine", "error two", "idle", "probe"]), max_size=80)


@given(WORDS, st.integers(0, 80), st.sampled_from(["error", "o", "fine|idle", "^probe$"]))
def test_finds_what_a_plain_search_finds_wherever_it_begins(
    texts: list[str], start: int, pattern: str
) -> None:
    ring = ring_of(texts)
    wanted = Wanted(Pattern(pattern), Pattern("two"), fold=False)
    sieve = searched(ring, wanted, min(start, len(texts)))
    hits = [n for n, text in enumerate(texts) if re.search(pattern, text) and "two" not in text]
    assert list(sieve.shown.since(0)) == hits
    assert list(sieve.hits.since(0)) == hits
    assert sieve.hidden == sum("two" in text for text in texts)


@given(WORDS, st.integers(0, 80))
def test_every_line_is_shown_or_stands_under_one_that_is(texts: list[str], start: int) -> None:
    ring = ring_of(texts)
    sieve = searched(ring, Wanted(), min(start, len(texts)))
    shown = list(sieve.shown.since(0))
    under = sum(count - 1 for count in sieve.repeats.values())
    under += sum(map(len, sieve.bodies.values()))
    assert len(shown) + under == len(texts)
    assert set(sieve.repeats) | set(sieve.bodies) <= set(shown)


def test_a_match_inside_a_traceback_shows_its_head() -> None:
    texts = [
        STAMP + "fine",
        STAMP + "Traceback (most recent call last):",
        "  File x",
        "ValueError: 7",
    ]
    texts += [STAMP + "later"]
    for start in range(len(texts) + 1):
        sieve = searched(ring_of(texts, size=2), Wanted(Pattern("valueerror")), start)
        assert list(sieve.shown.since(0)) == [1]
        assert len(sieve.bodies[1]) == 2
        assert sieve.tails[1] == "ValueError: 7"
        marked = searched(ring_of(texts, size=2), Wanted(mark=Pattern("valueerror")), start)
        assert list(marked.shown.since(0)) == [0, 1, 4]
        assert list(marked.hits.since(0)) == [1]


def test_gaps_are_always_shown() -> None:
    ring = ring_of(["a", "b"])
    ring.take(LogGap(Clean(LOG), 2, 40, GapKind.BURST, Clean("40 lines dropped")))
    feed(ring, 42, ["c", "b"])
    for start in (0, 2, 42, 44):
        sieve = searched(ring, Wanted(Pattern("b")), start)
        assert window_texts(ring, sieve, 9) == ["b", "40 lines dropped", "b"]


@pytest.mark.parametrize("start", [0, 3, 5])
def test_nothing_is_folded_over_a_gap(start: int) -> None:
    line = STAMP + "Draining"
    ring = ring_of([line, line, line])
    ring.take(LogGap(Clean(LOG), 3, 1, GapKind.TRUNCATED, Clean("truncated: restarted at 0")))
    feed(ring, 4, [line, line])
    sieve = searched(ring, Wanted(), start, stretch=50)
    assert window_texts(ring, sieve, 9) == [line, "truncated: restarted at 0", line]
    assert sieve.repeats == {0: 3, 4: 2}


def test_what_the_ring_forgets_leaves_the_count() -> None:
    ring = ring_of(["hit", "miss"] * 10, size=4, most_lines=20)
    sieve = searched(ring, Wanted(Pattern("hit")), 20)
    assert len(sieve.hits) == 10
    end = feed(ring, 20, ["miss"] * 4)
    sieve.search_on(end, 100, 1)
    assert ring.reach(LOG)[0] == 4
    assert len(sieve.hits) == 8
    assert len(sieve.shown) == 8


def test_a_pattern_that_backtracks_badly_stops_the_search() -> None:
    ring = ring_of(["fine", "a" * 5000 + "b", "fine"])
    for fold in (True, False):
        sieve = searched(ring, Wanted(Pattern("(a+)+$"), fold=fold), 3)
        assert "backtracks badly" in sieve.stopped
        assert sieve.whole


def test_a_pattern_that_is_slow_on_every_line_stops_the_search() -> None:
    ring = ring_of([f"{n} " + "a" * 150 for n in range(900)])
    sieve = Sieve(ring, LOG, Wanted(Pattern("a*a*a*[bc]"), fold=False), 900, SystemClock())
    assert sieve.search_back(900)
    assert sieve.stopped == "the pattern is too slow: over 250 ms for 900 lines"


def test_a_slice_ends_in_time_and_goes_on_where_it_was() -> None:
    ring = ring_of([f"line {n}" for n in range(100)])
    clock = ManualClock()
    sieve = Sieve(ring, LOG, Wanted(Pattern("9$"), fold=False), 0, clock)
    assert not sieve.search_on(100, 50, clock.now_us())
    assert sieve.high == 1
    assert not sieve.search_on(100, 49, 1)
    assert sieve.high == 50
    while not sieve.search_on(100, 49, 1):
        pass
    assert list(sieve.hits.since(0)) == list(range(9, 100, 10))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("feed"), st.integers(1, 30)),
        st.tuples(st.just("scroll"), st.integers(-30, 30)),
        st.tuples(st.sampled_from(["pause", "filter", "clear", "slice"]), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_what_is_read_never_moves_though_the_ring_wraps_and_a_search_runs(
    steps: list[tuple[str, int]],
) -> None:
    ring, window, find = Ring(most_lines=40), Window(), Find(ManualClock())
    end, height = feed(ring, 0, ["line 0"]), 5
    for what, number in steps:
        before = list(window.lines)
        held = bool(before) and (not window.following or window.paused)
        match what:
            case "feed":
                end = feed(ring, end, [f"line {n} {n % 3}" for n in range(end, end + number)])
            case "scroll":
                window.scroll(number, height)
            case "pause":
                window.pause()
            case "slice":
                find.slice()
            case "filter":
                find.want(include=Pattern("0$"))
                window.rest()
            case _:
                find.clear()
                window.rest()
        start = end if window.following else window.resting
        window.look(find.source(ring, LOG, end, start), end, height)
        assert len(window.lines) <= height
        numbers = [line.number for line in window.lines]
        assert numbers == sorted(set(numbers))
        if what in ("feed", "slice") and held and len(before) == height:
            assert window.lines == before


@pytest.mark.parametrize("fold", [True, False])
def test_one_character_lines_and_none(fold: bool) -> None:
    assert len(searched(Ring(), Wanted(fold=fold), 0).shown) == 0
    ring = ring_of(["x"] * 300)
    assert window_texts(ring, searched(ring, Wanted(Pattern("x"), fold=fold), 300), 4)[-1] == "x"
