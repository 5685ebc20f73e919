"""What NCCL would print of each rank: a version and the variables it read, as 2.27.7 words it.

Only where NCCL_DEBUG asks for it; to NCCL_DEBUG_FILE, one for each rank, else to the server's log.
There is no NCCL here: the lines are literals.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from pathlib import Path

from console.lab.log import ServerLog

_WORDS = ("NCCL_P2P_LEVEL", "NCCL_PROTO", "NCCL_ALGO")
_NUMBERS = (
    "NCCL_BUFFSIZE",
    "NCCL_NTHREADS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_CUMEM_ENABLE",
    "NCCL_NVLS_ENABLE",
    "NCCL_GRAPH_REGISTER",
)
_LEVELS = ("INFO", "TRACE")


def say_nccl(log: ServerLog, env: Mapping[str, str], ranks: list[int]) -> None:
    """Write it for the processes of all ranks."""
    if env.get("NCCL_DEBUG", "").upper() not in _LEVELS:
        return
    host = socket.gethostname().partition(".")[0]
    pattern = env.get("NCCL_DEBUG_FILE", "")
    for rank, pid in enumerate(ranks):
        head = f"{host}:{pid}:{pid} [{rank}] NCCL INFO "
        text = "".join(f"{head}{line}\n" for line in _lines(env))
        if pattern:
            path = Path(pattern.replace("%h", host).replace("%p", str(pid)))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        else:
            log.raw(text)


def _lines(env: Mapping[str, str]) -> list[str]:
    found = ["NCCL version 2.27.7+cuda12.9"]
    found += [f"{name} set by environment to {env[name]}" for name in _WORDS if name in env]
    for name in _NUMBERS:
        number = re.match(r"-?\d+", env.get(name, ""))
        if number is not None:
            found.append(f"{name} set by environment to {int(number[0])}.")
    return found
