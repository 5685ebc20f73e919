"""The Prometheus exposition of a simulated server: the families, labels and buckets of 0.5.23.

data/metrics.json lists them; what the lab does not simulate stays at zero. The help texts are the
lab's own. A histogram's and a finished request's counters move when a request ends, as really.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from console.lab.answers import DRAFT_GB, GRAPH_GB, KV_GB, WEIGHT_GB
from console.lab.scheduler import CONTEXT, POOL
from console.lab.service import Service

Labels = Mapping[str, str]
_FAMILIES = json.loads((Path(__file__).parent / "data" / "metrics.json").read_text())
_SCHEDULER = {"moe_ep_rank": "0", "pp_rank": "0", "tp_rank": "0"}
_ABSENT_UNTIL_USED = (
    "spec_verify_calls_total",
    "cached_tokens_total",
    "get_loads_duration_seconds",
)


def _gauges(service: Service) -> dict[str, float]:
    scheduler = service.scheduler
    used = scheduler.used_tokens
    speculative = service.launch.speculative
    return {
        "max_total_num_tokens": POOL,
        "weight_memory_usage_gb": WEIGHT_GB + (DRAFT_GB if speculative else 0.0),
        "kv_cache_memory_usage_gb": KV_GB,
        "page_size": 1,
        "num_pages": POOL,
        "context_len": CONTEXT,
        "startup_available_gpu_memory_gb": 3.9,
        "num_running_reqs": len(scheduler.running),
        "num_queue_reqs": len(scheduler.waiting),
        "gen_throughput": scheduler.gen_throughput,
        "cache_hit_rate": scheduler.hit_rate,
        "decode_sum_seq_lens": used,
        "token_usage": used / POOL,
        "full_token_usage": used / POOL,
        "num_used_tokens": used,
        "kv_available_tokens": POOL - used,
        "kv_used_tokens": used,
        "spec_accept_length": scheduler.accept_length,
        "spec_accept_rate": scheduler.accept_rate,
        "spec_num_steps": 3.0 if speculative else 0.0,
        "spec_num_draft_tokens": 4.0 if speculative else 0.0,
        "new_token_ratio": 0.7,
        "is_cuda_graph": 1.0,
    }


def _counters(service: Service) -> dict[str, Callable[[Labels], float]]:
    totals, timings = service.scheduler.totals, service.timings
    startup = {
        "load_weight": timings.load_weight,
        "kv_cache_allocation": timings.kv_cache_allocation,
        "scheduler_e2e": timings.scheduler_e2e,
        "tokenizer_e2e": timings.tokenizer_e2e,
    }
    prefill = {"prefill_compute": totals.computed, "prefill_cache": totals.cached}
    passes = {"prefill_none": totals.prefills, "decode_cuda_graph": totals.steps}

    def streaming(labels: Labels) -> bool:
        return labels["is_streaming"] == "true"

    return {
        "startup_time_seconds": lambda label: startup[label["phase"]],
        "startup_cuda_graph_time_seconds": lambda label: timings.graph[label["phase"]],
        "graph_memory_usage_gb": lambda label: GRAPH_GB if timings.graph[label["phase"]] else 0.0,
        "process_cpu_seconds_total": lambda _: sum(os.times()[:2]),
        "cuda_graph_passes_total": lambda label: passes.get(label["mode"], 0),
        "realtime_tokens_total": lambda label: (prefill | {"decode": totals.decoded})[
            label["mode"]
        ],
        "prompt_tokens_total": lambda label: totals.prompts[streaming(label)],
        "generation_tokens_total": lambda label: totals.generated[streaming(label)],
        "num_requests_total": lambda label: totals.requests[streaming(label)],
        "spec_verify_calls_total": lambda _: totals.verifies,
        "cached_tokens_total": lambda _: totals.cached,
    }


def _http(service: Service) -> dict[str, list[tuple[Labels, float]]]:
    two, three = ("endpoint", "method"), ("endpoint", "method", "status_code")
    return {
        "http_requests_active": _keyed(two, service.active.items()),
        "http_requests_total": _keyed(two, service.asked.items()),
        "http_responses_total": _keyed(three, service.answered.items()),
    }


def _keyed(
    names: tuple[str, ...], counts: Iterable[tuple[tuple[object, ...], int]]
) -> list[tuple[Labels, float]]:
    return [(dict(zip(names, map(str, key), strict=True)), count) for key, count in counts]


def _sample(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{key}="{labels[key]}"' for key in sorted(labels))
    return f"sglang:{name}{{{inner}}} {float(value)}\n" if inner else f"sglang:{name} {value}\n"


def _histogram(name: str, labels: Labels, les: Iterable[str], seen: list[float]) -> Iterable[str]:
    yield _sample(f"{name}_sum", labels, sum(seen))
    for le in les:
        count = sum(value <= float(le) for value in seen)
        yield _sample(f"{name}_bucket", {**labels, "le": le}, count)
    yield _sample(f"{name}_count", labels, len(seen))


def exposition(service: Service) -> str:
    """The whole text of /metrics."""
    engine = {"engine_type": "unified", "model_name": service.launch.model}
    scopes = {"process": {}, "engine": engine, "scheduler": engine | _SCHEDULER}
    gauges, counters, http = _gauges(service), _counters(service), _http(service)
    out = []
    for family in _FAMILIES:
        name = family["name"]
        common = scopes[family["scope"]]
        if name in _ABSENT_UNTIL_USED and (name not in counters or not counters[name]({})):
            continue
        out.append(f"# HELP sglang:{name} Simulated by the lab.\n")
        out.append(f"# TYPE sglang:{name} {family['type']}\n")
        for extra in family["series"]:
            labels = {**common, **extra}
            if family["type"] == "histogram":
                streaming = labels.get("is_streaming")
                seen = [
                    value
                    for which, stream, value in service.scheduler.totals.observed
                    if which == name and (streaming is None or streaming == str(stream).lower())
                ]
                out.extend(_histogram(name, labels, family["le"], seen))
            elif name in counters:
                out.append(_sample(name, labels, counters[name](labels)))
            else:
                out.append(_sample(name, labels, gauges.get(name, 0.0)))
        out.extend(_sample(name, labels, value) for labels, value in http.get(name, ()))
    return "".join(out)
