"""Every line of the real logs is read, or plain for a reason that is given here."""

from __future__ import annotations

import re

import pytest

from console.engines.facts import (
    AccessSeen,
    DecodeSeen,
    FailureSeen,
    NoteSeen,
    PhaseSeen,
    PrefillSeen,
    StartupTimesSeen,
)
from console.engines.severity import noise
from tests.engines.observing import capture, observe

LOGS = ("sglang-baseline.log", "sglang-ngram.log", "sglang-apikey.log", "llamacpp-draft.log")

PLAIN: tuple[tuple[str, str], ...] = (
    (r"  ?File \"|  await |  return |  self\.|  Example: |  warnings\.", "source line of a record"),
    (r" - (?:leaked|\.\.\.)|nanobind: |See https://nanobind", "a library's exit report"),
    (r"\S+:\d+: \w*Warning: ", "a Python warning"),
    (r"Ignore import error when loading", "a model class that this build cannot load"),
    (r"'--disable-cuda-graph' is deprecated", "an argument's old spelling"),
    (r"Cannot detect CUDA|Fail to set RLIMIT|init_(?:threads|cpu)", "about the CPU engine"),
    (r"(?:Cuda graph is disabled|Disable prefill CUDA graph)", "graphs are off: also in the args"),
    (r"(?:Overlap schedule|The mixed chunked prefill)", "an argument changed: also in the args"),
    (r"Config logging: obj=|Profiling starts\.", "answer to a request of the capture"),
    (r"USDT:|Warning: `PythonTracer", "torch's profiler"),
    (r"No live scheduler|Sleeping \d+ seconds", "follows the crash line"),
    (r"http://\d", "printed by the script that started it"),
    (r"(?:cmn|srv|slot) +\w+: ", "llama.cpp's setting or choice; nothing to count"),
)


@pytest.mark.parametrize("name", LOGS)
def test_no_line_is_unexplained(name: str) -> None:
    reasons = [(re.compile(pattern), reason) for pattern, reason in PLAIN]
    unexplained = [
        line.text
        for line in observe(capture(name).split("\n")).lines
        if line.fact is None and not any(p.match(line.text) for p, _ in reasons)
    ]
    assert unexplained == []


def test_every_reason_is_used() -> None:
    """A reason for nothing would hide a line that is read no more."""
    texts = [
        line.text
        for name in LOGS
        for line in observe(capture(name).split("\n")).lines
        if line.fact is None
    ]
    unused = [r for p, r in PLAIN if not any(re.match(p, t) for t in texts)]
    assert unused == []


def counts(name: str) -> dict[str, int]:
    """How many facts of each kind, against the plain occurrence of words in the file."""
    lines = observe(capture(name).split("\n")).lines
    kinds = (DecodeSeen, PrefillSeen, AccessSeen)
    return {k.__name__: sum(isinstance(x.fact, k) for x in lines) for k in kinds}


@pytest.mark.parametrize("name", LOGS[:3])
def test_nothing_is_missed(name: str) -> None:
    text = capture(name)
    assert counts(name) == {
        "DecodeSeen": text.count("Decode batch, "),
        "PrefillSeen": text.count("Prefill batch, "),
        "AccessSeen": text.count(' HTTP/1.1" '),
    }


def test_the_baseline_capture_in_figures() -> None:
    got = observe(capture("sglang-baseline.log").split("\n"))
    decode = got.facts(DecodeSeen)
    assert len(decode) == 68
    assert {f.accept_len for f in decode} == {None}
    assert decode[1].tok_s == 116.84
    probes = [x for x in got.lines if noise(x) == "probe"]
    polls = [x for x in got.lines if noise(x) == "poll" and "/health" in x.text]
    assert len(probes) <= len(polls)
    assert len(probes) >= 12
    assert [f.marker for f in got.facts(FailureSeen)].count("health-timeout") == 2
    times = dict(got.facts(StartupTimesSeen)[0].seconds)
    assert (times["load_weight"], times["tokenizer_e2e"]) == (0.08, 22.1)
    assert NoteSeen("cache flushed") in got.facts(NoteSeen)
    assert sum(noise(x) == "deprecation" for x in got.lines) == 4
    summary = [p for p in got.facts(PhaseSeen) if p.phase == "summary"]
    assert [(p.tokens, p.avail_gb) for p in summary] == [(8192, 21.74)]


def test_a_warning_and_its_source_line_are_one_record() -> None:
    got = observe(capture("sglang-apikey.log").split("\n"))
    records: dict[int, list[str]] = {}
    for placed in got.placed:
        records.setdefault(placed.record, []).append(placed.line.text)
    warned = [r for r in records.values() if "Duplicate Operation ID" in r[0]]
    assert len(warned) == 21
    assert {len(r) for r in warned} == {2}
    crash = next(r for r in records.values() if "Segfault encountered" in r[0])
    assert len(crash) > 20


def test_milliseconds_in_stamps() -> None:
    got = observe(capture("sglang-apikey.log").split("\n"))
    stamps = [x.head.at for x in got.lines if isinstance(x.fact, PrefillSeen)]
    assert all(re.fullmatch(r"2026-11-29 13:3\d:\d\d\.\d{3}", s) for s in stamps)
