"""The catalogue is one consistent table: every row can be read by the parser it names."""

from __future__ import annotations

import re

from console.nccl.catalogue import catalogue, is_allowed, is_diagnostic, lookup, nearest
from console.nccl.check import read_value
from console.nccl.parse import Outcome
from console.nccl.version import NEWEST, Version, parse_version
from tests.nccl.nccl_check import compare, results

LIVE = [v for v in catalogue().values() if v.lives_in(NEWEST)]


def test_counts_of_the_binaries_hold() -> None:
    assert len(catalogue()) == 311
    assert len(LIVE) == 278
    assert sum(v.foreign for v in catalogue().values()) == 5


def test_it_names_what_real_libraries_read() -> None:
    """libnccl.toml is what `make nccl-check` took from the wheels themselves."""
    held = results()
    assert str(NEWEST) in held
    assert len(held[str(NEWEST)]) == 278
    assert len(held["2.27.7"]) == 170
    assert len(held) == 23
    for version, names in held.items():
        found = compare(version, names)
        assert (version, found.added, found.gone) == (version, (), ())


def test_every_row_is_complete() -> None:
    for variable in catalogue().values():
        assert re.fullmatch(r"NCCL_[A-Z0-9_]+", variable.name)
        assert variable.about.endswith("."), variable.name
        assert variable.default, variable.name
        assert variable.removed is None or variable.since <= variable.removed, variable.name
        if variable.removed and variable.replaced_by.startswith("NCCL_"):
            assert variable.replaced_by in catalogue(), variable.name


def test_a_default_is_read_as_itself() -> None:
    for variable in LIVE:
        default = variable.default_in(NEWEST)
        if default not in ("auto", "unset", "stdout"):
            reading = read_value(variable, default, NEWEST)
            assert reading.outcome is Outcome.TAKEN, (variable.name, reading)


def test_listed_values_are_taken() -> None:
    for variable in LIVE:
        for value in variable.values_in(NEWEST):
            if variable.name not in ("NCCL_NETDEVS_POLICY", "NCCL_NO_CACHE"):
                reading = read_value(variable, value, NEWEST)
                assert reading.outcome is Outcome.TAKEN, (variable.name, value, reading)


def test_defaults_and_names_follow_the_version() -> None:
    timeout = lookup("NCCL_IB_TIMEOUT")
    policy = lookup("NCCL_CTA_POLICY")
    assert timeout is not None
    assert policy is not None
    assert [timeout.default_in(Version(2, m)) for m in (10, 14, 23)] == ["14", "18", "20"]
    assert not policy.lives_in(Version(2, 26))
    assert policy.lives_in(Version(2, 27, 7))


def test_versions_are_found_in_text() -> None:
    assert parse_version("NCCL version 2.27.7+cuda12.9") == Version(2, 27, 7)
    assert parse_version("2.30") == Version(2, 30, 0)
    assert parse_version("no number") is None
    assert str(Version(2, 30)) == "2.30"


def test_near_names_and_shown_names() -> None:
    assert nearest("NCCL_DEBUGE") == "NCCL_DEBUG"
    assert nearest("NCCL_QQQQ_ZZZZ") == ""
    assert is_diagnostic("NCCL_DEBUG_SUBSYS")
    assert not is_diagnostic("NCCL_PROTO")
    assert is_allowed("NCCL_PROTO")
    assert is_allowed("SPT_NOENV")
    assert not is_allowed("HF_TOKEN")
    assert not is_allowed("SGLANG_API_KEY")
