"""Real speculative decoding against real plain decoding, measured by the worker."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from console.bench.acceptance import Acceptance, from_counters
from console.bench.answer import Counted, count
from console.bench.arm import Measured, Trial
from console.bench.metrics import Figures, measure
from console.bench.provenance import Circumstances, Group
from console.bench.verdict import Word, verdict
from tests.bench import real
from tests.rig.llama import LlamaServer

pytestmark = [pytest.mark.rig, pytest.mark.alone]

TOKENS = 80
LOG_LINE = re.compile(
    r"draft acceptance = ([\d.]+) \( *(\d+) accepted / *(\d+) generated\), mean len = +([\d.]+)"
)
HERE = Circumstances(
    {
        "args": Group({"n_ctx": "2048", "n_threads": "1"}),
        "env": Group({}),
        "gpu": Group({"uuids": "no GPU"}),
    }
)


def test_a_draft_is_really_faster(llama_server: Callable[..., LlamaServer]) -> None:
    servers = [llama_server(spec=False), llama_server(spec=True)]
    with real.a_worker() as worker:
        for server in servers:
            server.wait_ready()
            worker.ask(server, TOKENS)
        plain, drafted = real.measured_in_turns(servers, worker, TOKENS, within=0.2)
    baseline = Measured("plain", tuple(plain), HERE)
    speculative = Measured("drafted", tuple(drafted), HERE)
    assert {tokens_of(trial) for trial in (*plain, *drafted)} == {TOKENS}
    found = verdict(baseline, speculative)
    assert found.word is Word.FASTER, found.lines()
    assert found.ratio is not None
    assert found.ratio.low > 1
    assert len({trial.text for trial in (*plain, *drafted)}) == 1


def tokens_of(trial: Trial) -> int:
    assert isinstance(trial.figures, Figures)
    return trial.figures.tokens


def test_acceptance_from_counters_is_the_servers_own(
    llama_server: Callable[..., LlamaServer],
) -> None:
    server = llama_server(spec=True)
    server.wait_ready()
    with real.a_worker() as worker:
        before = real.counters(server)
        answer = worker.ask(server, TOKENS)
        after = real.counters(server)
    server.stop()
    rate, accepted, proposed, mean_length = LOG_LINE.findall(server.log.read_text())[-1]
    found = from_counters(before, after, TOKENS)
    assert isinstance(found, Acceptance)
    assert f"{found.rate:.5f}" == rate
    assert f"{found.length:.2f}" == mean_length
    assert answer.timings["draft_n_accepted"] == int(accepted)
    assert answer.timings["draft_n"] == int(proposed)
    assert count(answer, TOKENS) == Counted(
        TOKENS, ("running count", "token ids", "requested length")
    )
    figures = measure(answer, TOKENS, before, after)
    assert isinstance(figures, Figures)
    assert figures.void == ()
    assert figures.acceptance is not None
    assert figures.acceptance.rate == pytest.approx(found.rate)
    assert figures.acceptance.passes >= found.passes
    assert figures.decode_tok_s == pytest.approx(
        float(str(answer.timings["predicted_per_second"])), rel=0.05
    )
