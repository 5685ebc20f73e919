"""Answers and every way in which none comes, over real sockets, here and over both ways of SSH."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from console.model.clock import SystemClock
from console.model.failure import Failure
from console.transport.http import AnswerError, Http
from console.transport.wire import Wire
from tests.rig import http as rig
from tests.rig.http import ScriptedHttp
from tests.rig.ports import free_port

pytestmark = pytest.mark.rig


@pytest.fixture
async def http(any_wire: Wire) -> AsyncIterator[Http]:
    http = Http(any_wire, SystemClock())
    yield http
    await http.close()


async def failed(http: Http, url: str, deadline_s: float = 30.0) -> AnswerError:
    with pytest.raises(AnswerError) as caught:
        await http.get(url, deadline_s=deadline_s)
    return caught.value


async def test_an_answer_is_code_body_headers_and_time(
    http: Http, scripted_http: ScriptedHttp
) -> None:
    scripted_http.default = rig.Answer(503, b"Loading", headers={"X-Kind": "a"})
    answer = await http.get(f"{scripted_http.url}/health", deadline_s=30)
    assert (answer.code, answer.body, answer.truncated) == (503, b"Loading", False)
    assert answer.headers["x-kind"] == "a"
    assert 0 < answer.wait_us < 30_000_000


async def test_a_kept_connection_is_used_again(http: Http, scripted_http: ScriptedHttp) -> None:
    for _ in range(3):
        await http.get(scripted_http.url, deadline_s=30)
    assert (len(scripted_http.requests), scripted_http.connections) == (3, 1)


async def test_a_kept_connection_that_the_server_dropped_is_replaced(http: Http) -> None:
    taken = 0

    async def once_per_connection(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        nonlocal taken
        taken += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.readuntil(b"\r\n\r\n")  # the next request is read and then dropped
        writer.close()

    server = await asyncio.start_server(once_per_connection, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    codes = [(await http.get(url, deadline_s=30)).code for _ in range(2)]
    assert (codes, taken) == ([200, 200], 2)
    server.close()


async def test_post_sends_the_body_and_the_headers_of_the_server(
    any_wire: Wire, scripted_http: ScriptedHttp
) -> None:
    http = Http(any_wire, SystemClock(), {"Authorization": "Bearer abc"})
    await http.post(f"{scripted_http.url}/generate", b'{"a":1}', deadline_s=30)
    request = scripted_http.requests[0]
    assert (request.method, request.path, request.body) == ("POST", "/generate", b'{"a":1}')
    assert request.headers["authorization"] == "Bearer abc"
    assert request.headers["content-type"] == "application/json"
    await http.close()


async def test_nothing_listening_is_refused(http: Http) -> None:
    error = await failed(http, f"http://127.0.0.1:{free_port()}/health")
    assert (error.kind, error.why) == (Failure.REFUSED, "connection refused")


async def test_an_unknown_name_is_told_apart(http: Http) -> None:
    error = await failed(http, "http://no-such-host.invalid:80/")
    assert error.kind is Failure.NO_HOST
    assert "no such host" in error.why


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "nothing",
        "http://127.0.0.1:x/",
        "https://127.0.0.1:99999/",
        "http://127.0.0.1:0/",
    ],
)
async def test_an_address_that_is_none_is_said(http: Http, url: str) -> None:
    assert (await failed(http, url)).kind is Failure.NOT_HTTP


async def test_no_headers_is_a_timeout_that_says_where(
    http: Http, scripted_http: ScriptedHttp
) -> None:
    await http.get(scripted_http.url, deadline_s=30)  # from now on the connection is there
    scripted_http.default = rig.NoHeaders()
    error = await failed(http, scripted_http.url, 0.1)
    assert (error.kind, error.code) == (Failure.TIMEOUT, None)
    assert error.why == "connected, but no answer within 0.1 s"


async def test_a_body_that_never_ends_is_a_timeout_with_its_code(
    http: Http, scripted_http: ScriptedHttp
) -> None:
    await http.get(scripted_http.url, deadline_s=30)
    scripted_http.default = rig.Endless(b"x", 0.01)
    error = await failed(http, scripted_http.url, 1.0)
    assert (error.kind, error.code) == (Failure.TIMEOUT, 200)
    assert error.why == "200, but its body did not end within 1 s"


async def test_ten_megabytes_are_cut_and_the_connection_is_dropped(
    http: Http, scripted_http: ScriptedHttp
) -> None:
    scripted_http.default = rig.TEN_MEGABYTES
    answer = await http.get(scripted_http.url, deadline_s=30)
    assert (answer.code, answer.truncated, answer.body) == (200, True, b"x" * 65_536)
    scripted_http.default = rig.OK
    assert (await http.get(scripted_http.url, deadline_s=30)).truncated is False
    assert scripted_http.connections == 2


async def test_a_redirect_is_reported_not_followed(http: Http, scripted_http: ScriptedHttp) -> None:
    scripted_http.default = rig.redirect("/elsewhere")
    answer = await http.get(scripted_http.url, deadline_s=30)
    assert (answer.code, answer.headers["location"]) == (302, "/elsewhere")
    assert len(scripted_http.requests) == 1


async def test_another_protocol_is_named(http: Http, scripted_http: ScriptedHttp) -> None:
    scripted_http.default = rig.SSH_BANNER
    error = await failed(http, scripted_http.url)
    assert error.kind is Failure.NOT_HTTP
    assert error.why == 'not HTTP: "SSH-2.0-OpenSSH_9.2p1 Debian-2"'


async def test_random_bytes_are_not_http(http: Http, scripted_http: ScriptedHttp) -> None:
    scripted_http.default = rig.RANDOM_BYTES
    assert (await failed(http, scripted_http.url)).kind is Failure.NOT_HTTP


async def test_closed_without_a_word(http: Http, scripted_http: ScriptedHttp) -> None:
    scripted_http.default = rig.NOTHING
    error = await failed(http, scripted_http.url)
    assert (error.kind, error.why) == (Failure.CLOSED, "closed before it answered")


@pytest.mark.parametrize(
    "behaviour", [rig.CutBody(), rig.Chunked(((0, b"abc"),), ends=False)], ids=["length", "chunks"]
)
async def test_a_cut_body_keeps_its_code(
    http: Http, scripted_http: ScriptedHttp, behaviour: rig.Behaviour
) -> None:
    scripted_http.default = behaviour
    error = await failed(http, scripted_http.url)
    assert (error.kind, error.code) == (Failure.CLOSED, 200)
    assert error.why == "200, but closed in the middle of its body"


async def test_no_proxy_of_the_environment_is_asked(
    http: Http, scripted_http: ScriptedHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert (await http.get(scripted_http.url, deadline_s=30)).code == 200


async def test_no_error_shows_a_credential(any_wire: Wire, scripted_http: ScriptedHttp) -> None:
    http = Http(any_wire, SystemClock(), {"Authorization": "Bearer s3cret-token"})
    for behaviour in (rig.SSH_BANNER, rig.NOTHING, rig.CutBody(), rig.NoHeaders()):
        scripted_http.default = behaviour
        error = await failed(http, scripted_http.url, 0.2)
        assert "s3cret-token" not in repr((error, error.why, error.detail, error.__cause__))
    await http.close()


async def test_a_refusal_ends_when_its_cause_goes(http: Http, scripted_http: ScriptedHttp) -> None:
    bad = replace(rig.BROKEN)
    scripted_http.default = bad
    assert (await http.get(scripted_http.url, deadline_s=30)).code == 500
    scripted_http.default = rig.NOTHING
    await failed(http, scripted_http.url)
    scripted_http.default = rig.OK
    assert (await http.get(scripted_http.url, deadline_s=30)).code == 200


async def test_nothing_is_unpacked_and_nothing_packed_is_asked_for(
    http: Http, scripted_http: ScriptedHttp
) -> None:
    packed = gzip.compress(b"plain")
    scripted_http.default = rig.Answer(200, packed, headers={"Content-Encoding": "gzip"})
    answer = await http.get(scripted_http.url, deadline_s=30)
    assert answer.body == packed
    assert scripted_http.requests[0].headers["accept-encoding"] == "identity"


async def test_a_cookie_is_not_kept(http: Http, scripted_http: ScriptedHttp) -> None:
    scripted_http.default = rig.Answer(200, headers={"Set-Cookie": "a=b; Path=/"})
    for _ in range(2):
        await http.get(scripted_http.url, deadline_s=30)
    assert [request.headers.get("cookie") for request in scripted_http.requests] == [None, None]


async def test_a_credential_that_no_header_can_carry_is_not_shown(
    any_wire: Wire, scripted_http: ScriptedHttp
) -> None:
    http = Http(any_wire, SystemClock(), {"Authorization": "Bearer s3cret\ntoken"})
    error = await failed(http, scripted_http.url)
    assert (error.kind, error.why) == (
        Failure.NOT_HTTP,
        "this request cannot be sent: a header is no HTTP",
    )
    assert "s3cret" not in repr((error, error.detail, error.__cause__, error.__context__))
    assert scripted_http.requests == []
    await http.close()
