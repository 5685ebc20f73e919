"""Expositions of every engine, as they are and broken in every way; what two of them say."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines.aliases import CANON
from console.engines.growth import acceptance, cache_hit, latency, live_tok_s, was_reset
from console.engines.histogram import Histogram
from console.engines.metrics import (
    MAX_BYTES,
    REFUSED_BYTES,
    TURN_BYTES,
    Metrics,
    Worker,
    in_turns,
    read_metrics,
)
from console.model.fleet import Engine
from tests.engines.observing import CASES, capture, expected


def only(body: str) -> Worker:
    worker = read_metrics(200, body).only
    assert worker is not None
    return worker


def test_a_speculating_sglang() -> None:
    seen = read_metrics(200, capture("sglang-ngram-metrics.txt"))
    assert seen.engine is Engine.SGLANG
    worker = only(capture("sglang-ngram-metrics.txt"))
    wanted = {
        "running": 0.0,
        "queued": 0.0,
        "cache_hit": 0.8,
        "accept_len": 1.1,
        "draft_tokens": 4.0,
        "verify_total": 734.0,
        "decode_tokens_total": 1307.0,
        "prefill_tokens_total": 55.0,
        "finished_tokens_total": 1308.0,
        "max_tokens": 8192.0,
    }
    assert {k: worker.get(k) for k in wanted} == wanted
    assert worker.get("accept_rate") == pytest.approx(1 / 30)
    assert set(worker.figures) <= set(CANON)
    itl = worker.histograms["itl"]
    assert itl.count == 1198
    assert itl.mean_s == pytest.approx(14.535075577 / 1198)
    assert worker.histograms["ttft"].count == 5  # streamed and not streamed together


def test_what_is_not_exported_is_none_and_nan_is_no_value() -> None:
    seen = read_metrics(200, capture("sglang-idle-metrics.txt"))
    worker = only(capture("sglang-idle-metrics.txt"))
    assert worker.get("verify_total") is None
    assert worker.get("accepted_total") is None
    text = 'vllm:num_requests_running{engine="0"} NaN\nvllm:num_requests_waiting 3\n'
    seen = read_metrics(200, text)
    assert [n.kind for n in seen.notices] == ["NaN"]
    assert seen.only is not None
    assert (seen.only.get("running"), seen.only.get("queued")) == (None, 3.0)


def test_underscores_routers_ranks_and_doubled_families() -> None:
    (path,) = CASES.glob("35-*.txt")
    want = expected("35")
    answers = re.split(r"\n(?=HTTP/)", path.read_text())
    first, second, third = (
        read_metrics(int(a.split()[1]), a.partition("\n\n")[2]) for a in answers
    )
    assert [w.address for w in first.workers] == want["workers"]
    by_host = {w.address.partition(":")[0]: w for w in first.workers}
    assert {h: round(w.figures["gen_tok_s"], 2) for h, w in by_host.items()} == want["tok_s"]
    assert {h: w.get("running") for h, w in by_host.items()} == want["running"]
    assert round(by_host["10.5.0.11"].figures["accept_len"], 3) == want["accept_len"]["10.5.0.11"]
    assert by_host["10.5.0.12"].get("accept_len") is None
    assert by_host["10.5.0.11"].get("decode_tokens_total") == want["decode_tokens_total"]
    assert {n.kind for n in first.notices} == {"doubled", "NaN"}
    assert second.workers == ()
    assert second.notices[0].kind == "not available"
    assert "Label names should agree" in second.notices[0].text
    assert third.notices[0].kind == "not exported"


def test_data_parallel_ranks_add_up_and_tensor_ranks_do_not() -> None:
    rows = [
        f'sglang:num_running_reqs{{dp_rank="{dp}",tp_rank="{tp}"}} {3 + dp}\n'
        f'sglang:token_usage{{dp_rank="{dp}",tp_rank="{tp}"}} 0.{dp + 1}\n'
        for dp in (0, 1)
        for tp in (0, 1)
    ]
    worker = only("".join(rows))
    assert (worker.get("running"), worker.get("token_usage")) == (7.0, 0.2)


def test_llamacpp_and_vllm() -> None:
    worker = only(capture("llamacpp-metrics.txt"))
    assert worker.get("decode_tokens_total") == 300
    assert worker.get("decode_seconds_total") == 0.809332
    assert worker.positions[0] == 34
    text = (
        "vllm:spec_decode_num_drafts_total 10\nvllm:spec_decode_num_accepted_tokens_total 16\n"
        "vllm:spec_decode_num_draft_tokens_total 30\nvllm:gpu_cache_usage_perc 0.25\n"
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 6\n'
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 10\n'
        "vllm:prefix_cache_queries_total 100\nvllm:prefix_cache_hits_total 25\n"
    )
    later = only(text)
    assert later.positions == (10.0, 6.0)
    assert later.get("token_usage") == 0.25
    start = Worker("", dict.fromkeys(later.figures, 0.0))
    found = acceptance(start, later)
    assert found is not None
    assert found.accept_len == 2.6
    assert found.fraction == pytest.approx(16 / 30)
    assert cache_hit(start, later) == 0.25


def test_live_rate_is_taken_from_the_counter_that_moves_every_step() -> None:
    idle, busy = only(capture("sglang-idle-metrics.txt")), only(capture("sglang-busy-metrics.txt"))
    rate = live_tok_s(idle, busy, 2.0)
    assert rate is not None
    grew = busy.figures["decode_tokens_total"] - idle.figures.get("decode_tokens_total", 0.0)
    assert rate.tok_s == grew / 2.0
    assert rate.formula == "Δ decode tokens / Δ wall time"
    old = Worker("", {"finished_tokens_total": 10.0})
    new = Worker("", {"finished_tokens_total": 510.0})
    assert live_tok_s(old, new, 5.0) is None  # moves only when a request ends


def test_llamacpps_own_seconds_are_not_diluted_by_idle_time() -> None:
    a = Worker("", {"decode_tokens_total": 0.0, "decode_seconds_total": 0.0})
    b = Worker("", {"decode_tokens_total": 300.0, "decode_seconds_total": 0.75})
    rate = live_tok_s(a, b, 60.0)
    assert rate is not None
    assert rate.tok_s == 400.0


def test_a_counter_that_went_down_is_a_restart() -> None:
    before = Worker("", {"decode_tokens_total": 900.0, "verify_total": 300.0, "accept_len": 3.0})
    after = Worker("", {"decode_tokens_total": 12.0, "verify_total": 4.0, "accept_len": 3.0})
    assert was_reset(before, after)
    assert live_tok_s(before, after, 2.0) is None
    assert acceptance(before, after) is None


def test_acceptance_of_sglang_exact_or_from_the_window() -> None:
    before = Worker("", {"decode_tokens_total": 100.0, "verify_total": 50.0})
    after = Worker("", {"decode_tokens_total": 350.0, "verify_total": 150.0})
    exact = acceptance(before, after)
    assert exact is not None
    assert (exact.accept_len, exact.formula) == (2.5, "Δ decode tokens / Δ verify calls")
    window = acceptance(Worker("", {}), Worker("", {"accept_len": 3.1, "draft_tokens": 4.0}))
    assert window is not None
    assert window.fraction == pytest.approx(0.7)
    assert acceptance(Worker("", {}), Worker("", {"accept_len": 0.0})) is None


def test_quantiles_lie_inside_their_bucket() -> None:
    shape = Histogram(1.0, 10, ((0.1, 4.0), (0.2, 8.0), (0.4, 9.0), (float("inf"), 10.0)))
    assert shape.quantile_s(0.5) == pytest.approx(0.125)
    assert shape.quantile_s(0.4) == pytest.approx(0.1)
    assert shape.quantile_s(0.99) is None  # above the last finite bound
    assert Histogram(0.0, 0.0).mean_s is None
    worker = only(capture("sglang-ngram-metrics.txt"))
    assert latency(worker, worker, "itl") == Histogram(
        0.0, 0.0, tuple((b, 0.0) for b, _ in worker.histograms["itl"].buckets)
    )


@given(st.lists(st.floats(0.001, 9.0), min_size=1, max_size=60), st.floats(0.01, 1.0))
def test_a_quantile_is_never_further_off_than_its_bucket(values: list[float], q: float) -> None:
    bounds = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, float("inf")]
    buckets = tuple((b, float(sum(v <= b for v in values))) for b in bounds)
    found = Histogram(sum(values), len(values), buckets).quantile_s(q)
    ranked = sorted(values)
    rank = max(1, -(-int(q * len(values) * 10**9) // 10**9))
    true = ranked[min(len(ranked), rank) - 1]
    assert found is not None
    upper = next(b for b in bounds if true <= b)
    lower = max([0.0, *(b for b in bounds if b < true)])
    assert lower <= found <= upper or abs(found - true) < 1e-9


@pytest.mark.parametrize(
    ("code", "body", "kind"),
    [
        (401, "", "key missing"),
        (404, '{"detail":"Not Found"}', "not exported"),
        (500, "Failed to aggregate metrics", "not available"),
        (200, "<!doctype html><html>", "not metrics"),
        (200, '[{"iter": 1}]', "not metrics"),
        (200, "", "not metrics"),
        (200, "node_load1 0.5\n", "unknown engine"),
        (200, "sglang:unheard_of 1\n", "not exported"),
    ],
)
def test_each_oddity_is_a_notice(code: int, body: str, kind: str) -> None:
    seen = read_metrics(code, body)
    assert (seen.workers, seen.notices[-1].kind) == ((), kind)


def test_bodies_that_are_cut_or_huge() -> None:
    cut = read_metrics(200, "vllm:num_requests_running 3\nvllm:generation_tokens_total 12")
    assert [n.kind for n in cut.notices] == ["cut"]
    assert cut.only is not None
    assert cut.only.figures == {"running": 3.0}
    line = "vllm:num_requests_running 3\n"
    long = line + "# filler\n" * (MAX_BYTES // 9 + 10) + "vllm:num_requests_waiting 4\n"
    seen = read_metrics(200, long)
    assert [n.kind for n in seen.notices] == ["cut"]
    assert seen.only is not None
    assert seen.only.figures == {"running": 3.0}
    refused = read_metrics(200, "x" * (REFUSED_BYTES + 1))
    assert [n.kind for n in refused.notices] == ["too large"]


def test_one_broken_line_costs_only_itself() -> None:
    body = (
        'sglang:num_running_reqs{tp_rank="0} 1\nsglang:num_queue_reqs 2\n'
        "sglang:token_usage zero\nsglang:gen_throughput{} 8.5\n"
    )
    seen = read_metrics(200, body)
    assert [(n.kind, n.text) for n in seen.notices] == [("bad lines", "2 lines could not be read")]
    assert seen.only is not None
    assert seen.only.figures == {"queued": 2.0, "gen_tok_s": 8.5}


@pytest.mark.parametrize(
    ("body", "figures"),
    [
        ("vllm:num_requests_running 2\r\nvllm:num_requests_waiting 1\r\n", (2.0, 1.0)),
        ("vllm:num_requests_running 2 1700000000000\nvllm:num_requests_waiting\t3\n", (2.0, 3.0)),
        ("\ufeffvllm:num_requests_running 2\n", (2.0, None)),
        ('{"vllm:num_requests_running",engine="0"} 2\n{"vllm:num_requests_waiting"} 1\n',
         (2.0, 1.0)),
        ('vllm_num_requests_running{engine="0"} 2\nvllm:num_requests_running{engine="0"} 2\n',
         (2.0, None)),
        ('vllm:num_requests_running{engine="0"} 2\nvllm:num_requests_running{engine="1"} 3\n',
         (5.0, None)),
        ('vllm:num_requests_running{m="a # b",x="}"} 4\n', (4.0, None)),
        ("vllm:num_requests_running +Inf\nvllm:num_requests_waiting 1\n", (None, 1.0)),
        ('vllm:num_requests_running 7 # {trace_id="x"} 1.0\n# EOF\n', (7.0, None)),
    ],
)  # fmt: skip
def test_forms_that_exporters_and_proxies_write(
    body: str, figures: tuple[float | None, float | None]
) -> None:
    worker = only(body)
    assert (worker.get("running"), worker.get("queued")) == figures


def test_ranks_of_context_parallelism_repeat_one_number() -> None:
    rows = [f'sglang:num_running_reqs{{tp_rank="0",attn_cp_rank="{n}"}} 1\n' for n in range(8)]
    assert only("".join(rows)).get("running") == 1.0


def test_a_long_body_is_read_in_turns_and_to_the_same_end() -> None:
    line = 'vllm:num_requests_running{engine="0"} 3\n# filler of a comment\n'
    body = "# TYPE a gauge\n" + line * 20_000 + "# TYPE a gauge\n"
    turns, count = in_turns(200, body), 0
    while True:
        try:
            next(turns)
        except StopIteration as done:
            assert done.value == read_metrics(200, body)
            break
        count += 1
    assert count >= len(body) // TURN_BYTES // 2
    assert [n.kind for n in read_metrics(200, body).notices] == ["doubled"]
    many = "".join(f'vllm:num_requests_running{{engine="{n}"}} 1\n' for n in range(40_000))
    assert [n.kind for n in read_metrics(200, many).notices] == ["cut"]


SNIPPETS = st.sampled_from(
    ["sglang:num_running_reqs", "vllm_generation_tokens_total", "llamacpp:n_decode_total", "{", "}",
     'le="', '"', ",", "=", " ", "\n", "NaN", "+Inf", "1e999", "# TYPE ", "# HELP ", "_bucket",
     "sglang:time_to_first_token_seconds_bucket", 'tp_rank="x"', "\\", "-1", "\x00"]
)  # fmt: skip


@given(st.lists(SNIPPETS | st.text(max_size=8), max_size=40).map("".join))
def test_no_body_raises(body: str) -> None:
    seen = read_metrics(200, body)
    assert isinstance(seen, Metrics)
    assert seen.workers or seen.notices


def test_the_prometheus_form_of_loads() -> None:
    worker = only(capture("sglang-loads-prometheus.txt"))
    assert (worker.get("running"), worker.get("queued")) == (0.0, 0.0)
    assert worker.get("max_tokens") == 8192.0
