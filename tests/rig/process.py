"""A child process of a test: its own process group, its output in one log file.

Signals go to the group this module created, never to a name. `stop` and `kill` are safe to
call twice and after the child has ended by itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def runs(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    return parent_and_name(pid) is not None


def parent_and_name(pid: int) -> tuple[int, str] | None:
    """Parent pid and command name from /proc/PID/stat; None when gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    state, parent = stat[stat.rindex(")") + 2 :].split()[:2]
    return None if state == "Z" else (int(parent), name)


class Child:
    """One running program; `returncode` is None while it runs."""

    def __init__(
        self,
        argv: Sequence[str],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,
            )
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal, None while running."""
        return self._process.poll()

    def stop(self, deadline_s: float = 5.0) -> int:
        """SIGTERM to the group, SIGKILL after `deadline_s`; the exit code."""
        self._signal(signal.SIGTERM)
        try:
            return self._process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """SIGKILL to the group; the exit code."""
        self._signal(signal.SIGKILL)
        return self._process.wait(5)

    def _signal(self, number: signal.Signals) -> None:
        # While the leader is not reaped its pid cannot be given to anyone else.
        if self._process.poll() is None:
            os.killpg(self.pid, number)
