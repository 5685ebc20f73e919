"""The verbs env and profile: what is in effect against what was asked for, from State."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.control.environments import (
    as_env,
    as_text,
    env_outcome,
    profile_outcome,
)
from console.control.port import Argument, Outcome
from console.model.clock import ManualClock
from console.model.exits import Exit
from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.model.mask import Masks
from console.model.text import Clean
from console.nccl.profile import Profile
from console.store.profiles import profiles_path, save_profile
from console.stream.events import Event
from console.stream.fact import Completeness
from console.stream.fold import fold_all
from console.stream.server_events import EnvDrifted, EnvRead, ProcessSeen
from console.stream.state import State

NAME = Clean("s")
SIX = {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring", "NCCL_BUFFSIZE": "16777216"}


def state(values: dict[str, str], how: Completeness = Completeness.WHOLE) -> State:
    pairs = tuple((Clean(name), Clean(value)) for name, value in values.items())
    return fold_all(
        State(), [EnvRead(NAME, Clean("launcher"), how, pairs, 7), ProcessSeen(NAME, 7)]
    )


def fleet(folder: Path | None = None) -> Fleet:
    server = Server("s", "slot", Arm.BASELINE, "http://x")
    path = str(folder / "fleet.toml") if folder is not None else ""
    return Fleet("f", (Host("h"),), (Slot("slot", "h"),), (server,), path)


def env(held: State, folder: Path | None = None, **given: Argument) -> Outcome:
    return env_outcome(held, fleet(folder), "s", given, Masks())


def test_what_is_in_effect_is_given_and_comes_back() -> None:
    outcome = env(state(SIX | {"CUDA_DEVICE_MAX_CONNECTIONS": "8", "NCCL_ODD": "a b'c"}))
    assert (outcome.exit, outcome.results["count"]) == (Exit.OK, 4)
    back = as_env(str(outcome.results["env"]), fleet(), State())
    assert back == SIX | {"NCCL_ODD": "a b'c"}
    assert outcome.results["source"] == "launcher"


@pytest.mark.parametrize(
    ("held", "exit_", "said"),
    [
        (SIX, Exit.OK, "all 3 variables are in effect"),
        (SIX | {"NCCL_BUFFSIZE": "0x1000000"}, Exit.OK, "all 3 variables are in effect"),
        ({}, Exit.ASSERTION, "NCCL_PROTO is lost; NCCL_ALGO is lost; NCCL_BUFFSIZE is lost"),
        (SIX | {"NCCL_PROTO": "Simple"}, Exit.ASSERTION, "NCCL_PROTO is Simple, not LL"),
    ],
)
def test_what_must_be_in_effect(held: dict[str, str], exit_: Exit, said: str) -> None:
    outcome = env(state(held), same_as=as_text(SIX))
    assert (outcome.exit, outcome.text) == (exit_, said)


def test_a_drift_is_a_result_that_a_script_can_hold() -> None:
    assert env(state(SIX)).results["drift"] == "none"
    why = Clean("server restarted; NCCL_PROTO lost")
    lost = EnvDrifted(NAME, (Clean("NCCL_PROTO"),), (), why)
    drifted = fold_all(state(SIX), [lost])
    assert env(drifted).results["drift"] == why
    again = fold_all(drifted, [EnvDrifted(NAME, (), (), Clean("as in the last good run"))])
    assert env(again).results["drift"] == "none"


def test_what_could_not_be_read_is_not_called_lost() -> None:
    outcome = env(state({}, Completeness.PARTLY), same_as="NCCL_PROTO=LL")
    assert (outcome.exit, outcome.text) == (Exit.ASSERTION, "NCCL_PROTO could not be read")
    assert outcome.results["whole"] == "no"


def test_a_profile_or_a_server_stands_for_its_variables(tmp_path: Path) -> None:
    save_profile(profiles_path(tmp_path / "fleet.toml"), Profile("llring", SIX))
    assert env(state(SIX), tmp_path, same_as="llring").ok
    assert env(state(SIX), tmp_path, same_as="s").ok
    assert env(state({}), tmp_path, same_as="llring").exit is Exit.ASSERTION
    outcome = env(state(SIX), tmp_path, same_as="nothing")
    assert outcome.text == 's: "nothing" is no profile, no server and no NAME=VALUE'


def test_one_source_can_be_asked_for() -> None:
    assert env(state(SIX), read="launcher", match="NCCL_P*").results["count"] == 1
    outcome = env(state(SIX), read="rank 0")
    assert (outcome.exit, "nothing was read" in outcome.text) == (Exit.STEP, True)


def test_a_server_that_was_not_found_fails_the_step() -> None:
    gone = fold_all(State(), [ProcessSeen(NAME, None, why=Clean("nothing listens on port 8000"))])
    assert env(gone).text == "s: nothing listens on port 8000"
    assert env(State()).exit is Exit.STEP


def keep(folder: Path, **given: Argument) -> tuple[Outcome, list[Event]]:
    told: list[Event] = []
    fields = {"name": "llring", "env": as_text(SIX), **given}
    home = fleet(folder)
    return profile_outcome(home, "s", fields, told.append, ManualClock(), Masks()), told


def test_a_profile_is_kept_and_wanted_at_once(tmp_path: Path) -> None:
    outcome, told = keep(tmp_path, origin="plan.md:212")
    assert (outcome.exit, outcome.text) == (Exit.OK, "llring: 3 variables, wanted for s")
    (event,) = told
    assert isinstance(event, EnvRead)
    assert (event.source, event.why, dict(event.values)) == (
        "wanted",
        "llring from plan.md:212",
        SIX,
    )
    again, _ = keep(tmp_path)
    assert again.text == 'a profile is named "llring" already'
    assert keep(tmp_path, replace="yes", env="NCCL_PROTO=LL\nNCCL_ALGO=Tree\n")[0].ok


def test_a_profile_without_a_place_or_variables_is_refused(tmp_path: Path) -> None:
    assert keep(tmp_path, env="nothing")[0].exit is Exit.STEP
    assert keep(tmp_path, name="no name")[0].exit is Exit.STEP
    nowhere = profile_outcome(
        fleet(), "s", {"name": "a", "env": "NCCL_A=1"}, print, ManualClock(), Masks()
    )
    assert nowhere.text == "there is no fleet file to keep a profile beside"
