"""A server that answers one request with scripted bytes at scripted times, on 127.0.0.1.

It knows no HTTP beyond the end of a request: what goes out, and in which pieces, is the test's.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


Script = Sequence["bytes | float | threading.Event"]


def event(payload: object) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


def piece(body: bytes) -> bytes:
    """One piece of chunked coding."""
    return b"%x\r\n" % len(body) + body + b"\r\n"


@dataclass
class Scripted:
    """Serves each connection the same script: bytes are one send, numbers are waits in seconds,
    an Event holds everything back until it is set. The connection closes at the script's end.
    With `tls` it speaks https."""

    script: Script
    tls: ssl.SSLContext | None = None
    requests: list[bytes] = field(default_factory=list)
    sent_ns: list[int] = field(default_factory=list)
    holding: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Scripted:
        self._listener = socket.create_server(("127.0.0.1", 0))
        scheme = "http" if self.tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self.tls is not None:
                    connection = self.tls.wrap_socket(connection, server_side=True)
                with connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.requests.append(read_request(connection))
                    self._play(connection)
            except OSError:
                pass  # the other side hung up first, or does not trust it

    def _play(self, connection: socket.socket) -> None:
        due = time.perf_counter()
        for step in self.script:
            match step:
                case bytes():
                    connection.sendall(step)
                    self.sent_ns.append(time.perf_counter_ns())
                case threading.Event():
                    self.holding.set()
                    step.wait(20)
                    due = time.perf_counter()
                case _:
                    due += step
                    time.sleep(max(0.0, due - time.perf_counter()))


def read_request(connection: socket.socket) -> bytes:
    got = b""
    while b"\r\n\r\n" not in got:
        got += connection.recv(65536)
    head, _, body = got.partition(b"\r\n\r\n")
    size = next(
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length")
    )
    while len(body) < size:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def answered(code: int, body: bytes) -> list[bytes]:
    """A whole answer with a length, as an error comes."""
    return [b"HTTP/1.1 %d Nope\r\nContent-Length: %d\r\n\r\n" % (code, len(body)) + body]


def sent(*pieces: bytes) -> list[bytes]:
    """A chunked answer, one send for each piece."""
    return [HEAD, *(piece(body) for body in pieces), END]


def paced(pieces: Iterable[bytes], gap_s: float) -> list[bytes | float]:
    """A chunked answer with the same wait before each piece."""
    script: list[bytes | float] = [HEAD]
    for body in pieces:
        script += [gap_s, piece(body)]
    return [*script, END]
