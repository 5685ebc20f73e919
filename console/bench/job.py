"""The two languages spoken with the worker: jobs to it, records from it.

Owns the request bodies, so that every sampling field is explicit for every engine, and the reading
of what a worker, maybe on another host, writes back. It must never trust a line: one that is no
record becomes `Garbled`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal
from urllib.parse import urlsplit

from console.bench.answer import Answer, read_answer

Dialect = Literal["sglang", "completions", "chat", "llamacpp"]
Prompt = str | tuple[int, ...]

PATHS: dict[Dialect, str] = {
    "sglang": "/generate",
    "completions": "/v1/completions",
    "chat": "/v1/chat/completions",
    "llamacpp": "/completion",
}

# `python3 -` reads its program up to the end of its input, which leaves no way to hand over a job
# or to cancel by closing. This reads the program's length, the program, and leaves the rest.
BOOTSTRAP = (
    "import sys; f = sys.stdin.buffer; n = int(f.readline()); "
    "exec(compile(f.read(n), 'bench worker', 'exec'), {'__name__': '__main__'})"
)


def worker_argv(python: str = "python3") -> tuple[str, ...]:
    """The command of a worker, here or over SSH; write `worker_preamble` to it, then jobs."""
    return (python, "-c", BOOTSTRAP)


def worker_preamble() -> bytes:
    """What a worker started with `worker_argv` reads first: its own program."""
    program = files("console.bench").joinpath("worker.py").read_bytes()
    return b"%d\n" % len(program) + program


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the tokens are asked for. Two arms are comparable only when theirs are equal."""

    max_tokens: int = 500
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 1
    ignore_eos: bool = True


@dataclass(frozen=True, slots=True)
class Job:
    """One or more requests to one server, sent one after another (name of the run, prompt).

    `url` is the server's base; `headers` carry an API key, which therefore stays off any command
    line. `extra` is merged into every body. `cancel_on_close`: whether closing the worker's
    input ends its runs (what was measured is kept) or lets them finish. `ca`: PEM text of the
    authorities trusted for https, "" for the system's own.
    """

    url: str
    dialect: Dialect
    requests: tuple[tuple[str, Prompt], ...]
    model: str = ""
    sampling: Sampling = Sampling()
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)
    connect_s: float = 10.0
    stall_s: float = 60.0
    progress_s: float = 0.2
    cancel_on_close: bool = True
    ca: str = ""

    def line(self) -> bytes:
        """The job as the one JSON line a worker reads."""
        url = urlsplit(self.url)
        tls = url.scheme == "https"
        job = {
            "host": url.hostname,
            "port": url.port or (443 if tls else 80),
            "tls": tls,
            "ca": self.ca,
            "dialect": self.dialect,
            "connect_s": self.connect_s,
            "stall_s": self.stall_s,
            "progress_s": self.progress_s,
            "cancel_on_close": self.cancel_on_close,
            "requests": [{"run": run, "wire": self.wire(prompt)} for run, prompt in self.requests],
        }
        return json.dumps(job).encode() + b"\n"

    def wire(self, prompt: Prompt) -> str:
        """One HTTP/1.1 request, head and body, in ASCII but for a header's Latin-1."""
        url, body = urlsplit(self.url), json.dumps(self.body(prompt))
        headers = {
            "Host": url.netloc.rpartition("@")[2],
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Accept": "text/event-stream",
            "Connection": "close",
            **self.headers,
        }
        first = f"POST {url.path.rstrip('/')}{PATHS[self.dialect]} HTTP/1.1"
        lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
        if any("\r" in line or "\n" in line for line in lines):
            raise ValueError("a header or the path holds a line break")
        return "\r\n".join([*lines, "", body])

    def body(self, prompt: Prompt) -> dict[str, object]:
        """The JSON body of one streamed request. Sampling defaults differ by engine and version
        (servers.md names temperature), so none is left out."""
        s = self.sampling
        common: dict[str, object] = {
            "temperature": s.temperature,
            "top_p": s.top_p,
            "ignore_eos": s.ignore_eos,
        }
        match self.dialect:
            case "sglang":
                key = "text" if isinstance(prompt, str) else "input_ids"
                params = {**common, "max_new_tokens": s.max_tokens}
                own: dict[str, object] = {key: prompt, "sampling_params": params}
            case "llamacpp":
                limit = {"n_predict": s.max_tokens, "seed": s.seed, "return_tokens": True}
                own = {**common, **limit, "prompt": prompt}
            case "completions" | "chat":
                usage = {"include_usage": True, "continuous_usage_stats": True}
                own = {**common, "model": self.model, "max_tokens": s.max_tokens, "seed": s.seed}
                own["stream_options"] = usage
                said = [{"role": "user", "content": prompt}]
                own |= {"messages": said} if self.dialect == "chat" else {"prompt": prompt}
        return {**own, "stream": True, **self.extra}


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker runs: its Python, host and process id there."""

    python: str
    host: str
    pid: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A run goes on. `count`: the server's own running token count, None where it sends none."""

    run: str
    elapsed_ns: int
    bytes: int
    count: int | None


@dataclass(frozen=True, slots=True)
class Done:
    """A job is over; a cancelled one may have runs that never started."""

    cancelled: bool


@dataclass(frozen=True, slots=True)
class Garbled:
    """A line that no worker writes: a shell's greeting, a traceback, a broken pipe."""

    line: str


Record = Ready | Progress | Answer | Done | Garbled


def read_record(line: str) -> Record:
    """One line of a worker's output."""
    try:
        raw = json.loads(line)
        match raw:
            case {"kind": "ready", "python": str(python), "host": str(host), "pid": int(pid)}:
                return Ready(python, host, pid)
            case {"kind": "progress", "run": str(run), "elapsed_ns": int(ns), "bytes": int(size)}:
                count = raw.get("count")
                return Progress(run, ns, size, count if isinstance(count, int) else None)
            case {"kind": "done", "cancelled": bool(cancelled)}:
                return Done(cancelled)
            case {"kind": "run"}:
                return read_answer(raw)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return Garbled(line)
