"""The scripted server gives each bad answer it promises, seen on a plain socket and by httpx."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.rig import http
from tests.rig.http import Answer, Chunked, CutBody, Endless, NoHeaders, Request, ScriptedHttp
from tests.rig.waiting import auntil, until


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as running:
        yield running


def get(server: ScriptedHttp, path: str = "/health") -> httpx.Response:
    return httpx.get(server.url + path, timeout=5, trust_env=False)


def dialled(server: ScriptedHttp) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), 5)
    connection.sendall(b"GET /health HTTP/1.1\r\nHost: rig\r\n\r\n")
    return connection


def everything(connection: socket.socket) -> bytes:
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


def test_behaviour_switches_while_running_for_all_paths_and_for_one(server: ScriptedHttp) -> None:
    codes = [get(server).status_code]
    for server.default in (http.LOADING, http.BROKEN, http.UNAUTHORIZED, http.redirect("/there")):
        codes.append(get(server).status_code)
    server.paths["/metrics"] = Answer(404, b"gone", "text/plain")
    assert codes == [200, 503, 500, 401, 302]
    assert get(server).headers["location"] == "/there"
    assert get(server, "/metrics?all=1").text == "gone"
    assert get(server, "/other").status_code == 302


def test_requests_are_kept_as_they_came(server: ScriptedHttp) -> None:
    httpx.post(server.url + "/v1", content=b"{}", headers={"X-Key": "k"}, trust_env=False)
    [seen] = server.requests
    assert seen == Request("POST", "/v1", seen.headers, b"{}")
    assert seen.headers["x-key"] == "k"


def test_one_connection_takes_many_requests(server: ScriptedHttp) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        assert [client.get("/").status_code for _ in range(3)] == [200, 200, 200]
    assert (server.connections, len(server.requests)) == (1, 3)


def test_ten_megabytes_arrive_whole(server: ScriptedHttp) -> None:
    server.default = http.TEN_MEGABYTES
    assert len(get(server).content) == 10_000_000


def test_endless_body_outlasts_any_amount_and_stops_with_its_client(server: ScriptedHttp) -> None:
    server.default = Endless(b"x" * 65536, every_s=0)
    with dialled(server) as connection:
        received = 0
        while received < 20_000_000:
            received += len(connection.recv(1 << 20))
        assert server.in_flight == 1
    until(lambda: server.in_flight == 0, 5)


def test_headers_never_come_but_the_connection_stays(server: ScriptedHttp) -> None:
    server.default = NoHeaders()
    with dialled(server) as connection:
        until(lambda: server.in_flight == 1, 5)
        connection.settimeout(0.05)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    until(lambda: server.in_flight == 0, 5)


@pytest.mark.parametrize("raw", [http.SSH_BANNER, http.RANDOM_BYTES, http.NOTHING])
def test_something_else_than_http_is_sent_and_closed(server: ScriptedHttp, raw: http.Raw) -> None:
    server.default = raw
    with dialled(server) as connection:
        assert everything(connection) == raw.data
    with pytest.raises(httpx.RemoteProtocolError):
        get(server)


def test_banner_comes_before_any_request(server: ScriptedHttp) -> None:
    server.default = http.SSH_BANNER
    with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
        assert connection.recv(8) == b"SSH-2.0-"


def test_body_is_cut_in_the_middle(server: ScriptedHttp) -> None:
    server.default = CutBody(promised=100, sent=b"half")
    with dialled(server) as connection:
        head, _, body = everything(connection).partition(b"\r\n\r\n")
    assert (b"Content-Length: 100" in head, body) == (True, b"half")
    with pytest.raises(httpx.RemoteProtocolError):
        get(server)


def test_chunks_keep_their_timing_and_may_break_off(server: ScriptedHttp) -> None:
    server.default = Chunked(((0, b"data: 1\n\n"), (0.05, b"data: 2\n\n")))
    start = time.monotonic()
    assert get(server).text == "data: 1\n\ndata: 2\n\n"
    assert 0.05 <= time.monotonic() - start < 2
    server.default = Chunked(((0, b"data: 1\n\n"),), ends=False)
    with pytest.raises(httpx.RemoteProtocolError):
        get(server)


async def test_most_requests_in_flight_are_counted(server: ScriptedHttp) -> None:
    server.default = NoHeaders()
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        waiting = [asyncio.create_task(client.get("/")) for _ in range(3)]
        await auntil(lambda: server.in_flight == 3, 5)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await auntil(lambda: server.in_flight == 0, 5)
        server.default = http.OK
        await client.get("/")
    assert (len(server.requests), server.max_in_flight) == (4, 3)


def test_closed_server_refuses(server: ScriptedHttp) -> None:
    with dialled(server) as connection:
        until(lambda: len(server.requests) == 1, 5)
        server.close()
        assert b"200 OK" in everything(connection)
    with pytest.raises(httpx.ConnectError):
        get(server)
