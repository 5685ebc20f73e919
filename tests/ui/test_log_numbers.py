from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.ui.panes.log_numbers import Numbers

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("newer"), st.integers(1, 9)),
        st.tuples(st.just("older"), st.integers(1, 9)),
        st.tuples(st.just("insert"), st.integers(0, 400)),
        st.tuples(st.just("forget"), st.integers(0, 400)),
    ),
    max_size=40,
)


@given(STEPS, st.integers(0, 400))
def test_is_a_sorted_set_that_grows_at_both_ends(steps: list[tuple[str, int]], probe: int) -> None:
    numbers, wanted = Numbers(), list[int]()
    low = high = 200
    for what, number in steps:
        match what:
            case "newer":
                new = list(range(high, high + number, 2))
                numbers.add_newer(new)
                wanted, high = wanted + new, high + number
            case "older":
                old = list(range(max(0, low - number), low, 2))
                numbers.add_older(old)
                wanted, low = old + wanted, max(0, low - number)
            case "insert" if low <= number < high:
                numbers.insert(number)
                wanted = sorted({*wanted, number})
            case "forget":
                numbers.forget(number)
                wanted = [one for one in wanted if one >= number]
                low = max(low, min(number, high))
            case _:
                pass
        assert len(numbers) == len(wanted)
        assert list(numbers.since(0)) == wanted
        assert list(numbers.before(10_000)) == wanted[::-1]
    assert list(numbers.since(probe)) == [one for one in wanted if one >= probe]
    assert list(numbers.before(probe)) == [one for one in wanted[::-1] if one < probe]
    assert numbers.below(probe) == len([one for one in wanted if one < probe])
    assert (probe in numbers) == (probe in wanted)
