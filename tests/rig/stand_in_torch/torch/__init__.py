"""A stand-in for torch, as far as the timing of all-reduces uses it; put its folder in PYTHONPATH.

An all-reduce takes as long as STAND_IN says for the protocol that was set: `LL=100,=400` in
microseconds, or `hang`, or `fail`. Each process writes its number into the folder STAND_IN_PIDS.
"""

from __future__ import annotations

import os
from pathlib import Path

__version__ = "0.0+standin"
float16 = "float16"
int64 = "int64"

if folder := os.environ.get("STAND_IN_PIDS"):
    (Path(folder) / str(os.getpid())).touch()


class Tensor:
    """Numbers that are all zero unless written."""

    def __init__(self, count: int, device: str) -> None:
        self.device = device
        self._values = [0] * min(count, 1)

    def __getitem__(self, at: int) -> int:
        return self._values[at]

    def __setitem__(self, at: int, value: int) -> None:
        self._values[at] = value


def zeros(count: int, *, dtype: str, device: str) -> Tensor:
    """A tensor of that many zeros."""
    assert dtype in (float16, int64)
    return Tensor(count, device)
