"""https:// over a wire: a server whose certificate an authority vouches for, and all others."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from console.model.clock import SystemClock
from console.model.exits import Exit
from console.model.failure import Failure
from console.model.fleet import Wire as Way
from console.transport.http import AnswerError, Http
from console.transport.wire import Wire
from tests.rig.http import ScriptedHttp
from tests.rig.ports import free_port

pytestmark = pytest.mark.rig

BODY = b"y" * 300_000


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself; its key lies beside it."""
    path = tmp_path / "server.pem"
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    argv += [
        "-nodes",
        "-days",
        "3650",
        "-subj",
        "/CN=rig",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    subprocess.run(
        [*argv, "-keyout", path.with_suffix(".key"), "-out", path], check=True, capture_output=True
    )
    return path


@asynccontextmanager
async def served(certificate: Path) -> AsyncIterator[int]:
    """The port of a server that answers 200 with `BODY`, over TLS, on kept connections."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@asynccontextmanager
async def asking(wire: Wire, ca_file: str = "") -> AsyncIterator[Http]:
    http = Http(wire, SystemClock(), ca_file=ca_file)
    yield http
    await http.close()


async def failed(http: Http, url: str, deadline_s: float = 30.0) -> AnswerError:
    with pytest.raises(AnswerError) as caught:
        await http.get(url, deadline_s=deadline_s)
    return caught.value


async def test_a_trusted_server_answers_again_and_again(any_wire: Wire, certificate: Path) -> None:
    async with served(certificate) as port, asking(any_wire, str(certificate)) as http:
        for _ in range(3):
            url = f"https://127.0.0.1:{port}/health"
            answer = await http.get(url, deadline_s=30, most_bytes=1_000_000)
            assert (answer.code, answer.body) == (200, BODY)


async def test_a_certificate_nobody_vouches_for_is_refused(
    any_wire: Wire, certificate: Path
) -> None:
    async with served(certificate) as port, asking(any_wire) as http:
        error = await failed(http, f"https://127.0.0.1:{port}/")
        assert error.kind is Failure.CERTIFICATE
        assert error.why == "its certificate is not trusted: self-signed certificate"
        assert "ca_file" in error.detail[0]
        assert error.kind.exit is Exit.UNREACHABLE


async def test_a_certificate_for_another_name_is_refused(any_wire: Wire, certificate: Path) -> None:
    async with served(certificate) as port, asking(any_wire, str(certificate)) as http:
        error = await failed(http, f"https://localhost:{port}/")
        assert error.kind is Failure.CERTIFICATE
        assert "Hostname mismatch" in error.why


async def test_a_server_without_tls_is_named(any_wire: Wire, scripted_http: ScriptedHttp) -> None:
    async with asking(any_wire) as http:
        # ssh needs a while to connect where the machine is busy.
        deadline_s = 0.5 if any_wire.host.wire is Way.LOCAL else 3.0
        url = f"https://127.0.0.1:{scripted_http.port}/"
        error = await failed(http, url, deadline_s)
        # It waits for the end of what it takes for a request.
        assert error.kind is Failure.TIMEOUT
        assert error.why == f"connected, but no end of the TLS handshake within {deadline_s:g} s"


async def test_another_protocol_is_not_tls(any_wire: Wire) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with asking(any_wire) as http:
        error = await failed(http, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        assert (error.kind, error.why) == (Failure.NOT_HTTP, "not TLS: WRONG_VERSION_NUMBER")
    server.close()


async def test_closed_in_the_handshake_and_refused(any_wire: Wire) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _reader.read(1)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with asking(any_wire) as http:
        error = await failed(http, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        assert error.kind is Failure.CLOSED
        assert (await failed(http, f"https://127.0.0.1:{free_port()}/")).kind is Failure.REFUSED
    server.close()


async def test_authorities_that_cannot_be_read_are_said(
    any_wire: Wire, certificate: Path, tmp_path: Path
) -> None:
    missing, empty = tmp_path / "missing.pem", tmp_path / "empty.pem"
    empty.write_text("nothing")
    async with served(certificate) as port:
        for path, what in ((missing, "No such file or directory"), (empty, "no certificate in it")):
            async with asking(any_wire, str(path)) as http:
                error = await failed(http, f"https://127.0.0.1:{port}/")
                assert error.kind is Failure.UNREADABLE
                assert error.why.startswith(f"ca_file {path}: {what}")
