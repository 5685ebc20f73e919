"""A program on a pseudo-terminal: keys in, every byte out, and the screen as pyte draws it.

It does not answer a program's questions to its terminal. The program's process group is killed
at the end.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyte

from tests.rig.screen import Screen, environment
from tests.rig.waiting import until

KEYS = {
    "enter": b"\r",
    "tab": b"\t",
    "shift+tab": b"\x1b[Z",
    "escape": b"\x1b",
    "space": b" ",
    "backspace": b"\x7f",
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "delete": b"\x1b[3~",
    "pageup": b"\x1b[5~",
    "pagedown": b"\x1b[6~",
    **{f"f{n}": b"\x1bO" + b"PQRS"[n - 1 : n] for n in range(1, 5)},
}
READ_BYTES = 65536
LOOK_S = 0.05

# pyte prints what it does not know: CSI with a private mark other than ? and whole DCS, APC, PM.
UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<=>][0-?]*[ -/]*[@-~]|\x1b[P_^].*?\x1b\\", re.DOTALL)
UNFINISHED = re.compile(rb"\x1b(\[[0-?]*[ -/]*|[P_^](?:(?!\x1b\\).)*)?\Z", re.DOTALL)


class Terminal(Screen):
    """Runs `argv` on a new pseudo-terminal of `cols` x `rows`, which becomes its controlling one.

    `env` is the whole environment but for terminal and locale; the default is this process's.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cols: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._pyte = pyte.Screen(cols, rows)
        self._stream = pyte.ByteStream(self._pyte)
        self._unread = b""
        self._output = bytearray()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._master, slave = os.openpty()
        termios.tcsetwinsize(slave, (rows, cols))
        self._process = subprocess.Popen(
            ["setsid", "--ctty", *argv],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(env),
            cwd=cwd,
        )
        os.close(slave)
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    @property
    def output(self) -> bytes:
        """Every byte the program has written so far."""
        with self._lock:
            return bytes(self._output)

    @property
    def screen(self) -> str:
        """See Screen. An alternate screen is not told apart: it stays after the program's end."""
        with self._lock:
            return "\n".join(row.rstrip() for row in self._pyte.display)

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal, None while it runs."""
        return self._process.poll()

    def send(self, data: bytes) -> None:
        """Type these bytes."""
        os.write(self._master, data)

    def press(self, *keys: str) -> None:
        """Press keys: one character, a name of KEYS, or ctrl+ and a letter."""
        for key in keys:
            self.send(_key_bytes(key))

    def resize(self, cols: int, rows: int) -> None:
        """Change the terminal's size; the program is told by SIGWINCH."""
        with self._lock:
            self._pyte.resize(rows, cols)
        termios.tcsetwinsize(self._master, (rows, cols))

    def wait_exit(self, deadline_s: float = 10.0) -> int:
        """The exit code once the program has ended and all its output is read."""
        until(lambda: self._process.poll() is not None, deadline_s, "the program's end")
        self._reader.join(deadline_s)
        return self._process.wait()

    def stop(self) -> None:
        """Kill the program's group and close the terminal. Safe to repeat."""
        if self._stopping.is_set():
            return
        if self._process.poll() is None:
            self._process.kill()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait(5)
        self._stopping.set()
        self._reader.join(5)
        os.close(self._master)

    def _read(self) -> None:
        while not self._stopping.is_set():
            if not select.select([self._master], [], [], LOOK_S)[0]:
                continue
            try:
                data = os.read(self._master, READ_BYTES)
            except OSError:  # EIO: nobody has the terminal open any more
                return
            with self._lock:
                self._output += data
                self._show(data)

    def _show(self, data: bytes) -> None:
        whole = UNKNOWN_TO_PYTE.sub(b"", self._unread + data)
        cut = UNFINISHED.search(whole)
        end = len(whole) if cut is None else cut.start()
        self._unread = whole[end:]
        self._stream.feed(whole[:end])


def _key_bytes(key: str) -> bytes:
    if key in KEYS:
        return KEYS[key]
    if key.startswith("ctrl+") and len(key) == 6:
        return bytes([ord(key[5].upper()) & 0x1F])
    if len(key) == 1:
        return key.encode()
    raise ValueError(f"unknown key: {key}")
