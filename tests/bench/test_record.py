"""The alarm of the baseline of record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from console.bench.provenance import Unset
from console.bench.record import (
    Departed,
    Entry,
    InHistory,
    NoHistory,
    against_history,
    stale,
)

START = datetime(2026, 2, 10, tzinfo=UTC)
TUNED = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}


def history(*rates: float) -> list[Entry]:
    return [
        Entry(START + timedelta(days=i), rate, launch="1", boot="a", environment=TUNED)
        for i, rate in enumerate(rates)
    ]


def fresh(rate: float, **fields: object) -> Entry:
    entry = Entry(START + timedelta(days=14), rate, launch="1", boot="a", environment=TUNED)
    for name, value in fields.items():
        object.__setattr__(entry, name, value)
    return entry


@pytest.mark.parametrize("count", [0, 1, 2])
def test_three_entries_are_needed(count: int) -> None:
    assert against_history(fresh(62.9), history(*[90.0] * count)) == NoHistory(count)


def test_a_fallen_baseline_is_said_with_what_changed() -> None:
    rebooted = fresh(62.9, launch="2", boot="b", environment={"NCCL_PROTO": Unset()})
    found = against_history(rebooted, history(90.0, 90.3, 90.1))
    assert isinstance(found, Departed)
    assert found.text == (
        "baseline 62.9 tok/s, 90.1 usual (last 12 days ago); host rebooted since;"
        " NCCL_ALGO Ring -> unset; NCCL_PROTO LL -> unset"
    )


def test_a_restart_or_an_unread_environment_is_said() -> None:
    found = against_history(fresh(62.9, launch="2", environment=None), history(90.0, 90.3, 90.1))
    assert isinstance(found, Departed)
    assert found.text.endswith("server restarted since; environment not read on both occasions")


@pytest.mark.parametrize(
    ("rates", "rate", "departed"),
    [
        ((90.0, 90.0, 90.0), 87.4, False),
        ((90.0, 90.0, 90.0), 87.2, True),
        ((90.0, 90.0, 90.0), 92.8, True),
        ((88.0, 90.0, 92.0), 84.1, False),
        ((88.0, 90.0, 92.0), 83.9, True),
    ],
)
def test_the_greater_of_three_percent_and_three_sds(
    rates: tuple[float, ...], rate: float, departed: bool
) -> None:
    found = against_history(fresh(rate), history(*rates))
    assert isinstance(found, Departed if departed else InHistory)


def test_an_old_baseline_goes_stale() -> None:
    (last,) = history(90.0)
    assert stale("1", "a", last) is None
    assert stale("2", "a", last) == "stale baseline: the server was started again since"
    assert stale("2", "b", last) == "stale baseline: the host was rebooted since"
    assert stale("", "", last) is None
