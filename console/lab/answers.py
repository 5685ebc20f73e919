"""The bodies of the endpoints that only tell: models, resolved arguments, loads.

Keys and their order are 0.5.23's; /server_info adds one key, `simulated`, which says so.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

from console.lab.args import VERSION
from console.lab.scheduler import CONTEXT, POOL
from console.lab.service import Service

WEIGHT_GB = 74.21
KV_GB = 8.63
GRAPH_GB = 0.42
DRAFT_GB = 1.27


def _embedding() -> dict[str, object]:
    return {
        "family": "none",
        "task": "none",
        "execution": "none",
        "attention": "none",
        "pooling": "model_defined",
        "normalize": False,
        "postprocessor": "none",
        "tokenizer_special_tokens": "model_default",
        "supports_dimensions": False,
        "supports_token_embeddings": False,
        "supports_multimodal": False,
        "requires_embedding_flag": False,
        "auto_enable_embedding": False,
        "bcg_eligibility": "disabled",
        "safe_disable_kv_cache": False,
        "safe_disable_radix_cache": False,
        "safe_disable_chunked_prefill": False,
        "enabled": False,
        "matryoshka_dimensions": [],
        "bcg": {
            "prefill_backend": "disabled",
            "enabled": False,
            "capture_token_budget": 8192,
            "capture_batch_sizes": [],
        },
        "cache": {
            "kv_cache_disabled": False,
            "radix_cache_disabled": False,
            "chunked_prefill_disabled": False,
        },
    }


def model_info(service: Service) -> dict[str, object]:
    """/model_info."""
    args = service.launch.args
    return {
        "model_path": args["model_path"],
        "served_model_name": args["served_model_name"],
        "tokenizer_path": args["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
        "load_format": args["load_format"],
        "reasoning_parser": args["reasoning_parser"],
        "tool_call_parser": args["tool_call_parser"],
        "disaggregation_mode": "null",
        "has_image_understanding": False,
        "has_audio_understanding": False,
        "model_type": "kimi_k25",
        "architectures": ["KimiK25ForConditionalGeneration"],
        "embedding": _embedding(),
    }


def models(service: Service) -> dict[str, object]:
    """/v1/models."""
    model = {
        "id": service.launch.model,
        "object": "model",
        "created": int(service.clock.now()),
        "owned_by": "sglang",
        "root": service.launch.model,
        "parent": None,
        "max_model_len": CONTEXT,
    }
    return {"object": "list", "data": [model]}


def _graph_gb(service: Service) -> dict[str, float]:
    return {phase: GRAPH_GB if s else 0.0 for phase, s in service.timings.graph.items()}


def _startup(service: Service, *, tokenizer: bool) -> dict[str, object]:
    timings = service.timings
    startup: dict[str, object] = {
        "load_weight": timings.load_weight,
        "kv_cache_allocation": timings.kv_cache_allocation,
        "scheduler_e2e": timings.scheduler_e2e,
        "cuda_graph": timings.graph,
    }
    return startup | ({"tokenizer_e2e": timings.tokenizer_e2e} if tokenizer else {})


def _internal_state(service: Service) -> dict[str, object]:
    scheduler = service.scheduler
    totals = scheduler.totals
    state = {k: v for k, v in service.launch.args.items() if k != "custom_sigquit_handler"}
    state |= {
        "disable_chunked_prefix_cache": True,
        "pp_max_micro_batch_size": scheduler.max_running,
        "disaggregation_decode_retraction_backup": "cpu_tensor",
        "world_size": service.launch.tp_size,
        "startup_time": _startup(service, tokenizer=False),
        "effective_max_running_requests_per_dp": scheduler.max_running,
        "last_gen_throughput": round(scheduler.last_gen_throughput, 2),
        "memory_usage": {
            "weight": WEIGHT_GB,
            "kvcache": KV_GB,
            "startup_available": 3.9,
            "token_capacity": POOL,
            "token_capacity_swa": None,
            "graph": _graph_gb(service),
        },
        "decode_cuda_graph_bs": [1, 2, 4, 8],
        "decode_cuda_graph_memory_gb": GRAPH_GB,
    }
    if totals.lifetime_verifies:
        state["avg_spec_accept_length"] = totals.lifetime_tokens / totals.lifetime_verifies
    return state


def server_info(service: Service) -> dict[str, object]:
    """/server_info."""
    return service.launch.args | {
        "launch_command": service.launch.command,
        "status": "ready",
        "max_total_num_tokens": POOL,
        "max_req_input_len": CONTEXT - 6,
        "startup_time": _startup(service, tokenizer=True),
        "hicache_object_layout": {
            "enabled": False,
            "backend": None,
            "page_size": 1,
            "hicache_object_layout": {"pools": []},
            "reason": "Hierarchical cache is disabled",
        },
        "kv_events": None,
        "internal_states": [_internal_state(service)],
        "version": VERSION,
        "frontend": "python",
        "simulated": service.scheduler.speed.text,
    }


def _load(service: Service) -> dict[str, object]:
    scheduler = service.scheduler
    totals, used = scheduler.totals, scheduler.used_tokens
    steps = float(totals.steps)
    load: dict[str, object] = {
        "timestamp": service.clock.now(),
        "dp_rank": 0,
        "num_running_reqs": len(scheduler.running),
        "num_waiting_reqs": len(scheduler.waiting),
        "num_waiting_uncached_tokens": 0,
        "num_used_tokens": used,
        "num_total_tokens": used,
        "num_active_tokens": used,
        "num_prealloc_ready_tokens": 0,
        "max_total_num_tokens": POOL,
        "max_running_requests": scheduler.max_running,
        "token_usage": round(used / POOL, 4),
        "gen_throughput": round(scheduler.gen_throughput, 2),
        "cache_hit_rate": round(scheduler.hit_rate, 4),
        "utilization": 0.0,
        "total_prefill_uncached_tokens": totals.computed,
        "total_prefill_busy_us": totals.prefills * 40_000,
        "decode_moments": [steps, steps, 0.0, steps, 0.0, float(totals.decoded)],
        "memory": {
            "weight_gb": WEIGHT_GB,
            "kv_cache_gb": KV_GB,
            "graph_gb": GRAPH_GB,
            "token_capacity": POOL,
        },
    }
    if service.launch.speculative and totals.lifetime_verifies:
        mean = totals.lifetime_tokens / totals.lifetime_verifies
        load["speculative"] = {"accept_length": mean, "accept_rate": scheduler.accept_rate}
    disaggregation: dict[str, object] = {"mode": "null"}
    for name in ("prefill_bootstrap", "prefill_inflight", "decode_prealloc", "decode_transfer"):
        disaggregation[f"{name}_queue_reqs"] = 0
    disaggregation["decode_retracted_queue_reqs"] = 0
    disaggregation |= {"kv_transfer_speed_gb_s": 0.0, "kv_transfer_latency_ms": 0.0}
    queues = dict.fromkeys(("waiting", "grammar", "paused", "retracted", "prealloc_ready"), 0)
    queues["waiting"] = len(scheduler.waiting)
    return load | {"disaggregation": disaggregation, "queues": queues}


def loads(service: Service) -> dict[str, object]:
    """/v1/loads."""
    return {
        "timestamp": datetime.now(UTC).isoformat(),
        "version": VERSION,
        "accelerator": "simulated",
        "num_accelerators": service.launch.tp_size,
        "loads": [_load(service)],
    }


def loads_prometheus(service: Service) -> str:
    """/v1/loads?format=prometheus: the numbers of the JSON, flattened."""
    flat: dict[str, object] = {}
    short = {"disaggregation": "disagg", "speculative": "spec"}
    for key, value in _load(service).items():
        if isinstance(value, dict):
            flat |= {f"{short.get(key, key)}_{k}": v for k, v in value.items()}
        elif key not in ("dp_rank", "decode_moments"):
            flat[key] = value
    lines = []
    for key, value in flat.items():
        if isinstance(value, int | float):
            lines.append(f'# TYPE sglang_{key} gauge\nsglang_{key}{{dp_rank="0"}} {value}\n')
    return "".join(lines)


def timings_line(service: Service) -> str:
    """The log line that sums the start-up up."""
    t = asdict(service.timings)
    graph = ", ".join(f"{phase}={s:.2f}" for phase, s in t["graph"].items())
    return (
        f"Engine startup timings (s): load_weight={t['load_weight']:.2f}, "
        f"kv_cache_allocation={t['kv_cache_allocation']:.2f}, "
        f"scheduler_e2e={t['scheduler_e2e']:.2f}, cuda_graph={{{graph}}}, "
        f"tokenizer_e2e={t['tokenizer_e2e']:.2f}"
    )
