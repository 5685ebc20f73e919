"""Runs one simulated server on a host directory of its own, without SSH around it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.lab.site import Site, load_site
from console.lab.switches import set_switches
from tests.rig.ports import free_port

SERVERS = {"baseline": "kimi-base", "speculative": "kimi-eagle3"}
CAPTURES = Path(__file__).parent / "captures"


def eventually(condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Look again and again until a condition holds; AssertionError after that many seconds."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"not within {seconds} s: {what}"
        time.sleep(0.01)


@dataclass(frozen=True)
class Reply:
    """An HTTP answer; `took_s` to its last byte."""

    status: int
    head: list[tuple[str, str]]
    body: bytes
    took_s: float

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Simulated:
    """One running server."""

    process: subprocess.Popen[bytes]
    port: int
    host_dir: Path
    log_path: Path

    @property
    def log(self) -> str:
        return self.log_path.read_bytes().decode()

    def call(
        self, path: str, body: object = None, *, method: str = "", key: str = "", limit: float = 30
    ) -> Reply:
        begun = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit)
        try:
            data = None if body is None else json.dumps(body)
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            connection.request(method or ("POST" if data else "GET"), path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return Reply(answer.status, answer.getheaders(), text, time.monotonic() - begun)

    def events(self, path: str, body: object) -> list[Any]:
        """The data of a stream's events, `[DONE]` checked and left out."""
        lines = self.call(path, body).body.decode().split("\n\n")
        assert lines[-2:] == ["data: [DONE]", ""]
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]

    def code(self, path: str = "/health") -> int:
        """A status code, 0 when the connection is refused or reset."""
        try:
            return self.call(path).status
        except ConnectionError:
            return 0

    def ready(self) -> Simulated:
        eventually(
            lambda: ("fired up and ready" in self.log and self.code("/ready")) or self.ended,
            "ready",
        )
        assert not self.ended, self.log[-2000:]
        return self

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def switch(self, **changes: object) -> None:
        """Throw switches of whichever arm runs."""
        for name in SERVERS.values():
            set_switches(self.host_dir.parent, name, **changes)

    def children(self) -> dict[str, int]:
        """Pids of its living children by title."""
        found = {}
        for pid in _below(self.process.pid):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            found[b" ".join(words).decode().strip()] = pid
        return found


def _below(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _parent(int(entry.name)) == parent:
            found.append(int(entry.name))
    return found


def _parent(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if fields[0] == b"Z" else int(fields[1])


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    return _parent(pid) != 0


def make_site(directory: Path, scale: float, assume: str = "sober") -> Site:
    """A host's directory below `directory`, which becomes the lab's."""
    host_dir = directory / "host"
    site = Site("gpu8", str(directory), scale, "test", assume, SERVERS, str(host_dir))
    site.save(host_dir)
    return load_site(host_dir)


@contextmanager
def simulated(
    directory: Path,
    *extra: str,
    scale: float = 40.0,
    assume: str = "sober",
    tp: int = 4,
    env: dict[str, str] | None = None,
    port: int = 0,
    past: bool = False,
    **switches: object,
) -> Iterator[Simulated]:
    """Start one server, with `past` one that is up already; killed with its children at the end."""
    site = make_site(directory, scale, assume)
    port = port or free_port()
    for name in SERVERS.values():
        set_switches(directory, name, **switches)
        if past:
            site.will_be_up(name, 600.0)
    log_path = directory / "server.log"
    argv = [sys.executable, "-m", "console.lab.server", site.directory, "serve"]
    argv += ["--model-path", "/srv/models/Kimi-K2.5", "--served-model-name", "kimi-simulated"]
    argv += ["--tp-size", str(tp), "--port", str(port), "--enable-metrics", *extra]
    plain = {k: v for k, v in os.environ.items() if not k.startswith("NCCL_")}
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=plain | (env or {}),
            start_new_session=True,
        )
    server = Simulated(process, port, Path(site.directory), log_path)
    try:
        yield server
    finally:
        children = _below(process.pid)
        for pid in (process.pid, *children):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()


EAGLE = ("--speculative-algorithm", "EAGLE3")
