"""A program in a real tmux, on a server and socket of its own that end with the test.

It reads no tmux configuration and never talks to another tmux server.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.rig.process import runs
from tests.rig.screen import Screen, environment
from tests.rig.waiting import until


class Tmux(Screen):
    """Runs `argv` in a tmux server of its own; the pane stays after the program has ended."""

    poll_s = 0.05  # each look is a process

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cols: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._socket_name = f"rig-{uuid.uuid4().hex[:12]}"
        self._env = environment(env)
        options = ["remain-on-exit on", "status off", "escape-time 0"]
        options.append("default-terminal tmux-256color")
        words = ["start-server", ";"]
        for option in options:
            words += ["set-option", "-g", *option.split(), ";"]
        words += ["new-session", "-d", "-x", str(cols), "-y", str(rows)]
        self._stopped = False
        self._tmux(*words, "exec " + shlex.join(argv), cwd=cwd)
        self._server_pid, self.pid = map(int, self._asked("#{pid} #{pane_pid}").split())
        self.socket = Path(self._asked("#{socket_path}"))

    @property
    def screen(self) -> str:
        """See Screen."""
        return self._tmux("capture-pane", "-p").rstrip("\n")

    @property
    def coloured_screen(self) -> str:
        """The screen with the colour sequences tmux keeps for it."""
        return self._tmux("capture-pane", "-p", "-e")

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal, None while it runs."""
        form = "#{pane_dead},#{pane_dead_status},#{pane_dead_signal}"
        dead, code, number = self._asked(form).split(",")
        if code or number:
            return int(code) if code else -int(number)
        if dead == "1":
            # tmux 3.3a at times sleeps through SIGCHLD: the pane's terminal is closed, its program
            # never reaped. The signal is harmless when it was on its way.
            os.kill(self._server_pid, signal.SIGCHLD)
        return None

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names: Enter, Escape, C-c, Up, F1, or one character."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type text letter by letter, without looking for key names in it."""
        self._tmux("send-keys", "-l", text)

    def wait_exit(self, deadline_s: float = 10.0) -> int:
        """The exit code once the program has ended."""
        until(lambda: self.returncode is not None, deadline_s, "the program's end")
        code = self.returncode
        assert code is not None
        return code

    def stop(self) -> None:
        """End the tmux server and the program, the latter by SIGKILL if it stays."""
        if self._stopped:
            return
        self._stopped = True
        running = runs(self.pid)
        self._tmux("kill-server")
        until(lambda: not runs(self._server_pid), 5, "tmux gone")
        self.socket.unlink(missing_ok=True)
        if running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def _asked(self, form: str) -> str:
        return self._tmux("display-message", "-p", form).strip()

    def _tmux(self, *words: str, cwd: Path | None = None) -> str:
        argv = ["tmux", "-L", self._socket_name, "-f", "/dev/null", "-u", *words]
        done = subprocess.run(
            argv, env=self._env, cwd=cwd, capture_output=True, timeout=10, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"tmux {words[0]}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace")
