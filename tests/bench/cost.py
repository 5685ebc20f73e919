"""CPU per chunk of the worker against httpx `aiter_lines` + json, in one run on one machine.

    python -m tests.bench.cost [--chunks N] [--rounds N]

A server in a process of its own sends chunks of /v1/chat/completions (about 300 bytes, one HTTP
chunk each) as fast as it can. The clients take turns; figures are medians of CPU time per chunk.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import socket
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from statistics import median

import httpx

from console.bench import worker
from console.bench.job import Job, Sampling
from tests.bench.scripted import END, HEAD, event, piece, read_request

Client = Callable[[str, int], float]


def burst(chunks: int) -> bytes:
    """The whole answer."""
    many = []
    for number in range(1, chunks + 1):
        usage = {"prompt_tokens": 21, "completion_tokens": number, "total_tokens": number + 21}
        choice = {"index": 0, "delta": {"content": " word"}, "finish_reason": None}
        shape = {"id": "chatcmpl-5f0c1d9e7a42", "object": "chat.completion.chunk", "model": "m"}
        many.append(
            piece(event({**shape, "created": 1795959448, "choices": [choice], "usage": usage}))
        )
    return HEAD + b"".join(many) + piece(b"data: [DONE]\n\n") + END


def serve(chunks: int, cores: tuple[int, ...], ready: Connection) -> None:
    """Answers every request with the burst, until killed."""
    pin(cores)
    answer = burst(chunks)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ready.send(listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            with connection:
                read_request(connection)
                connection.sendall(answer)


def pin(cores: tuple[int, ...]) -> None:
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def job(url: str, chunks: int) -> tuple[worker.Json, worker.Json]:
    """The worker's job and request as it reads them."""
    made = Job(url, "chat", (("run", "Hi"),), sampling=Sampling(max_tokens=chunks))
    read: worker.Json = json.loads(made.line())
    return read, read["requests"][0]


def worker_deferred(url: str, chunks: int) -> float:
    """CPU s while the response comes in: what may disturb the stamps."""
    asked, request = job(url, chunks)
    capture, beat = worker.Capture(), worker.Beat()
    start = time.process_time()
    beat.start()
    worker.Session().exchange(asked, request, capture)
    beat.stop()
    spent = time.process_time() - start
    assert capture.complete
    return spent


def worker_included(url: str, chunks: int) -> float:
    """CPU s of a whole run, parsing and all."""
    asked, request = job(url, chunks)
    start = time.process_time()
    record = worker.Session().run(asked, request)
    spent = time.process_time() - start
    assert len(record["events"]) == chunks
    assert record["status"] == "ok"
    return spent


def httpx_lines(url: str, chunks: int) -> float:
    """CPU s of httpx `aiter_lines` with json.loads for each event."""

    async def run() -> int:
        seen = 0
        async with httpx.AsyncClient() as client, client.stream("POST", url, json={}) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    json.loads(line[6:])
                    time.perf_counter_ns()
                    seen += 1
        return seen

    start = time.process_time()
    assert asyncio.run(run()) == chunks
    return time.process_time() - start


CLIENTS: dict[str, Client] = {
    "httpx aiter_lines + json": httpx_lines,
    "worker, parsing deferred": worker_deferred,
    "worker, parsing included": worker_included,
}


def measured(chunks: int, rounds: int) -> dict[str, float]:
    """Median CPU in us per chunk of each client, taken in turns."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    mine, theirs = (tuple(cores[:1]), tuple(cores[1:2])) if len(cores) > 1 else ((), ())
    ours, their_end = get_context("spawn").Pipe()
    server = get_context("spawn").Process(target=serve, args=(chunks, theirs, their_end))
    server.start()
    pin(mine)
    gc.freeze()  # as the worker does at its start; it helps all clients alike
    try:
        url = f"http://127.0.0.1:{ours.recv()}"
        spent: dict[str, list[float]] = {name: [] for name in CLIENTS}
        for _ in range(rounds):
            for name, client in CLIENTS.items():
                spent[name].append(1e6 * client(url, chunks) / chunks)
    finally:
        server.kill()
        server.join()
        pin(tuple(cores))
    return {name: median(values) for name, values in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    found = measured(asked.chunks, asked.rounds)
    base = found["httpx aiter_lines + json"]
    for name, cost_us in found.items():
        rate = 1e6 / cost_us
        print(f"{name:26} {cost_us:7.2f} us/chunk  {rate:9,.0f} chunks/s  {base / cost_us:5.1f}x")


if __name__ == "__main__":
    main()
