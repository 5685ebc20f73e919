"""Both arms on real llama.cpp servers, measured as the console does it: worker, ABBA, counters."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from console.bench.acceptance import Counters
from console.bench.answer import Answer
from console.bench.arm import Trial
from console.bench.job import Done, Job, Sampling, read_record, worker_argv, worker_preamble
from console.bench.metrics import Figures, measure
from console.bench.protocol import more_runs
from tests.rig.llama import LlamaServer

PROMPT = "A lighthouse keeper counts the ships"


def counters(server: LlamaServer) -> Counters:
    """The server's totals now."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=5) as answer:
        text = answer.read().decode()

    def total(name: str) -> int | None:
        found = re.search(rf"^llamacpp:{name}_total (\d+)$", text, re.M)
        return int(found[1]) if found else None

    return Counters(
        generated=total("tokens_predicted"),
        passes=total("spec_decode_num_drafts"),
        proposed=total("spec_decode_num_draft_tokens"),
        accepted=total("spec_decode_num_accepted_tokens"),
    )


@dataclass
class Worker:
    """A worker process that takes one request at a time."""

    child: subprocess.Popen[bytes]

    def ask(self, server: LlamaServer, tokens: int, prompt: str = PROMPT) -> Answer:
        """One streamed completion."""
        sampling = Sampling(max_tokens=tokens)
        job = Job(server.url, "llamacpp", (("run", prompt),), sampling=sampling)
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(job.line())
        self.child.stdin.flush()
        found: list[Answer] = []
        for line in self.child.stdout:
            record = read_record(line.decode())
            if isinstance(record, Answer):
                found.append(record)
            if isinstance(record, Done):
                break
        (answer,) = found
        return answer


@contextmanager
def a_worker() -> Iterator[Worker]:
    """A worker, ended with the block."""
    argv = worker_argv(sys.executable)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        child.stdin.write(worker_preamble())
        yield Worker(child)
        child.stdin.close()


def trial(worker: Worker, server: LlamaServer, tokens: int, launch: int, at_us: int) -> Trial:
    """One run with the counters around it."""
    before = counters(server)
    answer = worker.ask(server, tokens)
    found = measure(answer, tokens, before, counters(server))
    return Trial(found, "p", launch, at_us, answer.text())


def favoured(*pids: int) -> None:
    """Lets these processes run before others on a shared machine, where that is permitted."""
    with suppress(PermissionError):
        for pid in pids:
            for thread in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(1))


def measured_in_turns(
    servers: Sequence[LlamaServer], worker: Worker, tokens: int, within: float
) -> tuple[list[Trial], list[Trial]]:
    """Runs in ABBA order, five a server, then as many as the protocol asks for until the ratio is
    within ± `within`, sixty at most."""
    favoured(worker.child.pid, *(server.pid for server in servers))
    found: tuple[list[Trial], list[Trial]] = ([], [])
    wanted = 5
    while len(found[0]) < wanted:
        for side in (0, 1, 1, 0):
            found[side].append(trial(worker, servers[side], tokens, 1, sum(map(len, found))))
        if len(found[0]) >= wanted:
            more = more_runs(rates(found[0]), rates(found[1]), within)
            wanted = min(60, len(found[0]) + (60 if more is None else more))
    return found


def rates(trials: Sequence[Trial]) -> list[float]:
    """Decode rates of the trials that have one."""
    return [t.figures.decode_tok_s for t in trials if isinstance(t.figures, Figures)]
