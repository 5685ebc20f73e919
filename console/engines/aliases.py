"""Canonical metric names and what each engine calls them, over its versions.

A pure table. Names stand without their prefix (`sglang:`, also written `sglang_`). A figure
that a server does not export has no entry in what is read, and is never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from console.model.fleet import Engine

Merge = Literal["sum", "max", "mean"]  # over data-parallel ranks; tensor ranks repeat one value


@dataclass(frozen=True, slots=True)
class Alias:
    """`name` is a family; counters stand with `_total`. `label` narrows to one label's value."""

    canon: str
    name: str
    merge: Merge = "sum"
    label: tuple[str, str] | None = None
    note: str = ""


PREFIXES: tuple[tuple[str, Engine], ...] = (
    ("sglang", Engine.SGLANG),
    ("vllm", Engine.VLLM),
    ("llamacpp", Engine.LLAMACPP),
    ("trtllm", Engine.TRTLLM),
)

FIGURES: dict[Engine, tuple[Alias, ...]] = {
    Engine.SGLANG: (
        Alias("running", "num_running_reqs"),
        Alias("queued", "num_queue_reqs"),
        Alias("queued", "num_waiting_reqs", note="name in /v1/loads?format=prometheus"),
        Alias("token_usage", "token_usage", "max"),
        Alias("used_tokens", "num_used_tokens"),
        Alias("max_tokens", "max_total_num_tokens"),
        Alias("cache_hit", "cache_hit_rate", "mean", note="last prefill report"),
        Alias("gen_tok_s", "gen_throughput", note="decode log window; stale when idle"),
        Alias("accept_len", "spec_accept_length", "mean", note="window; 0 without speculation"),
        Alias("accept_rate", "spec_accept_rate", "mean", note="redefined in 0.5.12"),
        Alias("draft_tokens", "spec_num_draft_tokens", "max", note="active value, with bonus"),
        Alias("draft_steps", "spec_num_steps", "max"),
        Alias("verify_total", "spec_verify_calls_total"),
        Alias("decode_tokens_total", "realtime_tokens_total", label=("mode", "decode")),
        Alias("prefill_tokens_total", "realtime_tokens_total", label=("mode", "prefill_compute")),
        Alias("cached_prefill_total", "realtime_tokens_total", label=("mode", "prefill_cache")),
        Alias("finished_tokens_total", "generation_tokens_total", note="when a request ends"),
        Alias("prompt_tokens_total", "prompt_tokens_total", note="when a request ends"),
        Alias("cached_tokens_total", "cached_tokens_total", note="when a request ends"),
        Alias("requests_total", "num_requests_total"),
        Alias("aborted_total", "num_aborted_requests_total"),
        Alias("aborted_total", "num_aborted_requests"),
        Alias("retracted_total", "num_retracted_requests_total"),
        Alias("retracted", "num_retracted_reqs"),
        Alias("retracted", "total_retracted_reqs"),
        Alias("graph_used", "is_cuda_graph", "max"),
        Alias("startup_weights_s", "startup_time_seconds", "max", ("phase", "load_weight")),
        Alias("startup_kv_s", "startup_time_seconds", "max", ("phase", "kv_cache_allocation")),
        Alias("startup_scheduler_s", "startup_time_seconds", "max", ("phase", "scheduler_e2e")),
        Alias("startup_graphs_s", "startup_cuda_graph_time_seconds"),
        Alias("startup_weights_s", "engine_load_weights_time", "max"),
        Alias("startup_s", "engine_startup_time", "max"),
    ),
    Engine.VLLM: (
        Alias("running", "num_requests_running"),
        Alias("queued", "num_requests_waiting"),
        Alias("token_usage", "kv_cache_usage_perc", "max"),
        Alias("token_usage", "gpu_cache_usage_perc", "max"),
        Alias("decode_tokens_total", "generation_tokens_total"),
        Alias("prompt_tokens_total", "prompt_tokens_total"),
        Alias("cached_tokens_total", "prompt_tokens_cached_total"),
        Alias("cache_queries_total", "prefix_cache_queries_total"),
        Alias("cache_hits_total", "prefix_cache_hits_total"),
        Alias("cache_queries_total", "gpu_prefix_cache_queries_total"),
        Alias("cache_hits_total", "gpu_prefix_cache_hits_total"),
        Alias("retracted_total", "num_preemptions_total"),
        Alias("requests_total", "request_success_total"),
        Alias("verify_total", "spec_decode_num_drafts_total"),
        Alias("proposed_total", "spec_decode_num_draft_tokens_total"),
        Alias("accepted_total", "spec_decode_num_accepted_tokens_total"),
    ),
    Engine.LLAMACPP: (
        Alias("running", "requests_processing"),
        Alias("queued", "requests_deferred"),
        Alias("decode_tokens_total", "tokens_predicted_total"),
        Alias("decode_seconds_total", "tokens_predicted_seconds_total"),
        Alias("prompt_tokens_total", "prompt_tokens_total"),
        Alias("prompt_seconds_total", "prompt_seconds_total"),
        Alias("cached_tokens_total", "prompt_tokens_cached_total"),
        Alias("gen_tok_s", "predicted_tokens_seconds", note="mean since the start"),
        Alias("verify_total", "spec_decode_num_drafts_total"),
        Alias("proposed_total", "spec_decode_num_draft_tokens_total"),
        Alias("accepted_total", "spec_decode_num_accepted_tokens_total"),
        Alias("token_usage", "kv_cache_usage_ratio", "max"),
    ),
    Engine.TRTLLM: (
        Alias("running", "num_requests_running"),
        Alias("queued", "num_requests_waiting"),
        Alias("token_usage", "kv_cache_utilization", "max"),
        Alias("decode_tokens_total", "generation_tokens_total"),
        Alias("requests_total", "request_success_total"),
        Alias("proposed_total", "spec_decode_num_draft_tokens_total"),
        Alias("accepted_total", "spec_decode_num_accepted_tokens_total"),
        Alias("accept_len", "spec_decode_acceptance_length", "mean"),
    ),
}

HISTOGRAMS: dict[str, str] = {
    "time_to_first_token_seconds": "ttft",
    "inter_token_latency_seconds": "itl",
    "time_per_output_token_seconds": "itl",
    "request_time_per_output_token_seconds": "tpot",
    "e2e_request_latency_seconds": "e2e",
    "queue_time_seconds": "queue",
    "request_queue_time_seconds": "queue",
}

POSITIONS = "spec_decode_num_accepted_tokens_per_pos_total"

CANON: tuple[str, ...] = tuple(
    dict.fromkeys(alias.canon for table in FIGURES.values() for alias in table)
)
