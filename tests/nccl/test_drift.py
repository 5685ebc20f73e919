"""Drift between two records of a server."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from console.nccl.drift import Recorded, drift
from console.nccl.finding import Severity
from console.nccl.truth import Extent

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
LAST = Recorded(
    SIX | {"NCCL_DEBUG": "INFO"},
    boot_id="b1",
    container_id="c1",
    container_started=NOW - timedelta(days=20),
    process_started=NOW - timedelta(days=20),
    run_tok_s=90.1,
)


def test_the_night_of_the_six() -> None:
    started = NOW - timedelta(days=3, hours=2)
    now = replace(LAST, env={}, container_started=started, process_started=started)
    (found,) = drift(LAST, now, NOW)
    assert found.text == (
        "container restarted 3 days ago; NCCL_PROTO, NCCL_ALGO and 4 more lost "
        "since the run of 90.1 tok/s"
    )
    assert found.severity is Severity.ERROR
    assert found.names == tuple(SIX)


def test_nothing_changed() -> None:
    assert drift(LAST, LAST, NOW) == ()


def test_a_restart_alone_is_a_note() -> None:
    now = replace(LAST, process_started=NOW - timedelta(minutes=5))
    (found,) = drift(LAST, now, NOW)
    assert (found.kind, found.severity) == ("restarted", Severity.NOTE)
    assert found.text == "server restarted 5 minutes ago; nothing else changed"


def test_changed_and_new_values() -> None:
    env = {**LAST.env, "NCCL_PROTO": "Simple", "NCCL_CUMEM_ENABLE": "0"}
    changed, gained = drift(replace(LAST, run_tok_s=None), replace(LAST, env=env), NOW)
    assert changed.text == "NCCL_PROTO LL -> Simple changed"
    assert gained.text == "NCCL_CUMEM_ENABLE new"


def test_what_cannot_be_read_is_not_lost() -> None:
    now = replace(LAST, env={"NCCL_PROTO": "LL"}, extent=Extent.PARTLY, boot_id="b2")
    (found,) = drift(LAST, now, NOW)
    assert (found.kind, found.severity) == ("unreadable", Severity.WARNING)
    assert found.text.startswith("host rebooted 20 days ago; NCCL_ALGO, NCCL_P2P_LEVEL and 3 more")


def test_diagnostics_and_secrets_are_no_drift() -> None:
    last = Recorded({"NCCL_DEBUG": "INFO", "SGLANG_API_KEY": "x"})
    assert drift(last, Recorded({}), NOW) == ()


def test_what_was_never_fully_read_is_not_new() -> None:
    last = Recorded({}, Extent.PARTLY, container_id="c1")
    now = Recorded({"NCCL_PROTO": "LL"}, container_id="c2", container_started=NOW)
    (found,) = drift(last, now, NOW)
    assert found.text == "container replaced just now; nothing else changed"
