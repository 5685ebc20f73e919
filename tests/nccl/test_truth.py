"""What is in effect in a running server, and what may not be concluded."""

from __future__ import annotations

from console.nccl.allreduce import Path, allreduce_path
from console.nccl.truth import (
    CellState,
    Extent,
    Reading,
    Row,
    Source,
    Verdict,
    in_effect,
    same_reading,
    truth,
)
from console.nccl.version import Version

WANTED = Reading(Source.WANTED, "ring-ll", {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"})
PARTLY = "part of the block is zeroed"


def rank(number: int, values: dict[str, str], extent: Extent = Extent.WHOLE) -> Reading:
    reason = PARTLY if extent is Extent.PARTLY else ""
    return Reading(Source.RANK, f"rank {number}", values, extent, reason)


def row(rows: tuple[Row, ...], name: str) -> Row:
    return next(one for one in rows if one.name == name)


def test_whole_ranks_decide() -> None:
    rows = truth([WANTED, *(rank(n, {"NCCL_PROTO": "LL", "NCCL_NTHREADS": "512"}) for n in (0, 1))])
    assert row(rows, "NCCL_PROTO").verdict is Verdict.SAME
    assert row(rows, "NCCL_ALGO").verdict is Verdict.LOST
    assert row(rows, "NCCL_NTHREADS").verdict is Verdict.EXTRA
    assert row(rows, "NCCL_PROTO").effect.by == "rank 0"


def test_a_partly_zeroed_rank_says_nothing_about_what_it_lacks() -> None:
    rows = truth([WANTED, rank(0, {"NCCL_CUMEM_ENABLE": "0"}, Extent.PARTLY)])
    lost = row(rows, "NCCL_PROTO")
    assert lost.verdict is Verdict.UNREADABLE
    assert lost.effect.why == PARTLY
    assert [cell.state for cell in lost.cells] == [CellState.VALUE, CellState.UNREADABLE]
    assert row(rows, "NCCL_CUMEM_ENABLE").verdict is Verdict.EXTRA
    assert row(rows, "NCCL_CUMEM_ENABLE").effect.value == "0"


def test_the_tracker_stands_in_and_is_named() -> None:
    tracker = Reading(Source.TRACKER, "pid 90", {"NCCL_PROTO": "LL"})
    rows = truth([WANTED, rank(0, {}, Extent.PARTLY), tracker])
    assert row(rows, "NCCL_PROTO").verdict is Verdict.SAME
    assert row(rows, "NCCL_ALGO").verdict is Verdict.LOST
    assert row(rows, "NCCL_PROTO").effect.by == "pid 90"
    assert PARTLY in row(rows, "NCCL_PROTO").effect.why


def test_ranks_that_differ() -> None:
    rows = truth([WANTED, rank(0, {"NCCL_PROTO": "LL"}), rank(1, {"NCCL_PROTO": "Simple"})])
    assert row(rows, "NCCL_PROTO").verdict is Verdict.DIFFERS
    assert row(rows, "NCCL_PROTO").effect.split == ("LL", "Simple")
    rows = truth([WANTED, rank(0, {"NCCL_PROTO": "LL"}), rank(1, {})])
    assert row(rows, "NCCL_PROTO").effect.split == ("LL", "unset")


def test_the_engine_overrides_or_fills() -> None:
    launcher = Reading(Source.LAUNCHER, "pid 7", {"NCCL_CUMEM_ENABLE": "1"})
    values = {"NCCL_CUMEM_ENABLE": "0", "NCCL_NVLS_ENABLE": "0"}
    forced = Reading(Source.ENGINE, "sglang 0.5.3", values)
    filled = Reading(Source.ENGINE, "sglang 0.5.23", values, only_if_unset=frozenset(values))
    assert in_effect("NCCL_CUMEM_ENABLE", [launcher, forced]).value == "0"
    assert in_effect("NCCL_CUMEM_ENABLE", [launcher, filled]).value == "1"
    assert in_effect("NCCL_NVLS_ENABLE", [launcher, filled]).value == "0"


def test_conf_files_count_only_where_the_environment_is_known_to_be_empty() -> None:
    own = Reading(Source.CONF_FILE, "~/.nccl.conf", {"NCCL_PROTO": "Simple"})
    site = Reading(Source.CONF_FILE, "/etc/nccl.conf", {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"})
    files = [own, site]
    effect = in_effect("NCCL_PROTO", [rank(0, {}), *files])
    assert (effect.value, effect.by) == ("Simple", "~/.nccl.conf")
    assert in_effect("NCCL_ALGO", [rank(0, {}), *files]).value == "Ring"
    assert in_effect("NCCL_PROTO", [rank(0, {"NCCL_PROTO": "LL128"}), *files]).value == "LL128"
    assert not in_effect("NCCL_PROTO", [rank(0, {}, Extent.PARTLY), *files]).known
    unread = Reading(Source.CONF_FILE, "/etc/nccl.conf", {}, Extent.UNREADABLE, "not permitted")
    rows = truth([WANTED, rank(0, {}), unread])
    assert row(rows, "NCCL_PROTO").verdict is Verdict.UNREADABLE
    assert "not permitted" in row(rows, "NCCL_PROTO").effect.why


def test_an_empty_value_hides_a_conf_file() -> None:
    site = Reading(Source.CONF_FILE, "/etc/nccl.conf", {"NCCL_PROTO": "LL"})
    assert in_effect("NCCL_PROTO", [rank(0, {"NCCL_PROTO": ""}), site]).value == ""


def test_nccl_s_own_log_comes_first_and_its_silence_proves_nothing() -> None:
    log = Reading(Source.NCCL_LOG, "server.log", {"NCCL_PROTO": "Simple"})
    rows = truth([WANTED, rank(0, {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}), log])
    assert row(rows, "NCCL_PROTO").verdict is Verdict.DIFFERS
    assert row(rows, "NCCL_ALGO").verdict is Verdict.SAME
    assert row(rows, "NCCL_ALGO").cells[-1].state is CellState.SILENT
    assert row(truth([WANTED, log]), "NCCL_ALGO").verdict is Verdict.UNKNOWN


def test_without_a_profile_the_recipe_is_the_wish() -> None:
    recipe = Reading(Source.RECIPE, "argv", {"NCCL_PROTO": "LL"})
    assert row(truth([recipe, rank(0, {})]), "NCCL_PROTO").verdict is Verdict.LOST
    assert row(truth([rank(0, {"NCCL_PROTO": "LL"})]), "NCCL_PROTO").verdict is Verdict.UNKNOWN


def test_another_user_s_process_is_unreadable() -> None:
    closed = Reading(Source.RANK, "rank 0", {}, Extent.UNREADABLE, "owned by root")
    assert row(truth([WANTED, closed]), "NCCL_PROTO").verdict is Verdict.UNREADABLE


def test_only_known_names_are_shown_and_diagnostics_come_last() -> None:
    values = {"NCCL_DEBUG": "INFO", "HF_TOKEN": "x", "NCCL_PROTO": "LL", "SGLANG_API_KEY": "y"}
    rows = truth([WANTED, rank(0, values)])
    assert [one.name for one in rows] == ["NCCL_ALGO", "NCCL_PROTO", "NCCL_DEBUG"]
    assert [one.diagnostic for one in rows] == [False, False, True]


def test_values_are_compared_as_nccl_reads_them() -> None:
    version = Version(2, 27, 7)
    assert same_reading("NCCL_BUFFSIZE", "0x1000000", "16777216", version)
    assert not same_reading("NCCL_BUFFSIZE", "16M", "16777216", version)
    assert not same_reading("NCCL_ALGO", "bad", "worse", version)


def test_the_all_reduce_path_is_named_with_its_proof() -> None:
    refused = (
        "[2026-01-02 03:04:05 TP0] Custom allreduce is disabled because it's not supported on "
        "more than two PCIe-only GPUs."
    )
    path = allreduce_path(["start", refused])
    assert (path.path, path.proof, path.line, path.caution) == (Path.NCCL, refused, 2, "")
    path = allreduce_path(["Registering 1210 cuda graph addresses"])
    assert path.path is Path.CUSTOM
    assert path.caution == "collective variables may not reach decode"
    assert allreduce_path([], ["--tp", "8"]).path is Path.UNKNOWN
    asked = allreduce_path([], ["--tp", "8", "--disable-custom-all-reduce"])
    assert (asked.path, asked.proof) == (Path.NCCL, "--disable-custom-all-reduce")
    assert allreduce_path([refused], ["--enable-symm-mem"]).path is Path.SYMMETRIC
    assert allreduce_path([], ["--enable_symm_mem=false"]).path is Path.UNKNOWN
