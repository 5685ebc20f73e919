"""The calls of torch.distributed that are made; each checks what it is given."""

from __future__ import annotations

import datetime
import os
import time


class ReduceOp:
    """The one that is used."""

    MAX = "max"


def init_process_group(
    *, backend: str, init_method: str, rank: int, world_size: int, timeout: datetime.timedelta
) -> None:
    """Join; fails where it is told to."""
    assert backend == "gloo"
    assert init_method.startswith("file:///")
    assert 0 <= rank < world_size
    assert timeout.total_seconds() > 0
    if os.environ.get("STAND_IN", "") == "fail" and rank == 1:
        raise RuntimeError("no interface has that name")


def all_reduce(_data: object, op: str = "sum") -> None:
    """Take as long as told."""
    assert op in ("sum", ReduceOp.MAX)
    told = os.environ.get("STAND_IN", "")
    if told == "hang":
        time.sleep(3600)
    times = dict(pair.split("=") for pair in told.split(",") if "=" in pair)
    since = time.perf_counter()
    while time.perf_counter() - since < int(times.get(os.environ.get("NCCL_PROTO", ""), 0)) / 1e6:
        pass


def destroy_process_group() -> None:
    """Leave."""
