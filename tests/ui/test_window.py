from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.model.fleet import LogId
from console.model.text import Clean
from console.stream.fact import GapKind
from console.stream.logs import Ring
from console.stream.server_events import LogAdvanced, LogGap
from console.ui.window import Whole, Window

LOG = LogId("base")


def fed(ring: Ring, first: int, count: int) -> int:
    lines = tuple(Clean(f"line {n}") for n in range(first, first + count))
    ring.take(LogAdvanced(Clean(LOG), first, count, lines=lines))
    return first + count


def texts(window: Window) -> list[str]:
    return [str(line.text) for line in window.lines]


def numbers(window: Window) -> list[int]:
    return [line.number for line in window.lines]


def test_follows_the_end() -> None:
    ring, window = Ring(), Window()
    end = fed(ring, 0, 100)
    window.look(Whole(ring, LOG), end, 5)
    assert texts(window) == ["line 95", "line 96", "line 97", "line 98", "line 99"]
    end = fed(ring, end, 3)
    window.look(Whole(ring, LOG), end, 5)
    assert numbers(window) == [98, 99, 100, 101, 102]


def test_fewer_lines_than_room_are_all_shown() -> None:
    ring, window = Ring(), Window()
    window.look(Whole(ring, LOG), fed(ring, 0, 2), 5)
    assert numbers(window) == [0, 1]


def test_an_unknown_log_is_empty() -> None:
    window = Window()
    window.look(Whole(Ring(), LOG), 0, 5)
    assert window.lines == []
    window.scroll(-1, 5)
    assert window.lines == []


def test_scrolling_up_lets_go_and_the_end_is_taken_up_again() -> None:
    ring, window = Ring(), Window()
    end = fed(ring, 0, 20)
    window.look(Whole(ring, LOG), end, 5)
    window.scroll(-2, 5)
    assert numbers(window) == [13, 14, 15, 16, 17]
    end = fed(ring, end, 10)
    window.look(Whole(ring, LOG), end, 5)
    assert numbers(window) == [13, 14, 15, 16, 17]
    assert window.newer == 12
    window.scroll(12, 5)
    assert window.following
    assert numbers(window) == [25, 26, 27, 28, 29]


def test_scrolling_stops_at_the_first_line_held() -> None:
    ring, window = Ring(), Window()
    window.look(Whole(ring, LOG), fed(ring, 0, 20), 5)
    window.scroll(-100, 5)
    assert numbers(window) == [0, 1, 2, 3, 4]
    window.scroll(-1, 5)
    assert numbers(window) == [0, 1, 2, 3, 4]


def test_what_is_read_stays_though_the_ring_forgets_it() -> None:
    ring, window = Ring(most_lines=20), Window()
    end = 0
    for _ in range(4):
        end = fed(ring, end, 5)
    window.look(Whole(ring, LOG), end, 5)
    window.scroll(-3, 5)
    assert numbers(window) == [12, 13, 14, 15, 16]
    for _ in range(10):
        end = fed(ring, end, 5)
    assert ring.reach(LOG)[0] == 50
    window.look(Whole(ring, LOG), end, 5)
    assert texts(window) == ["line 12", "line 13", "line 14", "line 15", "line 16"]
    window.scroll(2, 5)
    assert texts(window) == [
        "line 14",
        "line 15",
        "line 16",
        "33 lines are no longer held",
        "line 50",
    ]
    assert [line.notice for line in window.lines] == [False, False, False, True, False]


def test_above_the_oldest_line_held_stands_how_many_were_before() -> None:
    ring, window = Ring(most_lines=20), Window()
    end = 0
    for _ in range(10):
        end = fed(ring, end, 5)
    window.look(Whole(ring, LOG), end, 5)
    window.scroll(-100, 5)
    assert texts(window) == [
        "30 lines are no longer held",
        "line 30",
        "line 31",
        "line 32",
        "line 33",
    ]
    window.scroll(-1, 5)
    assert texts(window)[0] == "30 lines are no longer held"
    assert len(window.lines) == 5
    for _ in range(3):
        end = fed(ring, end, 5)
    window.look(Whole(ring, LOG), end, 5)
    assert texts(window)[:2] == ["30 lines are no longer held", "line 30"]
    window.scroll(5, 5)
    window.scroll(-100, 5)
    above = ["34 lines are no longer held", "11 lines are no longer held", "line 45"]
    assert texts(window)[:3] == above


def test_a_pause_holds_still_at_the_end_and_keeps_to_what_was_there() -> None:
    ring, window = Ring(), Window()
    end = fed(ring, 0, 10)
    window.look(Whole(ring, LOG), end, 4)
    window.pause()
    end = fed(ring, end, 10)
    window.look(Whole(ring, LOG), end, 4)
    assert numbers(window) == [6, 7, 8, 9]
    assert window.newer == 10
    window.look(Whole(ring, LOG), end, 6)
    assert numbers(window) == [4, 5, 6, 7, 8, 9]
    window.pause()
    window.look(Whole(ring, LOG), end, 6)
    assert numbers(window) == [14, 15, 16, 17, 18, 19]


def test_follow_ends_pause_and_scroll() -> None:
    ring, window = Ring(), Window()
    end = fed(ring, 0, 10)
    window.look(Whole(ring, LOG), end, 4)
    window.scroll(-3, 4)
    window.pause()
    window.follow()
    window.look(Whole(ring, LOG), end, 4)
    assert numbers(window) == [6, 7, 8, 9]


def test_a_gap_is_one_line_that_uses_up_its_numbers() -> None:
    ring, window = Ring(), Window()
    end = fed(ring, 0, 3)
    ring.take(LogGap(Clean(LOG), end, 40, GapKind.BURST, Clean("40 lines dropped")))
    end = fed(ring, end + 40, 2)
    window.look(Whole(ring, LOG), end, 4)
    assert texts(window) == ["line 2", "40 lines dropped", "line 43", "line 44"]
    assert [line.notice for line in window.lines] == [False, True, False, False]
    window.scroll(-1, 4)
    window.scroll(1, 4)
    assert texts(window) == ["line 2", "40 lines dropped", "line 43", "line 44"]


def test_another_log_begins_at_its_end() -> None:
    ring, window = Ring(), Window()
    window.look(Whole(ring, LOG), fed(ring, 0, 10), 4)
    window.scroll(-3, 4)
    other = LogId("other")
    ring.take(LogAdvanced(Clean(other), 0, 1, lines=(Clean("hello"),)))
    window.look(Whole(ring, other), 1, 4)
    assert texts(window) == ["hello"]
    assert window.following


def test_a_player_that_went_back_shows_nothing_from_after_its_position() -> None:
    ring, window = Ring(), Window()
    fed(ring, 0, 100)
    window.look(Whole(ring, LOG), 100, 4)
    window.look(Whole(ring, LOG), 50, 4)
    assert numbers(window) == [46, 47, 48, 49]
    window.scroll(-10, 4)
    window.look(Whole(ring, LOG), 20, 4)
    assert numbers(window) == [16, 17, 18, 19]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("feed"), st.integers(1, 30)),
        st.tuples(st.just("scroll"), st.integers(-30, 30)),
        st.tuples(st.just("height"), st.integers(1, 12)),
        st.tuples(st.sampled_from(["pause", "follow"]), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_lines_are_always_in_order_within_room_and_follow_one_another(
    steps: list[tuple[str, int]],
) -> None:
    ring, window = Ring(most_lines=40), Window()
    end, height = 0, 5
    for what, number in steps:
        match what:
            case "feed":
                end = fed(ring, end, number)
            case "scroll":
                window.scroll(number, height)
            case "height":
                height = number
            case "pause":
                window.pause()
            case _:
                window.follow()
        window.look(Whole(ring, LOG), end, height)
        assert len(window.lines) <= height
        for line, after in zip(window.lines, window.lines[1:], strict=False):
            assert line.end == after.number
        for line in window.lines:
            assert line.notice or line.text == f"line {line.number}"
        if window.following and not window.paused and end:
            assert window.lines[-1].end == end
