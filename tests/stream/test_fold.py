"""fold, and the seek point: the latest event of each cell gives the same State again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from console.model.mask import Masks
from console.model.text import clean
from console.stream.events import Event
from console.stream.fact import GapKind
from console.stream.fold import fold, fold_all
from console.stream.server_events import HealthSeen, LogAdvanced, LogGap
from console.stream.state import LogMark, State, facts
from tests.stream.events import any_event

MASKS = Masks()


def stamped(events: Sequence[Event]) -> list[Event]:
    return [replace(event, seq=n + 1, t_us=n * 10) for n, event in enumerate(events)]


@given(st.lists(any_event(), max_size=60))
def test_the_facts_of_a_state_fold_to_that_state(events: list[Event]) -> None:
    state = fold_all(State(), stamped(events))
    assert fold_all(State(), facts(state)) == state


@given(st.lists(any_event(), max_size=40), st.lists(any_event(), max_size=20))
def test_going_on_from_the_facts_is_going_on(before: list[Event], after: list[Event]) -> None:
    events = stamped([*before, *after])
    state = fold_all(State(), events[: len(before)])
    again = fold_all(State(), facts(state))
    rest = events[len(before) :]
    assert fold_all(again, rest) == fold_all(state, rest)


def test_an_event_that_changes_nothing_gives_back_the_same_object() -> None:
    name = clean("kimi-base", MASKS)
    state = fold(State(), LogAdvanced(name, 5, 2))
    assert fold(state, LogAdvanced(name, 7, 0)) is state


def test_cells_of_others_keep_their_identity() -> None:
    a, b = clean("a", MASKS), clean("b", MASKS)
    state = fold(State(), HealthSeen(a, clean("/health", MASKS), 1, 200))
    after = fold(state, HealthSeen(b, clean("/health", MASKS), 1, 200))
    assert after.servers["a"] is state.servers["a"]
    assert after.hosts is state.hosts


def test_a_log_mark_counts_numbers_and_what_was_dropped() -> None:
    name = clean("a", MASKS)
    gap = LogGap(name, 12, 400, GapKind.BURST, clean("dropped", MASKS), lost_lines=400)
    state = fold_all(State(), [LogAdvanced(name, 10, 2), gap, LogAdvanced(name, 412, 3)])
    assert state.logs["a"].mark == LogMark(10, 415, 400)
