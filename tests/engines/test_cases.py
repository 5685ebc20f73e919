"""Logs as people really have them: what must come of each, value by value.

Standings are the watch rules' and not asserted here; what they rest on is.
"""

from __future__ import annotations

import pytest

from console.engines.eta import eta, stalled, waiting_for
from console.engines.facts import (
    AccessSeen,
    ArgsSeen,
    BarSeen,
    DecodeSeen,
    ExitSeen,
    FailureSeen,
    NcclInitSeen,
    NcclLinkSeen,
    NcclSetSeen,
    NoteSeen,
    PrefillSeen,
    SpecSeen,
    StatsSeen,
    TimingSeen,
)
from console.engines.failures import summary
from console.engines.rates import definition
from console.engines.severity import noise, severity
from console.engines.stamps import clock_offset_s, seconds
from console.model.fleet import Arm, Engine
from tests.engines.observing import CASES, Observed, case, expected, observe

LOGS = sorted(p.name[:2] for p in CASES.glob("*.txt") if not p.name.startswith(("35-", "37-")))
FLAGGED_AS_WELL = {"13": [902.77]}  # its comment says so: it follows a pause of 27 s
FINDINGS = {"05"}  # their severity follows from several lines: watch rules


def seen(number: str) -> Observed:
    return observe(case(number))


@pytest.mark.parametrize("number", LOGS)
def test_settled_values(number: str) -> None:
    """Every key that concerns reading, in every case that states it."""
    want, got = expected(number), seen(number)
    if "tok_s" in want:
        assert got.tok_s == want["tok_s"]
    if "unreliable" in want:
        assert got.unreliable == want["unreliable"] + FLAGGED_AS_WELL.get(number, [])
    if "accept_len" in want:
        assert got.accept_len == want["accept_len"]
    if "running" in want:
        assert got.running == want["running"]
    if "phase" in want:
        assert got.load.phase == want["phase"]
    if "bars" in want:
        assert [str(b) for b in got.load.bars] == want["bars"]
    if "load_weight_end" in want:
        assert waiting_for(got.load) == want["load_weight_end"]
    if "kv_tokens" in want:
        assert got.load.kv_tokens == want["kv_tokens"]
    if "arm" in want:
        assert str(got.arm).startswith(want["arm"])
    if "wrapper" in want:
        assert want["wrapper"] in {line.head.wrapper for line in got.lines}
    if "sources" in want:
        assert {line.head.source for line in got.lines if line.head.source} == set(want["sources"])
    if "severity" in want and number not in FINDINGS:
        assert got.severity == want["severity"]
    assert got.load.engine == Engine(want["engine"])


@pytest.mark.parametrize("number", [n for n in LOGS if "draft_tokens" in expected(n)])
def test_draft_tokens_follow_from_the_two_figures(number: str) -> None:
    got = seen(number)
    found = definition(zip(got.accept_len, got.accept_rate, strict=True))
    assert found is not None
    assert found.draft_tokens == expected(number)["draft_tokens"]
    old = number in ("01", "13")
    assert found.rate == ("len / draft tokens" if old else "correct / proposed")


def test_case_01_own_probes_are_noise() -> None:
    got = seen("01")
    reliable = [r.tok_s for r in got.rates if not r.doubt]
    assert round(sum(reliable[:5]) / 5, 1) == 185.7
    assert round(sum(reliable[5:]) / 3, 1) == 230.1
    kinds = [noise(line) for line in got.lines]
    assert kinds.count("probe") == 2
    assert kinds.count("poll") == 2
    assert [p.probe for p in got.facts(PrefillSeen)] == [False, True, True, False]


def test_case_03_load_stands_in_the_extend_pass() -> None:
    load = seen("03").load
    assert load.running is not None
    assert (load.running.arm, load.running.draft_model) == (
        Arm.SPECULATIVE,
        "/srv/models/halcyon-72b-eagle3",
    )
    left = eta(load)
    assert left is not None
    assert (round(left.seconds), left.basis, left.covers) == (48, "own rate", "bar")


def test_case_03_a_warning_and_its_source_line_are_one_record() -> None:
    placed = seen("03").placed
    warned = next(p for p in placed if "UserWarning" in p.line.text)
    assert [p.line.text for p in placed if p.record == warned.record][1:] == [
        "  torch._dynamo.utils.warn_once(msg)"
    ]
    assert {severity(p.line) for p in placed if "[Gloo]" in p.line.text} == {"info"}


def test_case_05_one_rank_is_set_otherwise_and_missing() -> None:
    got = seen("05")
    by_value: dict[tuple[str, str], list[int]] = {}
    for fact in got.facts(NcclSetSeen):
        by_value.setdefault((fact.name, fact.value), []).append(fact.device)
    assert {k: sorted(v) for k, v in by_value.items()} == {
        ("NCCL_P2P_LEVEL", "NVL"): [0, 1, 2, 3, 4, 5, 7],
        ("NCCL_P2P_LEVEL", "SYS"): [6],
        ("NCCL_IGNORE_CPU_AFFINITY", "1"): [6],
    }
    assert len(got.load.nccl_done) == 7
    assert got.load.missing_nccl() == (6,)
    assert [(f.rank, f.via) for f in got.facts(NcclLinkSeen)] == [
        (6, "SHM/direct/direct"),
        (1, "P2P/CUMEM/read"),
    ]
    why = stalled(got.load, 600_000_000, 300_000_000)
    assert why == "no progress for 10 min in distributed (NCCL init): 7/8, missing rank 6"
    assert len(got.facts(NcclInitSeen)) == 15


def test_case_05_the_torn_line_keeps_both_writers() -> None:
    got = seen("05")
    (found,) = [x for x in got.lines if x.text == "Found nccl from library libnccl.so.2"]
    assert found.head.ranks == "TP5"
    texts = [line.text for line in got.lines]
    assert "NCCL INFO Boot" in texts
    assert "strap: Using bond0:10.40.7.3<0>" in texts


def test_case_07_watchdog_and_its_dump() -> None:
    got = seen("07")
    assert got.incident is not None
    assert got.incident.reason == (
        "watchdog timeout 300 s (forward stuck in speculative verify), then SIGQUIT"
    )
    assert got.incident.began == "2026-05-17 04:25:58"
    assert got.incident.ranks == ("TP3", "TP1")
    assert {x.head.source for x in got.lines if x.head.wrapper == "docker compose"} == {
        "sglang-1",
        "router-1",
    }
    dump = next(p for p in got.placed if "Pyspy dump" in p.line.text)
    folded = [p for p in got.placed if p.record == dump.record]
    assert len(folded) == 15
    assert sum(1 for p in folded if not p.line.text.strip()) == 3
    assert {p.owner.ranks for p in folded} == {"TP6"}
    assert got.facts(ExitSeen) == [ExitSeen("sglang-1", 137)]
    router = [severity(x) for x in got.lines if x.head.source == "router-1"]
    assert router == ["info", "warning", "error"]


def test_case_09_two_pods_and_two_clocks() -> None:
    got = seen("09")
    assert {x.head.source for x in got.lines} == {"halcyon-0/sglang", "halcyon-0-1/sglang"}
    assert {x.head.wrapper for x in got.lines} == {expected("09")["wrapper"]}
    decode = next(x for x in got.lines if isinstance(x.fact, DecodeSeen))
    assert clock_offset_s(decode.head.at, decode.head.outer) == 7200
    assert noise(got.lines[-1]) == "blank"
    by_outer = sorted(got.lines, key=lambda x: seconds(x.head.outer) or 0.0)
    assert [x.head.source for x in by_outer[-3:]] == [
        "halcyon-0/sglang",
        "halcyon-0/sglang",
        "halcyon-0-1/sglang",
    ]


def test_case_11_the_kernel_names_the_cause() -> None:
    got = seen("11")
    assert got.incident is not None
    assert got.incident.reason == (
        "the kernel's OOM killer ended sglang::schedul: host memory ran out"
        " (the cgroup's limit), not GPU memory"
    )
    assert got.incident.remedy.startswith("Raise the cgroup's memory limit")
    assert got.incident.cause.get("process") == "sglang::schedul"
    assert [e.restarts for e in got.facts(ExitSeen) if e.restarts is not None] == [4]
    assert NoteSeen("214B withheld by the journal") in got.facts(NoteSeen)
    assert {x.head.outer[:6] for x in got.lines if x.text} == {"Dez 02"}
    assert seconds(got.lines[0].head.at) is not None


def test_case_13_an_aborted_request_is_an_error_and_no_failure() -> None:
    got = seen("13")
    assert got.incident is None
    assert severity(got.lines[-1]) == "error" or severity(got.lines[-2]) == "error"
    decode = [x for x in got.lines if isinstance(x.fact, DecodeSeen)]
    assert [(x.head.pid, x.fact.graph) for x in decode if isinstance(x.fact, DecodeSeen)] == [
        (40712, False),
        (40712, False),
        (40712, True),
    ]


def test_case_15_prefixes_that_lost_their_escape() -> None:
    got = seen("15")
    ranks = {x.head.ranks: x.head.pid for x in got.lines if x.head.process == "VllmWorker"}
    assert ranks == {"rank 0": 3310, "rank 1": 3311}
    bars = [x for x in got.lines if isinstance(x.fact, BarSeen)]
    assert {(b.head.process, b.head.pid) for b in bars} == {("VllmWorker", 3310)}
    assert got.arm is None


def test_case_17_another_process_holds_the_gpu() -> None:
    got = seen("17")
    assert got.incident is not None
    assert got.incident.reason == expected("17")["reason"] + "; process 91022 holds 11.40 GiB"
    assert ("other", "91022 holds 11.40 GiB") in got.incident.cause.detail
    assert got.incident.began == "2026-04-03 22:18:45"
    assert str(got.load.bar) == "draft graphs 1/12"
    crash = next(p for p in got.placed if "hit an exception" in p.line.text)
    folded = [p.line.text for p in got.placed if p.record == crash.record]
    assert folded[0].startswith("Scheduler hit an exception")
    assert any(t.startswith("Possible solutions") for t in folded)
    assert any(t.startswith("Open an issue") for t in folded)
    assert {p.owner.ranks for p in got.placed if p.record == crash.record} == {"TP3"}


def test_case_19_heads_in_the_middle_of_lines() -> None:
    got = seen("19")
    assert got.incident is not None
    assert got.incident.reason == expected("19")["reason"]
    sigquit = next(x for x in got.lines if x.fact == FailureSeen("sigquit"))
    assert sigquit.head.at == "2026-04-23 16:07:35"
    torch = next(x for x in got.lines if x.head.style == "torch")
    assert (torch.head.ranks, torch.head.at[:13]) == ("rank 2", "423 16:07:35.")
    assert seconds(torch.head.at) is not None
    assert len({p.record for p in got.placed}) == 6
    assert "out of memory" not in got.incident.reason


def test_case_21_the_rank_that_did_not_time_out() -> None:
    got, want = seen("21"), expected("21")
    assert got.incident is not None
    assert got.incident.reason == want["reason"]
    assert sorted(got.incident.ranks) == [f"rank {n}" for n in want["timed_out_ranks"]]
    assert got.incident.suspect == f"rank {want['culprit_candidate']}"
    assert got.incident.remedy.startswith(f"look at rank {want['culprit_candidate']} first")
    torch = [p for p in got.placed if p.line.head.style == "torch"]
    assert len({p.record for p in torch}) == 1
    assert {p.line.head.outer for p in torch} == {"2026-11-04T06:18:22.30194416Z"}


def test_case_23_a_compile_bar_explains_the_silence() -> None:
    got = seen("23")
    assert got.incident is None
    bars = got.facts(BarSeen)
    assert [(b.kind, round(b.fraction, 2)) for b in bars] == [
        ("compile", 0.18),
        ("compile", 0.43),
        ("compile", 1.0),
    ]
    assert bars[1].eta_s == 178
    failed = got.facts(FailureSeen)
    assert [f.get("last") for f in failed if f.marker == "health-timeout"] == ["14:37:11"] * 2
    assert got.lines[0].fact == AccessSeen("POST", "/v1/chat/completions", 200, "10.71.8.1:51812")
    assert got.lines[0].head.at == "2026-09-22 14:37:02"


def test_case_25_the_late_port() -> None:
    got = seen("25")
    assert got.incident is not None
    assert got.incident.reason == expected("25")["reason"]
    assert got.load.incident == got.incident
    assert not got.load.ready
    first = next(f for f in got.facts(FailureSeen))
    assert (first.marker, first.get("port")) == ("port-next", "30003")
    began = got.load.stages[0].began_s
    end = seconds("2026-11-20 18:54:42")
    assert began is not None
    assert end is not None
    assert end - began == 14 * 60 + 40


def test_case_27_a_retraction_is_no_failure() -> None:
    got = seen("27")
    assert got.incident is None
    assert {f.accept_len for f in got.facts(DecodeSeen)} == {None}
    assert got.facts(DecodeSeen)[-1].queue == expected("27")["queue_last"]
    marks = [x for x in got.lines if x.fact == FailureSeen("kv-full")]
    assert [m.head.at for m in marks] == ["2026-06-30 17:22:06"]


def test_case_29_windows_and_fractions() -> None:
    got = seen("29")
    assert [round(s.fraction, 3) for s in got.facts(SpecSeen)] == expected("29")["accept_fraction"]
    assert got.load.ready
    assert got.load.version == "0.30.1"
    (args, engine) = got.facts(ArgsSeen)
    assert args.args["api_key"] == ["vk-TERN-3391"]  # the caller masks
    assert engine.version == "0.30.1"
    assert [s.usage for s in got.facts(StatsSeen)] == [0.021, 0.021, 0.0]


def test_case_31_relative_stamps_and_two_kinds_of_rate() -> None:
    got = seen("31")
    timings = got.facts(TimingSeen)
    prompt = [t.tok_s for t in timings if t.kind == "progress"]
    assert prompt == expected("31")["prompt_tok_s"]
    assert [r.kind for r in got.rates] == ["live", "live", "request"]
    assert [s.fraction for s in got.facts(SpecSeen)] == [expected("31")["accept_fraction"][0]]
    first = next(x for x in got.lines if x.text.startswith("slot get_availabl"))
    assert seconds(first.head.at) == pytest.approx(2 * 3600 + 27 * 60 + 31.402115)
    assert got.facts(AccessSeen) == [AccessSeen("POST", "/completion", 200, "192.168.7.20")]


def test_case_33_offered_tokens_are_no_rate() -> None:
    got = seen("33")
    assert got.tok_s == []
    assert {x.head.at[:10] for x in got.lines if x.head.style == "trtllm"} == {"11/03/2026"}
    assert seconds("11/03/2026-09:20:10") == seconds("2026-11-03 09:20:10")


def test_case_39_words_that_look_like_secrets_are_read() -> None:
    got = seen("39")
    args = got.facts(ArgsSeen)[0].args
    assert args["token_usage_alert"] == 0.95
    assert args["ssl_keyfile_password"] == "plover pass"
    assert got.facts(DecodeSeen)[0].usage == 0.0


def test_a_summary_exists_for_every_failure_seen() -> None:
    """No marker that the cases show is left without words."""
    for number in LOGS:
        for fact in seen(number).facts(FailureSeen):
            assert len(summary(fact)) > 8
