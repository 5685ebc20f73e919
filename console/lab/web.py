"""HTTP/1.1 as uvicorn answers it: headers, keep-alive, chunked streams. Nothing of SGLang here.

Requests come from loopback only; a client that leaves in the middle of a stream is noticed.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

_LIMIT = 8 << 20


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `target` as sent, `path` without its query."""

    method: str
    target: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    peer: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; an empty `kind` sends no content type."""

    status: int
    body: bytes = b""
    kind: str = ""
    vary: bool = True


@dataclass(frozen=True, slots=True)
class Events:
    """A stream of server-sent events: one chunk for each, as long as somebody reads."""

    lines: AsyncIterator[str]
    left: Callable[[], None] = field(default=lambda: None)


def as_json(value: object, status: int = 200, *, vary: bool = True) -> Answer:
    """A value as compact JSON."""
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return Answer(status, body, "application/json", vary)


Handler = Callable[[Call], Awaitable[Answer | Events]]
AccessLog = Callable[[Call, int], None]


def _head(status: int, *fields: str) -> bytes:
    lines = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"date: {email.utils.formatdate(usegmt=True)}",
        "server: uvicorn",
        *fields,
    )
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Web:
    """Serves one handler on one socket; every finished head goes to the access log."""

    def __init__(self, handler: Handler, access: AccessLog) -> None:
        self._handler = handler
        self._access = access
        self._tasks: set[asyncio.Task[None]] = set()

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Callback for asyncio.start_server."""
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = writer.get_extra_info("peername")[:2]
        try:
            while (call := await _read(reader, f"{host}:{port}")) is not None:
                await self._answer(call, writer)
                if call.headers.get("connection", "").lower() == "close":
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        except ValueError:
            writer.write(_head(400, "content-type: text/plain", "connection: close"))
        finally:
            writer.close()

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> None:
        answer = await self._handler(call)
        if isinstance(answer, Events):
            await self._stream(call, answer, writer)
            return
        fields = [f"content-length: {len(answer.body)}"]
        if answer.kind:
            fields.append(f"content-type: {answer.kind}")
        if answer.vary:
            fields.append("vary: Origin")
        self._access(call, answer.status)
        body = b"" if call.method == "HEAD" else answer.body
        writer.write(_head(answer.status, *fields) + body)
        await writer.drain()

    async def _stream(self, call: Call, events: Events, writer: asyncio.StreamWriter) -> None:
        self._access(call, 200)
        writer.write(
            _head(
                200,
                "content-type: text/event-stream; charset=utf-8",
                "vary: Origin",
                "transfer-encoding: chunked",
            )
        )
        finished = False
        try:
            async for line in events.lines:
                data = f"data: {line}\n\n".encode()
                writer.write(b"%x\r\n%b\r\n" % (len(data), data))
                await writer.drain()
                if writer.is_closing():
                    raise ConnectionResetError
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            finished = True
        finally:
            if not finished:
                events.left()


async def _read(reader: asyncio.StreamReader, peer: str) -> Call | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= _LIMIT:
        raise ValueError("body too long")
    body = await reader.readexactly(length)
    parts = urlsplit(target)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Call(method, target, parts.path, query, headers, body, peer)
