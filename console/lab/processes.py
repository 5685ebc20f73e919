"""The processes of a simulated server: resource tracker, ranks, detokenizer, and their fate.

The launcher sets what the real one sets in its environment first, so that its children's blocks
hold inherited variables and then those it added. Linux only: names and blocks live in /proc.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path

_RANK = Path(__file__).parent / "rank.py"


def set_launcher_environment() -> int:
    """Add what SGLang 0.5.23 adds; the bytes that the inherited variables take in a block."""
    inherited = sum(len(key) + len(value) + 2 for key, value in os.environb.items())
    home = os.environ.get("HOME", "/")
    os.environ["CUDA_CACHE_PATH"] = f"{home}/.cache/sglang/nv"
    for name in ("NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE", "NCCL_GRAPH_REGISTER"):
        os.environ.setdefault(name, "0")
    os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "8"
    os.environ["TRTLLM_ENABLE_PDL"] = "1"
    os.environ["SGLANG_RUN_ID"] = f"sglang-run-{time.time()}-{os.getpid()}"
    return inherited


@dataclass(frozen=True, slots=True)
class Child:
    """One child; `name` as the watchdog calls it."""

    name: str
    pid: int


class Children:
    """The children of one launcher."""

    def __init__(self, ranks: int, inherited: int, held_fd: int = -1) -> None:
        resource_tracker.ensure_running()
        # The write end closes with this process, however it ends.
        self._leash, self._held = os.pipe()
        bond = "follow" if held_fd < 0 else "outlive"
        titles = [
            f"sglang::scheduler_TP{rank}" if ranks > 1 else "sglang::scheduler"
            for rank in range(ranks)
        ]
        self.ranks = [
            Child(f"scheduler_{rank}", self._start(title, inherited, bond, held_fd))
            for rank, title in enumerate(titles)
        ]
        detokenizer = self._start("sglang::detokenizer", inherited, bond, held_fd)
        self.detokenizer = Child("detokenizer", detokenizer)

    @property
    def all(self) -> list[Child]:
        """The ranks, then the detokenizer."""
        return [*self.ranks, self.detokenizer]

    def _start(self, title: str, inherited: int, bond: str, held_fd: int) -> int:
        # As setproctitle does: told so, it leaves the block alone.
        zeroed = "0" if "SPT_NOENV" in os.environ else str(inherited)
        argv = [sys.executable, "-I", "-S", "-B", str(_RANK), title, zeroed, bond]
        actions: list[tuple[object, ...]] = [(os.POSIX_SPAWN_DUP2, self._leash, 0)]
        if held_fd >= 0:
            actions.append((os.POSIX_SPAWN_DUP2, held_fd, 3))
        return os.posix_spawn(sys.executable, argv, os.environ, file_actions=actions)

    def dead(self) -> tuple[Child, int] | None:
        """A child that has ended and its exit code (negative for a signal), at most once each."""
        for child in self.all:
            try:
                pid, status = os.waitpid(child.pid, os.WNOHANG)
            except ChildProcessError:
                continue
            if pid:
                return child, os.waitstatus_to_exitcode(status)
        return None

    def stopped(self) -> bool:
        """Whether a rank or the detokenizer is stopped by a signal."""
        for child in self.all:
            try:
                stat = Path(f"/proc/{child.pid}/stat").read_bytes()
            except FileNotFoundError:
                continue
            if stat.rpartition(b")")[2].split()[0] in (b"T", b"t"):
                return True
        return False

    def kill(self) -> None:
        """Kill them all and wait for their ends."""
        for child in self.all:
            try:
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue
