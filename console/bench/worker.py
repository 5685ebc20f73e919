"""Times one streamed completion after another and writes what it saw as JSON lines.

Standard library only, Python 3.9: it runs as a child process or, sent over a pipe, on the server's
own host. It owns a run's clock: each read is stamped at once, nothing is parsed until the end. It
must never count tokens: it hands on the server's count, which console.bench.answer judges.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import queue
import re
import select
import signal
import socket
import ssl
import sys
import threading
import time
from typing import Any, Dict  # noqa: UP035

Json = Dict[str, Any]  # noqa: UP006
DATA_LINE = re.compile(rb"^data: ?([^\n]*)\n", re.M)
LAST_CHUNK = b"\r\n0\r\n\r\n"  # JSON escapes its line ends, so no payload looks like this
LIVE_COUNT = re.compile(rb'"(?:completion_tokens|tokens_predicted)": ?(\d+)')
BEAT_NS = 20_000_000
clock = time.perf_counter_ns


class Beat(threading.Thread):
    """Wakes every 20 ms and at the end; notes how late: the stall of this process, on this core."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.late_ns, self.over = [0], threading.Event()

    def run(self) -> None:
        since, over = clock(), False
        while not over:
            over = self.over.wait(BEAT_NS / 1e9)
            since, before = clock(), since
            self.late_ns.append(max(0, since - before - BEAT_NS))

    def stop(self) -> Json:
        """Ends the thread; p99 and longest lateness in ns."""
        self.over.set()
        self.join()
        late = sorted(self.late_ns)
        return {"stall_p99_ns": late[len(late) * 99 // 100], "stall_max_ns": late[-1]}


class Capture:
    """One response exactly as it arrived: the bytes of every read and the stamp taken after it."""

    def __init__(self) -> None:
        self.start_ns, self.sent_ns, self.complete = clock(), 0, False
        self.at_ns: list[int] = []
        self.reads: list[bytes] = []

    def head(self) -> tuple[int, dict[str, str], int]:
        """HTTP code (0 while incomplete, -1 if it is no HTTP), lower-cased headers, head length."""
        blob = b"".join(self.reads)
        end = blob.find(b"\r\n\r\n")
        if end < 0:
            return 0, {}, 0
        first, *rest = blob[:end].decode("latin-1").lower().split("\r\n")
        code = re.match(r"http/1\.\d (\d{3})", first)
        pairs = (line.partition(":") for line in rest)
        return int(code[1]) if code else -1, {k.strip(): v.strip() for k, _, v in pairs}, end + 4

    def tell(self, run: str) -> None:
        """One line of progress, dropped rather than wait for a reader that lags."""
        live = LIVE_COUNT.findall(b"".join(self.reads[-3:])[-4096:])
        told = {"elapsed_ns": clock() - self.sent_ns, "bytes": sum(map(len, self.reads))}
        if select.select([], [sys.stdout], [], 0)[1]:
            say("progress", run=run, count=int(live[-1]) if live else None, **told)

    def receive(self, sock: socket.socket, run: str, tick_ns: int) -> None:
        """Reads to the end of the response. The hot loop: stamp, keep, look for the end."""
        recv, at_ns, reads, tail = sock.recv, self.at_ns, self.reads, b""
        code, skip, total, length, chunked = 0, 0, 0, -1, False
        next_tick = clock() + tick_ns
        while True:
            data = recv(65536)
            now = clock()
            if not data:
                self.complete = code > 0 and length < 0 and not chunked
                return
            at_ns.append(now)
            reads.append(data)
            total += len(data)
            if not code:
                code, headers, skip = self.head()
                chunked = "chunked" in headers.get("transfer-encoding", "")
                size = "" if chunked else headers.get("content-length", "")
                length = int(size) if size.isdecimal() and len(size) < 19 else -1
            tail = (tail + data[-7:])[-7:]
            if (chunked and tail == LAST_CHUNK) or 0 <= length <= total - skip:
                break
            if now >= next_tick:
                self.tell(run)
                next_tick = now + tick_ns
        self.complete = True


def dechunk(blob: bytes, start: int) -> tuple[bytes, list[int], list[int]]:
    """Chunked coding undone: body, where each piece ends in it, how far it stood later in blob."""
    pieces, ends, shifts, total = [], [0], [0], 0
    with contextlib.suppress(ValueError):  # where the response was cut short
        while True:
            line = blob.index(b"\r\n", start) + 2
            size = int(blob[start : line - 2].partition(b";")[0], 16)
            if not size:
                break
            pieces.append(blob[line : line + size])
            shifts.append(line - total)
            total += len(pieces[-1])
            ends.append(total)
            start = line + size + 2
    return b"".join(pieces), ends, shifts


def events(capture: Capture) -> tuple[list[int], list[bytes]]:
    """Server-sent events: stamp of the read that brought a line's last byte, and its payload."""
    blob, (_, headers, start) = b"".join(capture.reads), capture.head()
    body, ends, shifts = blob[start:], [len(blob) - start], [start]
    if "chunked" in headers.get("transfer-encoding", ""):
        body, ends, shifts = dechunk(blob, start)
    read_ends = list(itertools.accumulate(map(len, capture.reads)))
    stamps, payloads, piece, read = [], [], 0, 0
    for line in DATA_LINE.finditer(body):
        end = line.end()
        while ends[piece] < end:
            piece += 1
        while read_ends[read] < end + shifts[piece]:
            read += 1
        stamps.append(capture.at_ns[read])
        payloads.append(line[1])
    return stamps, payloads


def loads(payloads: list[bytes]) -> list[Any]:
    """The payloads as JSON, None for a broken one; one parse for all is a third faster."""
    try:
        found = json.loads((b"[" + b",".join(payloads) + b"]").decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        found = []
    if len(found) == len(payloads):
        return list(found)
    return [None] if len(payloads) == 1 else [loads([one])[0] for one in payloads]


def sglang(event: Json) -> tuple[Any, ...]:
    """One event of SGLang's /generate, as parse() takes it; text and ids hold all so far."""
    meta, ids = event.get("meta_info") or {}, event.get("output_ids")
    spec = {name: value for name, value in meta.items() if name.startswith("spec_")}
    count, finish = meta.get("completion_tokens"), (meta.get("finish_reason") or {}).get("type")
    return event.get("text"), count, ids, (finish, meta, spec, None)


def openai(event: Json) -> tuple[Any, ...]:
    """One chunk of /v1/completions or /v1/chat/completions, in the same order."""
    choice, usage = (event.get("choices") or [{}])[0], event.get("usage") or {}
    delta = choice.get("delta") or {}
    text = choice.get("text") or delta.get("reasoning_content") or delta.get("content")
    spec = (event.get("sglext") or {}).get("spec_tokens_details")
    spec = spec or (event.get("metrics") or {}).get("speculative_decoding")
    count, finish = usage.get("completion_tokens"), choice.get("finish_reason")
    return text, count, None, (finish, usage, spec, event.get("timings"))


def llamacpp(event: Json) -> tuple[Any, ...]:
    """One event of llama.cpp's /completion, in the same order; its ids are this event's only."""
    timings, stop = event.get("timings") or {}, event.get("stop_type")
    finish = ("length" if stop == "limit" else stop) if event.get("stop") else None
    usage = {
        "prompt_tokens": event.get("tokens_evaluated"),
        "cached_tokens": timings.get("cache_n"),
    }
    count = timings.get("predicted_n", event.get("tokens_predicted"))
    return event.get("content"), count, event.get("tokens"), (finish, usage, None, timings)


def parse(capture: Capture, dialect: str) -> Json:
    """A response's events as [ns after sending, count, ids, text], and its fields as last seen."""
    read = {"sglang": sglang, "llamacpp": llamacpp}.get(dialect, openai)
    rows, told, error, so_far = [], [], "", ""
    stamps, payloads = events(capture)
    done = bool(payloads) and payloads[-1].strip() == b"[DONE]" and bool(payloads.pop())
    for at_ns, payload, event in zip(stamps, payloads, loads(payloads)):  # noqa: B905 (not in 3.9)
        try:
            if event.get("error") or event.get("object") == "error":
                raise LookupError
            text, count, ids, rest = read(event)
            size, text = None if ids is None else len(ids), text or ""
        except (AttributeError, TypeError, LookupError):
            error = error or payload[:300].decode("utf-8", "replace")
            continue
        told.append(rest)
        if dialect == "sglang" and (size is None or size == count):  # all so far, no segment
            text, so_far = text[len(so_far) :], text
        rows.append((at_ns - capture.sent_ns, count, size, text))
    last = [next((rest[i] for rest in reversed(told) if rest[i]), None) for i in range(4)]
    found = {"finish": last[0], "usage": last[1], "spec": last[2], "timings": last[3]}
    whole = done or (capture.complete and bool(last[0]))
    shared = 1 - len({row[0] for row in rows}) / len(rows) if rows else 0.0
    return dict(found, events=rows, coalesced=shared, whole=whole, error=error)


class Session:
    """The runs of its jobs, one at a time; a cancel shuts the socket and keeps what came."""

    def __init__(self) -> None:
        self.cancelled = False
        self.sock: socket.socket | None = None

    def cancel(self) -> None:
        self.cancelled = True
        with contextlib.suppress(OSError):  # it may end by itself in the same moment
            if self.sock:
                self.sock.shutdown(socket.SHUT_RDWR)

    def run(self, job: Json, request: Json) -> Json:
        """One request: connect, send, receive, and only then parse. The record of the run."""
        capture, beat, status, why = Capture(), Beat(), "ok", ""
        gc.collect()
        gc.disable()
        beat.start()
        try:
            self.exchange(job, request, capture)
        except OSError as problem:
            status = "stalled" if isinstance(problem, socket.timeout) else "disconnected"
            status, why = status if capture.sent_ns else "unreachable", str(problem)
        stall = beat.stop()
        code, _, skip = capture.head()
        parsed = parse(capture, job["dialect"])
        gc.enable()
        if self.cancelled and not parsed["whole"]:
            status = "cancelled"
        elif code and code != 200:
            body = b"".join(capture.reads)[skip : skip + 300]
            status, why = "http", "%d %s" % (code, body.decode("utf-8", "replace"))  # noqa: UP031
        elif parsed["error"]:
            status, why = "error", parsed["error"]
        elif status == "ok" and not parsed["whole"]:
            status, why = "disconnected", "the stream ended before its end mark"
        parsed.update(stall, http=code, connect_ns=max(0, capture.sent_ns - capture.start_ns))
        return dict(parsed, run=request["run"], status=status, why=why)

    def exchange(self, job: Json, request: Json, capture: Capture) -> None:
        capture.start_ns = clock()
        sock = socket.create_connection((job["host"], job["port"]), job["connect_s"])
        if job["tls"]:
            trust = ssl.create_default_context(cadata=job["ca"] or None)
            sock = trust.wrap_socket(sock, server_hostname=job["host"])
        with sock:
            self.sock = sock
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(job["stall_s"])
            capture.sent_ns = clock()
            if not self.cancelled:
                sock.sendall(request["wire"].encode("latin-1"))
                capture.receive(sock, request["run"], int(job["progress_s"] * 1e9))


def say(kind: str, **fields: Any) -> None:
    print(json.dumps(dict(fields, kind=kind)), flush=True)


def main() -> None:
    """Jobs from standard input, one JSON line each, until it closes; that cancels, if asked."""
    session, jobs = Session(), queue.Queue()  # type: Session, queue.Queue[Json | None]
    signal.signal(signal.SIGTERM, lambda *_: session.cancel())

    def read_jobs() -> None:
        cancels = True
        for line in sys.stdin.buffer:
            jobs.put(job := json.loads(line))
            cancels = job["cancel_on_close"]
        jobs.put(None)
        if cancels:
            session.cancel()

    threading.Thread(target=read_jobs, daemon=True).start()
    gc.freeze()
    say("ready", python=sys.version.split()[0], host=socket.gethostname(), pid=os.getpid())
    for job in iter(jobs.get, None):
        for request in job["requests"]:
            if not session.cancelled:
                say("run", **session.run(job, request))
        say("done", cancelled=session.cancelled)
    os._exit(0)  # the reading thread may wait for a line that never comes


if __name__ == "__main__":
    main()
