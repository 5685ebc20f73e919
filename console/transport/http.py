"""HTTP to a server as its host sees it: one request, one answer, within a deadline and a size.

httpx over a wire's own connections, so nothing listens anywhere and no proxy of the environment is
asked. It follows no redirect, keeps no cookie, unpacks no encoding and never puts a header that
it sends into an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpcore
import httpx

from console.model.clock import Clock
from console.model.failure import Failure, WireError
from console.transport.http_pool import Pool
from console.transport.wire import Wire

MOST_BYTES = 65_536

_SCHEMES = ("http://", "https://")
_PORTS = 65_536
_NO_ANSWER = "closed before it answered"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, whatever its code.

    Attributes:
        wait_us: from the first byte sent towards it to the last byte taken of it.
        truncated: the body was longer than asked for; it was left unread and the connection cut.
        headers: names in lower case.
    """

    code: int
    wait_us: int
    body: bytes = b""
    truncated: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


class AnswerError(WireError):
    """No whole answer came.

    Attributes:
        code: the status code, where that much was read.
        wait_us: how long it took to fail.
    """

    def __init__(self, error: WireError, wait_us: int, code: int | None = None) -> None:
        super().__init__(error.kind, error.why, error.detail)
        self.wait_us = wait_us
        self.code = code


class Http:
    """Requests to one server; its connections are kept and used again.

    Args:
        headers: sent with every request, a credential among them.
        ca_file: authorities trusted for an https:// address; empty for the system's own.
    """

    def __init__(
        self,
        wire: Wire,
        clock: Clock,
        headers: Mapping[str, str] | None = None,
        ca_file: str = "",
    ) -> None:
        self._clock = clock
        own = {"User-Agent": "spec-console", "Accept-Encoding": "identity", **(headers or {})}
        self._client = httpx.AsyncClient(
            transport=Pool(wire, ca_file),
            headers={name.encode(): value.encode() for name, value in own.items()},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=None,
            follow_redirects=False,
            trust_env=False,
        )

    async def get(self, url: str, *, deadline_s: float, most_bytes: int = MOST_BYTES) -> Answer:
        """GET.

        Raises:
            AnswerError: REFUSED, NO_HOST, TIMEOUT, CLOSED, NOT_HTTP, or what the link says.
        """
        return await self._ask("GET", url, None, deadline_s, most_bytes)

    async def post(
        self, url: str, body: bytes, *, deadline_s: float, most_bytes: int = MOST_BYTES
    ) -> Answer:
        """POST a JSON body; raises as `get`."""
        return await self._ask("POST", url, body, deadline_s, most_bytes)

    async def close(self) -> None:
        """Drop every connection."""
        await self._client.aclose()

    async def _ask(
        self, method: str, url: str, body: bytes | None, deadline_s: float, most_bytes: int
    ) -> Answer:
        asked = _Asked()
        start_us = self._clock.now_us()
        try:
            _check(url)
            async with asyncio.timeout(deadline_s):
                try:
                    answer = await self._once(method, url, body, most_bytes, asked)
                except httpcore.RemoteProtocolError as error:
                    if method != "GET" or asked.dialled or not _unanswered(error):
                        raise
                    # A kept connection that the server dropped meanwhile says nothing.
                    answer = await self._once(method, url, body, most_bytes, asked)
        except TimeoutError:
            failure = WireError(Failure.TIMEOUT, f"{asked.stage} within {deadline_s:g} s")
        except WireError as error:
            failure = error
        except httpcore.ProtocolError as error:
            failure = _broken(error, asked)
        except httpx.InvalidURL:
            failure = WireError(Failure.NOT_HTTP, f"not an http:// or https:// address: {url}")
        else:
            return replace(answer, wait_us=self._clock.now_us() - start_us)
        raise AnswerError(failure, self._clock.now_us() - start_us, asked.code)

    async def _once(
        self, method: str, url: str, body: bytes | None, most_bytes: int, asked: _Asked
    ) -> Answer:
        headers = {} if body is None else {"Content-Type": "application/json"}
        async with self._client.stream(
            method, url, headers=headers, content=body, extensions={"trace": asked.trace}
        ) as response:
            code = asked.code = response.status_code
            asked.stage = f"{code}, but its body did not end"
            parts, truncated = await _limited(response.aiter_raw(), most_bytes)
            raw = response.headers.raw
            named = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in raw}
            return Answer(code, 0, parts, truncated, named)


def _check(url: str) -> None:
    """Raise httpx.InvalidURL for what is none; a port that cannot be is left to nobody else."""
    port = httpx.URL(url).port if url.startswith(_SCHEMES) else 0
    if port is not None and not 0 < port < _PORTS:
        raise httpx.InvalidURL(url)


async def _limited(body: AsyncIterator[bytes], most_bytes: int) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    held = 0
    async for part in body:
        parts.append(part)
        held += len(part)
        if held > most_bytes:
            return b"".join(parts)[:most_bytes], True
    return b"".join(parts), False


@dataclass(slots=True)
class _Asked:
    """How far one request came."""

    stage: str = "no connection"
    code: int | None = None
    dialled: bool = False

    async def trace(self, name: str, _info: Mapping[str, Any]) -> None:
        if name.endswith("connect_tcp.started"):
            self.dialled = True
            self.stage = "no connection"
        elif name.endswith("start_tls.started"):
            self.stage = "connected, but no end of the TLS handshake"
        elif name.endswith("send_request_headers.started"):
            self.stage = "connected, but no answer"


def _unanswered(error: httpcore.ProtocolError) -> bool:
    return "without sending" in str(error)


def _broken(error: httpcore.ProtocolError, asked: _Asked) -> WireError:
    if isinstance(error, httpcore.LocalProtocolError):
        # Its text would show the header that is wrong, which may be a credential.
        return WireError(Failure.NOT_HTTP, "this request cannot be sent: a header is no HTTP")
    text = str(error)
    if asked.code is not None:
        return WireError(Failure.CLOSED, f"{asked.code}, but {_cut(text)}")
    if _unanswered(error):
        return WireError(Failure.CLOSED, _NO_ANSWER)
    return WireError(Failure.NOT_HTTP, f"not HTTP: {text}")


def _cut(text: str) -> str:
    if "without" in text or "closed" in text:
        return "closed in the middle of its body"
    return f"its body is not HTTP: {text}"
