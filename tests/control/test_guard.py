"""The guard: read-only until unlocked, locked again by time, confirmed by the right word."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from console.control.acting_request import BadRequest, Request, read_request
from console.control.guard import APPLY, READ_ONLY, Guard, Refused, never
from console.model.ask import Nobody, Question
from console.model.clock import ManualClock, Pace
from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.model.mask import Masks

PACE = Pace()


class Person:
    """Answers as told."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return self.answer


def guard(**given: object) -> tuple[Guard, ManualClock]:
    clock = ManualClock()
    made = Guard(clock, PACE)
    for name, value in given.items():
        setattr(made, name, value)
    return made, clock


def test_nothing_is_allowed_until_unlocked_and_not_after_half_an_idle_hour() -> None:
    made, clock = guard(attended=True)
    assert made.refusal() == READ_ONLY
    made.touch()
    assert made.refusal() == READ_ONLY
    made.unlock()
    clock.advance(1799)
    assert made.refusal() is None
    made.touch()
    clock.advance(1799)
    assert made.refusal() is None
    clock.advance(1)
    assert made.refusal() == READ_ONLY
    made.touch()
    assert made.refusal() == READ_ONLY


def test_the_command_line_unlocks_for_good_and_lock_takes_it_back() -> None:
    made, clock = guard(apply=True)
    clock.advance(10 * 3600)
    assert made.refusal() is None
    made.lock()
    assert made.refusal() == APPLY


def test_a_dry_run_may_look() -> None:
    made, _ = guard(dry=True)
    assert made.refusal() is None
    assert not made.unlocked


@pytest.mark.parametrize(
    ("answer", "reasons", "how"),
    [("Restart", [], "confirmed"), ("Restart", ["foreign", "busy"], "name typed")],
)
async def test_one_confirmation_is_enough_for_ones_own_idle_server(
    answer: str, reasons: Sequence[str], how: str
) -> None:
    made, _ = guard(attended=True)
    person = Person(answer)
    assert await made.confirm(person, "restart", "base", ["pid 7"], reasons) == how
    (question,) = person.asked
    assert question.must_type == ("base" if reasons else None)
    assert question.choices == ("Cancel", "Restart")
    assert question.detail == ("pid 7",)
    assert all(reason in question.text for reason in reasons)


@pytest.mark.parametrize("answer", [None, "Cancel", "base", ""])
async def test_any_other_answer_declines(answer: str | None) -> None:
    made, _ = guard(attended=True)
    with pytest.raises(Refused, match="not confirmed"):
        await made.confirm(Person(answer), "stop", "base", [], [])
    assert not await made.may(Person(answer), "base", "KILL?", [], "Kill", typed=True)


@pytest.mark.parametrize("typed", [True, False])
async def test_in_the_midst_of_an_act_the_name_is_typed_for_what_cannot_be_taken_back(
    typed: bool,
) -> None:
    made, _ = guard(attended=True)
    person = Person("Kill")
    assert await made.may(person, "base", "KILL?", ["process 7"], "Kill", typed=typed)
    (question,) = person.asked
    assert question.must_type == ("base" if typed else None)
    assert question.deliberate


async def test_without_a_person_only_the_command_line_confirms_and_only_who_it_names() -> None:
    made, _ = guard(apply=True, yes_targets=frozenset({"base"}))
    assert await made.confirm(Nobody(), "stop", "base", [], ["busy"]) == "--yes-target"
    with pytest.raises(Refused, match="--yes-target spec is missing"):
        await made.confirm(Nobody(), "stop", "spec", [], [])
    assert not await made.may(Nobody(), "base", "KILL?", [], "Kill", typed=False)


async def test_where_a_person_is_the_command_line_confirms_nothing_for_them() -> None:
    made, _ = guard(apply=True, attended=True, yes_targets=frozenset({"base"}))
    with pytest.raises(Refused, match="not confirmed"):
        await made.confirm(Person("Cancel"), "stop", "base", [], [])


def test_a_server_or_host_can_be_read_only_for_good() -> None:
    server = Server("base", "s", Arm.BASELINE, "http://127.0.0.1:1")
    closed = Server("spec", "s", Arm.SPECULATIVE, "http://127.0.0.1:1", read_only=True)
    slots = (Slot("s", "h"),)
    fleet = Fleet("f", (Host("h"),), slots, (server, closed))
    assert never(fleet, server) is None
    assert never(fleet, closed) == "spec is read_only in the fleet file"
    shut = Fleet("f", (Host("h", read_only=True),), slots, (server,))
    assert never(shut, server) == "host h is read_only in the fleet file"


def read(pace: Pace = PACE, log: str = "/l", **given: str | int | float) -> Request:
    return read_request("restart", "base", given, log, pace, Masks())


def test_what_an_act_is_asked() -> None:
    request = read(
        env="NCCL_ALGO=Ring 'A=one two' EMPTY= -NCCL_PROTO", see="ranks nccl", kill_after=30,
        on_fail="rollback",
    )  # fmt: skip
    assert request.wanted == {
        "SPT_NOENV": "1",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,ENV",
        "NCCL_DEBUG_FILE": "/l.nccl.%h.%p",
        "NCCL_ALGO": "Ring",
        "A": "one two",
        "EMPTY": "",
        "NCCL_PROTO": None,
    }
    assert (request.grace_s, request.kill_s, request.ready_s) == (60.0, 30.0, 900.0)
    assert request.roll_back
    assert read().kill_s is None
    scaled = read(PACE.scaled(10), kill_after=30)
    assert (scaled.grace_s, scaled.kill_s, scaled.ready_s) == (6.0, 3.0, 90.0)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"env": "NCCL ALGO=Ring"}, 'not "NCCL"'),
        ({"env": "1A=2"}, 'not "1A=2"'),
        ({"env": "--verbose"}, 'not "--verbose"'),
        ({"env": "A='"}, "no closing quotation"),
        ({"env": "A=a\x01b"}, "control characters"),
        ({"see": "everything"}, 'not "everything"'),
        ({"on_fail": "maybe"}, 'not "maybe"'),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        read_request("restart", "base", given, "/l", PACE, Masks())


def test_a_secret_that_is_wanted_is_masked_from_then_on() -> None:
    masks = Masks()
    read_request("restart", "base", {"env": "HF_TOKEN=abcdefgh12345678"}, "", PACE, masks)
    assert masks.mask("it said abcdefgh12345678 aloud") == "it said <masked> aloud"


def test_nccl_cannot_tell_beside_no_log() -> None:
    with pytest.raises(BadRequest, match="it has none"):
        read(log="", see="nccl")
