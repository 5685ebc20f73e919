"""An act in lines: which one is shown, how far it is, how it is undone, how it ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.model.span import plain_text
from console.model.text import Clean
from console.render.acts import (
    SHOWN_US,
    act_entries,
    act_lines,
    act_title,
    failed_act,
    shown_act,
)
from console.render.notices import problem
from console.render.spans import cells
from console.stream.events import Event
from console.stream.fold import fold_all
from console.stream.run_events import (
    ActAdvanced,
    ActFinished,
    ActRefused,
    ActRequested,
    VerdictReached,
)
from console.stream.server_events import LoadAdvanced
from console.stream.session_events import Noticed
from console.stream.state import State

S = 1_000_000
A, BASE = Clean("a1"), Clean("base")
ASKED = ActRequested(
    A, Clean("restart"), BASE, Clean("ann@laptop"), Clean("confirmed"),
    ((Clean("env"), Clean("NCCL_PROTO=LL")),), Clean("box"), Clean("box:1"), 540 * S,
    Clean("base is kept"),
)  # fmt: skip
STOPS = ActAdvanced(A, Clean("term"), Clean("TERM sent to process 7"))
LOADS = ActAdvanced(A, Clean("load"), Clean("weights 3/64"))
BAR = LoadAdvanced(BASE, Clean("weights"), 3, 64, 300 * S)
DONE = ActFinished(A, Clean("done"), Clean("ready after 12.0 s"))


def state(*events: Event) -> State:
    """Each event a second after the one before."""
    stamped = (replace(event, seq=n, t_us=n * S) for n, event in enumerate(events, 1))
    return fold_all(State(), stamped)


def shown(now: State, at_s: int, most: int = 7, room: int = 60) -> list[str]:
    act = shown_act(now, at_s * S)
    assert act is not None
    lines = act_lines(now, act, at_s * S, room, most)
    assert all(cells(line) == room for line in lines)
    assert len(lines) <= most
    return [plain_text(line).rstrip() for line in lines]


def test_what_is_done_and_how_it_is_undone() -> None:
    now = state(ASKED, STOPS)
    assert shown(now, 32) == [
        "◔ term  00:00:31 since it began  load expected about 9 min",
        "        TERM sent to process 7",
        "undo    base is kept",
    ]
    title, where = act_title(now.acts[A])
    assert (plain_text(title), plain_text(where)) == ("Act  restart base", "box:1")


@pytest.mark.parametrize("most", range(1, 8))
def test_the_load_stands_for_what_was_said_of_it_and_the_way_back_stays(most: int) -> None:
    lines = shown(state(ASKED, LOADS, BAR), 10, most)
    assert lines[0].startswith("◔ load  00:00:09")
    assert not any("weights 3/64" in line for line in lines)
    assert any("3/64" in line for line in lines) is (most > 3)
    assert (lines[-1] == "undo    base is kept") is (most > 1)


def test_the_end_stands_for_a_while_and_a_new_act_takes_its_place() -> None:
    now = state(ASKED, LOADS, BAR, DONE)
    assert shown(now, 5) == ["✓ done  after 00:00:03", "end     ready after 12.0 s"]
    assert shown_act(now, 4 * S + SHOWN_US) is None
    new = replace(ASKED, act=Clean("a2"), server=Clean("spec"))
    act = shown_act(state(ASKED, DONE, new), 3 * S)
    assert act is not None
    assert act.requested is not None
    assert act.requested.server == "spec"
    assert shown_act(state(ActRefused(A, Clean("stop"), BASE, Clean("busy"))), S) is None


def test_a_verdict_takes_the_place_of_an_act_that_has_ended() -> None:
    told = Clean("FASTER by 19.2 % [17.8, 20.7]")
    verdict = VerdictReached(
        Clean("b1"), Clean("b2"), Clean("FASTER"), told, 1.192, 1.178, 1.207, ()
    )
    assert shown_act(state(ASKED, DONE), 5 * S) is not None
    assert shown_act(state(ASKED, DONE, verdict), 5 * S) is None
    assert shown_act(state(verdict, ASKED, DONE), 5 * S) is not None
    assert shown_act(state(ASKED, verdict), 5 * S) is not None


@pytest.mark.parametrize(
    ("outcome", "shape"),
    [("failed", "✗"), ("rolled back", "↶"), ("up, but not as asked", "!"), ("interrupted", "!")],
)
def test_another_end_than_the_one_meant_is_what_needs_an_eye(outcome: str, shape: str) -> None:
    ended = replace(DONE, outcome=Clean(outcome))
    now = state(ASKED, ended)
    assert shown(now, 3)[0] == f"{shape} {outcome}  after 00:00:01"
    assert failed_act(now) is now.acts[A]
    assert plain_text(problem(now)) == f" ! restart base {outcome}: ready after 12.0 s"
    later = Noticed(BASE, Clean("warning"), Clean("something new"))
    assert plain_text(problem(state(ASKED, ended, later))) == " ! base: something new"
    assert failed_act(state(ASKED, ended, replace(DONE, act=Clean("a2")))) is None


def test_the_chronicle_has_the_question_and_the_newest_word() -> None:
    refused = ActRefused(A, Clean("stop"), BASE, Clean("busy"))
    (entry,) = act_entries(state(refused).acts[A])
    assert (entry[0], plain_text(entry[1])) == (S, "✗ act     stop base  refused: busy")
    going = [plain_text(spans) for _, spans in act_entries(state(ASKED, LOADS).acts[A])]
    assert going == [
        "╋ act     restart base  asked for by ann@laptop, confirmed, env NCCL_PROTO=LL",
        "◔ act     restart base  load: weights 3/64",
    ]
    ended = [plain_text(spans) for _, spans in act_entries(state(ASKED, LOADS, DONE).acts[A])]
    assert ended[1:] == ["✓ act     restart base  done: ready after 12.0 s"]
