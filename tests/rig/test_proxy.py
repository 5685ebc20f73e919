"""The proxy delays, cuts, falls silent and resumes without changing a byte."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.rig.http import TEN_MEGABYTES, ScriptedHttp
from tests.rig.ports import free_port
from tests.rig.proxy import CHUNK_BYTES, TcpProxy


def _echo(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_echo_one, args=(connection,), daemon=True).start()


def _echo_one(connection: socket.socket) -> None:
    with connection:
        try:
            while data := connection.recv(65536):
                connection.sendall(data)
        except ConnectionError:
            return


@pytest.fixture
def echo_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_echo, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.fixture
def proxy(echo_port: int) -> Iterator[TcpProxy]:
    with TcpProxy(echo_port) as running:
        yield running


def dial(proxy: TcpProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), 5)


def echoed(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    received = b""
    while len(received) < len(data):
        received += connection.recv(65536)
    return received


def test_bytes_and_the_end_pass_unchanged(proxy: TcpProxy) -> None:
    with dial(proxy) as connection:
        assert echoed(connection, bytes(range(256)) * 100) == bytes(range(256)) * 100
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""


def test_a_long_answer_is_whole_when_the_server_closes() -> None:
    server = ScriptedHttp(TEN_MEGABYTES)
    with server, TcpProxy(server.port) as proxy, dial(proxy) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        received = 0
        while piece := connection.recv(1 << 20):
            received += len(piece)
    assert received > 10_000_000


def test_delay_counts_in_each_direction_and_does_not_add_up(proxy: TcpProxy) -> None:
    many_chunks = bytes(2_000_000)
    with dial(proxy) as connection:
        proxy.delay_ms = 50
        start = time.monotonic()
        assert echoed(connection, many_chunks) == many_chunks
        took_s = time.monotonic() - start
    assert 0.1 <= took_s < len(many_chunks) / CHUNK_BYTES * 0.05


def test_cut_resets_what_is_open_and_serves_what_comes(proxy: TcpProxy) -> None:
    with dial(proxy) as first, dial(proxy) as second:
        assert echoed(first, b"1") + echoed(second, b"2") == b"12"
        proxy.cut()
        for connection in (first, second):
            with pytest.raises(ConnectionResetError):
                connection.recv(1)
    with dial(proxy) as third:
        assert echoed(third, b"3") == b"3"


def test_silence_holds_old_and_new_connections_and_resume_delivers(proxy: TcpProxy) -> None:
    with dial(proxy) as old:
        assert echoed(old, b"x") == b"x"
        proxy.silence()
        with dial(proxy) as new:
            for connection in (old, new):
                connection.sendall(b"held")
                connection.settimeout(0.05)
                with pytest.raises(TimeoutError):
                    connection.recv(1)
            proxy.resume()
            for connection in (old, new):
                connection.settimeout(5)
                assert connection.recv(4, socket.MSG_WAITALL) == b"held"


def test_a_target_that_refuses_ends_the_connection() -> None:
    with TcpProxy(free_port()) as proxy, dial(proxy) as connection:
        assert connection.recv(1) == b""


def test_closed_proxy_refuses_and_drops(proxy: TcpProxy) -> None:
    with dial(proxy) as connection:
        assert echoed(connection, b"x") == b"x"
        proxy.close()
        assert connection.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        dial(proxy)
