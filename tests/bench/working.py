"""Runs the worker as its users do: a child process, its program and its jobs over a pipe."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from console.bench.answer import Answer
from console.bench.job import Dialect, Job, Record, Sampling, read_record, worker_argv
from console.bench.job import worker_preamble as preamble


def job(url: str, dialect: Dialect, tokens: int, runs: int = 1, **fields: object) -> Job:
    """A job of so many equal requests that finishes although its input closes at once."""
    requests = tuple((f"run-{number}", "Hi") for number in range(1, runs + 1))
    sampling = Sampling(max_tokens=tokens)
    made = Job(url, dialect, requests, model="m", sampling=sampling, cancel_on_close=False)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def start() -> subprocess.Popen[bytes]:
    """A worker that has read its program and waits for jobs."""
    child = subprocess.Popen(
        worker_argv(sys.executable), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    child.stdin.write(preamble())
    child.stdin.flush()
    return child


def work(*jobs: Job) -> list[Record]:
    """All records of a worker that was given these jobs."""
    child = start()
    out, _ = child.communicate(b"".join(job.line() for job in jobs), timeout=30)
    assert child.returncode == 0
    return [read_record(line) for line in out.decode().splitlines()]


def answers(records: Sequence[Record]) -> list[Answer]:
    return [record for record in records if isinstance(record, Answer)]


def answer(made: Job) -> Answer:
    """The answer of a job with one request."""
    (only,) = answers(work(made))
    return only
