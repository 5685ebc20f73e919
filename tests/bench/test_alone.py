"""Single stream, verified."""

from __future__ import annotations

import pytest

from console.bench.alone import Company, Queue, company

EMPTY, OWN, TWO, THREE = Queue(0, 0), Queue(1, 0), Queue(1, 1), Queue(2, 1)


def test_alone() -> None:
    assert company(EMPTY, [OWN, OWN, EMPTY]) == Company()


def test_somebody_was_there_first() -> None:
    assert company(OWN, [OWN]).void == ("1 other request was told before the run",)
    assert company(TWO, [TWO], counted=True).void[0] == "2 other requests were told before the run"


def test_a_gauge_that_lags_is_nobody_where_totals_count_the_run_alone() -> None:
    lagging = company(OWN, [OWN, OWN], counted=True)
    assert lagging.void == ()
    assert lagging.notes == ("1 other request was told before the run, none beside it",)
    assert company(OWN, [OWN, TWO], counted=True).void[0].endswith("told before the run")
    assert company(OWN, [], counted=True).void != ()


@pytest.mark.parametrize(
    ("during", "probes", "voided"),
    [
        ([OWN, TWO], 0, True),
        ([OWN, TWO], 1, False),
        ([TWO, TWO], 1, True),
        ([OWN, THREE], 5, True),
    ],
)
def test_foreign_requests_void_and_own_probes_warn(
    during: list[Queue], probes: int, voided: bool
) -> None:
    found = company(EMPTY, during, probes)
    assert bool(found.void) is voided
    assert bool(found.notes) is not voided


@pytest.mark.parametrize(
    ("before", "during"), [(Queue(None, 0), [OWN]), (EMPTY, []), (EMPTY, [Queue(1, None), OWN])]
)
def test_an_unread_queue_is_not_an_empty_one(before: Queue, during: list[Queue]) -> None:
    found = company(before, during)
    assert found.void == ()
    assert "not proved to be alone" in found.notes[0]
