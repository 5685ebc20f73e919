"""Idle SGLang servers to poll, many ports in one process: answers as the real one gave them.

`python -m tests.benchmarks.polled N` prints its ports, then counts what each is asked, until it
is ended; `/count` on any port tells the counts of that port. Its own requests are not counted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from functools import partial
from pathlib import Path

CAPTURES = Path(__file__).parents[1] / "engines" / "captures"
_TYPES = {"/metrics": b"text/plain; version=0.0.4"}


def _answers() -> dict[str, bytes]:
    named = {
        "/v1/models": "sglang-v1_models.json",
        "/server_info": "sglang-baseline-server_info.json",
        "/v1/loads": "sglang-busy-v1_loads.json",
        "/metrics": "sglang-idle-metrics.txt",
    }
    return {path: (CAPTURES / name).read_bytes() for path, name in named.items()} | {"/health": b""}


async def _serve(
    answers: dict[str, bytes],
    asked: Counter[str],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode("latin-1").partition("?")[0]
            if path == "/count":
                body = json.dumps(asked).encode()
            else:
                asked[path] += 1
                body = answers.get(path, b"{}")
            code = b"200 OK" if path in answers or path == "/count" else b"404 Not Found"
            kind = _TYPES.get(path, b"application/json")
            writer.write(
                b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                % (code, kind, len(body), body)
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _main(count: int) -> None:
    answers, ports = _answers(), []
    for _ in range(count):
        server = await asyncio.start_server(
            partial(_serve, answers, Counter()), "127.0.0.1", 0, backlog=16
        )
        ports.append(server.sockets[0].getsockname()[1])
    print(json.dumps(ports), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))
