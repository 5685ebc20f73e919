"""Lines as SGLang 0.5.23 writes them: heads, access lines and bars, to stderr and stdout.

Every text is a literal of that version, kept apart from the console's parsers so that the two
cannot share a mistake. Nothing is buffered: a killed server's last line is in its log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from http import HTTPStatus

_BAR = " ▏▎▍▌▋▊▉█"


class ServerLog:
    """Writes one server's log; `now` gives the seconds since the epoch for the heads."""

    def __init__(self, now: Callable[[], float], out: int = 1, err: int = 2) -> None:
        self.now = now
        self._out = out
        self._err = err

    def _head(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.now()))

    def line(self, text: str, rank: int | None = None) -> None:
        """One line of SGLang's logger, `rank` being that of tensor parallelism."""
        word = "" if rank is None else f" TP{rank}"
        self.raw(f"[{self._head()}{word}] {text}\n")

    def info(self, text: str, level: str = "INFO") -> None:
        """One line of uvicorn's own logger."""
        self.raw(f"[{self._head()}] {level + ':':<9} {text}\n")

    def access(self, peer: str, method: str, target: str, status: int) -> None:
        """One access line of uvicorn, which goes to stdout."""
        phrase = HTTPStatus(status).phrase
        text = (
            f'[{self._head()}] INFO:     {peer} - "{method} {target} HTTP/1.1" {status} {phrase}\n'
        )
        os.write(self._out, text.encode())

    def raw(self, text: str) -> None:
        """Bytes without a head: bars, tracebacks, other writers' lines."""
        os.write(self._err, text.encode())


def clock_text(seconds: float) -> str:
    """Seconds as bars show them, `MM:SS` or `H:MM:SS`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute:02d}:{second:02d}"


def _rate(n: int, elapsed: float) -> str:
    if n == 0 or elapsed <= 0:
        return "?it/s"
    rate = n / elapsed
    return f"{rate:5.2f}it/s" if rate >= 1 else f"{1 / rate:5.2f}s/it"


def _left(n: int, total: int, elapsed: float) -> str:
    return clock_text(elapsed / n * (total - n)) if n else "?"


def shard_bar(n: int, total: int, elapsed: float) -> str:
    """The weight bar from 0.5.12 on: a carriage return before it, no newline after."""
    percent = f"{100 * n // total:3d}%"
    rate = _rate(n, elapsed)
    return (
        f"\rMulti-thread loading shards: {percent} Completed | {n}/{total} "
        f"[{clock_text(elapsed)}<{_left(n, total, elapsed)}, {rate if n else '?it/s'}]"
    )


def capture_bar(bs: int, avail_gb: float, n: int, total: int, elapsed: float) -> str:
    """The graph capture bar: tqdm's default form, ten cells wide."""
    eighths = round(80 * n / total)
    cells = _BAR[8] * (eighths // 8) + (_BAR[eighths % 8] if eighths % 8 else "")
    return (
        f"\rCapturing batches (bs={bs} avail_mem={avail_gb:.2f} GB): {100 * n // total:3d}%"
        f"|{cells:<10}| {n}/{total} "
        f"[{clock_text(elapsed)}<{_left(n, total, elapsed)}, {_rate(n, elapsed)}]"
    )
