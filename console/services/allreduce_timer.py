"""Times all-reduces of a few sizes on this host's GPUs and writes what it saw as JSON lines.

Standard library and the server's own torch, Python 3.9: sent over a pipe, it starts one process a
rank with this same text. It must end within its limit whatever hangs, and leave no rank behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Dict, List  # noqa: UP035

Json = Dict[str, Any]  # noqa: UP006
WARM_UP = 3
FEWEST, MOST = 5, 2_000


def tell(**record: object) -> None:
    """One record on standard output."""
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def lead(job: Json) -> int:
    """Start the ranks and see to their end: by themselves, by a failure of one, or by the limit."""
    env = {name: text for name, text in os.environ.items() if not name.startswith("NCCL_")}
    env.update(job["env"])
    with tempfile.TemporaryDirectory(prefix="allreduce-") as folder:
        job["meet"] = "file://" + os.path.join(folder, "meet")
        program = job["program"].encode()
        ranks: List[Any] = []  # noqa: UP006
        told = [os.path.join(folder, str(number)) for number in range(job["ranks"])]
        over = threading.Event()

        def end() -> None:
            over.set()
            for one in ranks:
                one.kill()

        # A rank that hangs in a collective answers to nothing but KILL.
        limit = threading.Timer(job["limit_s"], end)
        limit.daemon = True
        limit.start()
        for number, path in enumerate(told):
            argv = [sys.executable, "-c", job["boot"]]
            # Only the first rank may write: the others' words would get in between.
            out = None if number == 0 else subprocess.DEVNULL
            with open(path, "wb") as said:
                one = subprocess.Popen(
                    argv, stdin=subprocess.PIPE, stdout=out, stderr=said, env=env
                )
            ranks.append(one)
            give(one, program, dict(job, rank=number))
        failed = first_failure(ranks)
        if over.is_set():
            tell(kind="limit", limit_s=job["limit_s"])
        elif failed is not None:
            with open(told[failed], errors="replace") as said_by:
                rows = said_by.read().strip().splitlines()
            code = ranks[failed].returncode
            tell(kind="failed", rank=failed, code=code, why=rows[-1] if rows else "")
        else:
            tell(kind="end")
        end()
        limit.cancel()
        for one in ranks:
            one.wait()
        return 0


def give(one: Any, program: bytes, job: Json) -> None:
    """Hand a rank its program and its job; one that has ended already says why in its own way."""
    with contextlib.suppress(BrokenPipeError):
        one.stdin.write(b"%d\n" % len(program) + program + json.dumps(job).encode() + b"\n")
    with contextlib.suppress(BrokenPipeError):
        one.stdin.close()


def first_failure(ranks: List[Any]) -> Any:  # noqa: UP006
    """The number of the first rank that ends badly, None once all have ended well."""
    while True:
        codes = [one.poll() for one in ranks]
        for number, code in enumerate(codes):
            if code not in (None, 0):
                return number
        if None not in codes:
            return None
        time.sleep(0.02)


def die_with_parent() -> None:
    """Be killed when the process that started this one is gone, however it went."""
    parent = os.getppid()
    death_signal = 1
    try:
        ctypes.CDLL(None).prctl(death_signal, signal.SIGKILL)
    except (AttributeError, OSError):
        return
    if os.getppid() != parent:
        os._exit(1)


def rank(job: Json) -> int:
    """One rank: join the others, time each size, tell it if this is the first."""
    die_with_parent()
    torch = importlib.import_module("torch")
    dist = importlib.import_module("torch.distributed")
    gpu = job["backend"] == "nccl"
    device = "cpu"
    if gpu:
        device = f"cuda:{job['rank']}"
        torch.cuda.set_device(job["rank"])
    dist.init_process_group(
        backend=job["backend"],
        init_method=job["meet"],
        rank=job["rank"],
        world_size=job["ranks"],
        timeout=datetime.timedelta(seconds=job["limit_s"]),
    )
    first = job["rank"] == 0
    if first:
        version = ".".join(str(part) for part in torch.cuda.nccl.version()) if gpu else ""
        tell(kind="ready", torch=str(torch.__version__), nccl=version)
    for tokens in job["tokens"]:
        count = tokens * job["hidden"]
        data = torch.zeros(count, dtype=torch.float16, device=device)
        wait = torch.cuda.synchronize if gpu else (lambda: None)
        share_s = job["seconds"] / len(job["tokens"])
        found = timed(torch, dist, data, wait, share_s, 20 if gpu else 5)
        if first:
            tell(kind="size", tokens=tokens, bytes=count * 2, **found)
    dist.destroy_process_group()
    return 0


def timed(torch: Any, dist: Any, data: Any, wait: Any, share_s: float, calls: int) -> Json:
    """Microseconds of one all-reduce, from batches of several without a wait between them."""

    def batch() -> float:
        since = time.perf_counter()
        for _ in range(calls):
            dist.all_reduce(data)
        wait()
        return (time.perf_counter() - since) / calls

    best = min(batch() for _ in range(WARM_UP))
    # All ranks must make the same number of calls: the largest of their numbers.
    number = torch.zeros(1, dtype=torch.int64, device=data.device)
    number[0] = max(FEWEST, min(MOST, int(share_s / max(best * calls, 1e-6))))
    dist.all_reduce(number, op=dist.ReduceOp.MAX)
    found = sorted(batch() * 1e6 for _ in range(int(number[0])))
    return {
        "median_us": found[len(found) // 2],
        "p10_us": found[len(found) // 10],
        "p90_us": found[len(found) * 9 // 10],
        "calls": calls * len(found),
    }


def main() -> int:
    """Read the job; be its leader or one of its ranks."""
    job = json.loads(sys.stdin.readline())
    return lead(job) if job.get("rank") is None else rank(job)


if __name__ == "__main__":
    sys.exit(main())
