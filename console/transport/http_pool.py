"""What lies under httpx here: httpcore's pool of connections, dialled over a wire.

Owns the seam between httpx, httpcore and a wire's byte streams. It adds nothing to a request and
asks neither the environment nor the machine's own network.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

import httpcore
import httpx

from console.model.failure import Failure, WireError
from console.transport.tls import TlsStream
from console.transport.wire import ByteStream, Wire

# Servers drop idle connections after 5 s (uvicorn); a request must not race with that.
_KEEP_S = 4.0
_SHOWN = 60


class Pool(httpx.AsyncBaseTransport):
    """Connections to one server, made on its host and kept for a while.

    Args:
        ca_file: certificates of authorities on this machine; empty for the system's own.
    """

    def __init__(self, wire: Wire, ca_file: str = "") -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context, network_backend=_Backend(wire, ca_file), keepalive_expiry=_KEEP_S
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One request; raises WireError and httpcore.ProtocolError as they are."""
        url = request.url
        assert isinstance(request.stream, AsyncIterable)
        answer = await self._pool.handle_async_request(
            httpcore.Request(
                request.method,
                httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._answer.aiter_stream():
            yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


class _Backend(httpcore.AsyncNetworkBackend):
    """Lets httpcore connect over a wire."""

    def __init__(self, wire: Wire, ca_file: str) -> None:
        self._wire = wire
        self._ca_file = ca_file

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the whole request has one deadline
        local_address: str | None = None,  # noqa: ARG002 - decided on the host
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 - likewise
    ) -> httpcore.AsyncNetworkStream:
        return _NetworkStream(await self._wire.connect(host, port), self._ca_file)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _NetworkStream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: ByteStream, ca_file: str) -> None:
        self._stream = stream
        self._ca_file = ca_file
        self._asked = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        data = await self._stream.read(max_bytes)
        if self._asked and data:
            self._asked = False
            if not b"HTTP/".startswith(data[:5]):
                shown = data[:_SHOWN].splitlines()[0]
                raise WireError(Failure.NOT_HTTP, f'not HTTP: "{repr(shown)[2:-1]}"')
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        if buffer:
            self._asked = True
            with _as_write_error():
                await self._stream.write(buffer)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        # Whatever ends it, a cancel too: the socket must not stay open.
        async with contextlib.AsyncExitStack() as undo:
            undo.push_async_callback(self._stream.close)
            stream = TlsStream(self._stream, ssl_context, server_hostname, self._ca_file)
            await stream.shake_hands()
            undo.pop_all()
        return _NetworkStream(stream, self._ca_file)

    async def aclose(self) -> None:
        await self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.ended() if info == "is_readable" else None


@contextlib.contextmanager
def _as_write_error() -> Iterator[None]:
    try:
        yield
    except WireError as error:
        # httpcore then still reads the answer that a server gave before it closed.
        if error.kind is not Failure.CLOSED:
            raise
        raise httpcore.WriteError(error.why) from error
