"""The start-up of a simulated server: its phases, their bars and lines, about 20 s at scale 1.

Order and wording are 0.5.23's: draft weights before the KV pools, bars that end in carriage
returns. It only waits and writes; processes and sockets are the server's.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

from console.lab.answers import DRAFT_GB, GRAPH_GB, KV_GB, WEIGHT_GB, timings_line
from console.lab.log import capture_bar, shard_bar
from console.lab.request import Request
from console.lab.scheduler import CONTEXT, POOL
from console.lab.service import Service
from console.lab.switches import Switches

SHARDS = 64
_AVAIL_GB = 94.31
_IMPORT_S = 1.2
_INIT_S = 1.0
_SHARD_S = 0.18
_DRAFT_S = 1.5
_KV_S = 0.6
_BATCHES = (8, 4, 2, 1)
_BATCH_S = 0.9
_DRAFT_BATCH_S = 0.4
_HTTP_S = 0.8
_COLD = 3.0
_SLOW_RANK = 4.0

At = Callable[[str], Awaitable[None]]
"""Called as each phase begins: where faults strike."""


async def load(service: Service, switches: Switches, at: At) -> None:
    """Everything from the arguments to the point where the port opens."""
    log, clock, timings = service.log, service.clock, service.timings
    begun = clock.monotonic()
    _arguments(service)
    await clock.sleep(_IMPORT_S)
    await at("init")
    await _parallel(service)
    scheduler_begun = clock.monotonic()
    await at("weights")
    timings.load_weight = await _weights(service, switches)
    await at("kv")
    timings.kv_cache_allocation = await _pools(service)
    await at("graphs")
    await _graphs(service)
    log.line(
        f"max_total_num_tokens={POOL}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        f"max_running_requests={service.scheduler.max_running}, context_len={CONTEXT}, "
        "available_gpu_mem=3.90 GB",
        0,
    )
    timings.scheduler_e2e = clock.monotonic() - scheduler_begun
    timings.tokenizer_e2e = clock.monotonic() - begun
    log.line(
        "Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=False "
        "hybrid_ssm=False hicache_attached=False",
        0,
    )
    log.line(timings_line(service))
    await clock.sleep(_HTTP_S)


def _arguments(service: Service) -> None:
    log = service.log
    log.line("Simulated server of the lab: no GPU, no model, no NCCL.")
    log.line(service.scheduler.speed.text)
    if service.launch.speculative:
        log.line(
            "Max running requests is reset to 48 for speculative decoding. "
            "You can override this by explicitly setting --max-running-requests."
        )
    log.line(f"server_args={service.launch.args!r}")


async def _parallel(service: Service) -> None:
    log, clock, ranks = service.log, service.clock, range(service.launch.tp_size)
    for rank in ranks:
        log.line("Init parallel begin.", rank)
    await clock.sleep(_INIT_S)
    log.line("sglang is using nccl==2.27.7", 0)
    if len(ranks) > 2:
        for rank in ranks:
            log.line(
                "Custom allreduce is disabled because it's not supported on more than two "
                "PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True "
                "explicitly.",
                rank,
            )
    for rank in ranks:
        log.line(f"Init parallel ends. elapsed={(_INIT_S + rank / 100) / clock.scale:.2f} s", rank)
    for rank in ranks:
        log.line("Memory baseline taken. mem usage=0.61 GB", rank)


async def _bar(service: Service, total: int, each_s: float) -> None:
    for n in range(total + 1):
        if n:
            await service.clock.sleep(each_s)
        service.log.raw(shard_bar(n, total, n * each_s / service.clock.scale))
    service.log.raw("\n")


async def _weights(service: Service, switches: Switches) -> float:
    log, clock, ranks = service.log, service.clock, range(service.launch.tp_size)
    each_s = _SHARD_S * (_COLD if switches.load == "cold" else 1.0)
    if switches.weights_s:
        each_s = switches.weights_s / SHARDS
    seconds = SHARDS * each_s / clock.scale
    for rank in ranks:
        log.line(f"Load weight begin. avail mem={_AVAIL_GB:.2f} GB", rank)
    await _bar(service, SHARDS, each_s)
    slow = switches.slow_rank
    for rank in (*(r for r in ranks if r != slow), *(r for r in ranks if r == slow)):
        if rank == slow:
            await clock.sleep(SHARDS * each_s * (_SLOW_RANK - 1))
        log.line(
            f"Load weight end. elapsed={seconds * (_SLOW_RANK if rank == slow else 1):.2f} s, "
            f"type=KimiK25ForConditionalGeneration, avail mem={_AVAIL_GB - WEIGHT_GB:.2f} GB, "
            f"mem usage={WEIGHT_GB:.2f} GB.",
            rank,
        )
    if service.launch.speculative:
        await _draft_weights(service)
    return seconds * (_SLOW_RANK if slow in ranks else 1.0)


async def _draft_weights(service: Service) -> None:
    log, ranks = service.log, range(service.launch.tp_size)
    before = _AVAIL_GB - WEIGHT_GB
    seconds = _DRAFT_S / service.clock.scale
    for rank in ranks:
        log.line(f"Load weight begin. avail mem={before:.2f} GB", rank)
    await _bar(service, 1, _DRAFT_S)
    for rank in ranks:
        log.line(
            f"Load weight end. elapsed={seconds:.2f} s, type=LlamaForCausalLMEagle3, "
            f"avail mem={before - DRAFT_GB:.2f} GB, mem usage={DRAFT_GB:.2f} GB.",
            rank,
        )


async def _pools(service: Service) -> float:
    log, ranks = service.log, range(service.launch.tp_size)
    await service.clock.sleep(_KV_S)
    for rank in ranks:
        log.line(
            f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {POOL}, "
            f"KV size: {KV_GB:.2f} GB",
            rank,
        )
    if service.launch.speculative:
        for rank in ranks:
            log.line(
                f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {POOL}, "
                "K size: 0.31 GB, V size: 0.31 GB",
                rank,
            )
    for rank in ranks:
        log.line("Memory pool end. avail mem=4.74 GB", rank)
    return _KV_S / service.clock.scale


async def _graphs(service: Service) -> None:
    if service.launch.speculative:
        await _capture(service, "target verify", "target_verify", _BATCH_S)
        await _capture(service, "draft decode", "draft_decode", _DRAFT_BATCH_S)
        await _capture(service, "draft extend", "draft_extend", _DRAFT_BATCH_S)
    else:
        await _capture(service, "target decode", "decode", _BATCH_S)


async def _capture(service: Service, what: str, phase: str, each_s: float) -> None:
    log, ranks = service.log, range(service.launch.tp_size)
    for rank in ranks:
        log.line(f"Capture {what} CUDA graph begin. backend=full, avail mem=4.32 GB", rank)
    total, scale = len(_BATCHES), service.clock.scale
    log.raw(capture_bar(_BATCHES[0], 4.32, 0, total, 0.0))
    for n, batch in enumerate(_BATCHES, 1):
        await service.clock.sleep(each_s)
        log.raw(capture_bar(batch, 4.32 - n * GRAPH_GB / total, n, total, n * each_s / scale))
    log.raw("\n")
    seconds = each_s * total / scale
    for rank in ranks:
        log.line(
            f"Capture {what} CUDA graph end. bs={sorted(_BATCHES)}, elapsed={seconds:.2f} s, "
            f"mem usage={GRAPH_GB:.2f} GB, avail mem=3.90 GB.",
            rank,
        )
    service.timings.graph[phase] = seconds


def say_started(service: Service) -> None:
    """uvicorn's lines before it binds its port."""
    service.log.info(f"Started server process [{os.getpid()}]")
    service.log.info("Waiting for application startup.")
    service.log.info("Application startup complete.")


def say_running(service: Service) -> None:
    """uvicorn's line once its port is open."""
    port = service.launch.port
    service.log.info(f"Uvicorn running on http://127.0.0.1:{port} (Press CTRL+C to quit)")


async def warm_up(service: Service, at: At) -> None:
    """What the server does to itself once its port is open."""
    log, clock = service.log, service.clock
    await clock.sleep(0.7)
    log.access("127.0.0.1:50806", "GET", "/model_info", 200)
    await at("warmup")
    request = Request("The capital city of France is", 8, ignore_eos=True)
    service.scheduler.submit(request)
    while not (await request.chunks.get()).last:
        pass
    log.access("127.0.0.1:50826", "POST", "/generate", 200)
    log.access("127.0.0.1:50838", "POST", "/freeze_gc", 200)
    log.line("The server is fired up and ready to roll!")
