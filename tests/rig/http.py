"""An HTTP server on loopback that has bad days to order, byte by byte.

What it answers is a value, `Behaviour`, set for all paths or for one and changed at any time.
It writes its own HTTP so that it can break it; it is no reference for the protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import assert_never

from tests.rig.loop import LoopThread

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer with Content-Length; the connection stays open for the next request."""

    status: int = 200
    body: bytes = b'{"status":"ok"}'
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunked:
    """A chunked stream: each piece after its delay in seconds, then the end unless `ends` is no.

    Without an end the connection is closed after the last piece, in mid-stream.
    """

    pieces: tuple[tuple[float, bytes], ...]
    content_type: str = "text/event-stream"
    status: int = 200
    ends: bool = True


@dataclass(frozen=True, slots=True)
class Endless:
    """A body without a length that is sent, piece by piece, until the client goes away."""

    piece: bytes = b"x" * 1024
    every_s: float = 0.001


@dataclass(frozen=True, slots=True)
class NoHeaders:
    """The request is read and never answered; the connection stays open."""


@dataclass(frozen=True, slots=True)
class CutBody:
    """`sent` of a body announced as `promised` bytes, then the connection is closed."""

    promised: int = 1000
    sent: bytes = b'{"status":'


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes of something else, sent on connect; the connection is closed after a request."""

    data: bytes


Behaviour = Answer | Chunked | Endless | NoHeaders | CutBody | Raw

OK = Answer()
LOADING = Answer(503, b'{"error":{"code":503,"message":"Loading model"}}')
BROKEN = Answer(500, b"Internal Server Error", "text/plain")
UNAUTHORIZED = Answer(401, b'{"error":"Invalid API Key"}', headers={"WWW-Authenticate": "Bearer"})
TEN_MEGABYTES = Answer(200, b"x" * 10_000_000, "text/plain")
SSH_BANNER = Raw(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
RANDOM_BYTES = Raw(bytes.fromhex("8f1700ff9c0a03d2e5817b00c3281b5d0d0a0d0a"))
NOTHING = Raw(b"")


def redirect(location: str, status: int = 302) -> Answer:
    """An answer that sends the client to `location`."""
    return Answer(status, b"", "text/plain", {"Location": location})


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class ScriptedHttp:
    """Listens from the start; `close` it or use it as a context manager.

    `default` answers every path that `paths` does not name; set either while it runs. `requests`
    holds every request read; a request is in flight until its answer is written or its client
    gone. For a path, `Raw` is sent in place of the answer, since only the request names the path.
    """

    def __init__(self, default: Behaviour = OK) -> None:
        self.default = default
        self.paths: dict[str, Behaviour] = {}
        self.requests: list[Request] = []
        self.connections = 0
        self.in_flight = 0
        self.max_in_flight = 0
        self._loop = LoopThread("scripted-http")
        self.port = self._loop.listen(self._connection)
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ScriptedHttp:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and drop every connection. Safe to repeat."""
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            greeting = self.default if isinstance(self.default, Raw) else None
            if greeting is not None:
                writer.write(greeting.data)
                await writer.drain()
            while (request := await _read_request(reader)) is not None:
                self.requests.append(request)
                if greeting is not None or not await self._counted(request, reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()

    async def _counted(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            behaviour = self.paths.get(request.path.partition("?")[0], self.default)
            return await _answer(behaviour, reader, writer)
        finally:
            self.in_flight -= 1


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection, None when the client has closed it."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)


async def _answer(
    behaviour: Behaviour, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Write what the behaviour says; whether the connection can take another request."""
    match behaviour:
        case Answer(status, body, content_type, headers):
            length = {"Content-Length": str(len(body)), **headers}
            writer.write(_head(status, content_type, length) + body)
            await writer.drain()
            return True
        case Chunked(pieces, content_type, status, ends):
            writer.write(_head(status, content_type, {"Transfer-Encoding": "chunked"}))
            for delay_s, piece in pieces:
                await asyncio.sleep(delay_s)
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
            if ends:
                writer.write(b"0\r\n\r\n")
                await writer.drain()
            return ends
        case Endless(piece, every_s):
            writer.write(_head(200, "text/plain", {"Connection": "close"}))
            while not reader.at_eof():
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(every_s)
            return False
        case NoHeaders():
            await reader.read()
            return False
        case CutBody(promised, sent):
            writer.write(_head(200, JSON, {"Content-Length": str(promised)}) + sent)
            await writer.drain()
            return False
        case Raw(data):
            writer.write(data)
            await writer.drain()
            return False
        case unreachable:
            assert_never(unreachable)


def _head(status: int, content_type: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
