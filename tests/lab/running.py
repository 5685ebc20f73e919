"""Starts the whole lab for a test and says where it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCALE = 40.0


@dataclass
class Lab:
    """A running lab and what it said when it was ready."""

    process: subprocess.Popen[bytes]
    ready: dict[str, Any]
    directory: Path

    @property
    def fleet(self) -> dict[str, Any]:
        return tomllib.loads(Path(self.ready["fleet"]).read_text())

    @property
    def port(self) -> int:
        return int(self.fleet["slot"][0]["port"])

    def processes(self) -> list[int]:
        """The keeper and every process below it."""
        parents = _parents()
        family = {self.process.pid}
        while grown := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= grown
        return sorted(family)

    def ssh_ports(self) -> list[int]:
        text = Path(self.ready["ssh_config"]).read_text()
        return [int(port) for port in re.findall(r"Port (\d+)", text)]


def _parents() -> dict[int, int]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(entry.name)] = int(fields[1])
    return found


@contextmanager
def lab(directory: Path, *extra: str, scale: float = SCALE) -> Iterator[Lab]:
    """Start a lab in a directory that does not exist yet; ended through its pipe."""
    argv = [sys.executable, "-m", "console.lab", "--dir", str(directory), "--scale", str(scale)]
    environment = os.environ | {"NCCL_PROTO": "Simple", "SECRET_OF_MINE": "no-session-may-see-this"}
    with subprocess.Popen(
        [*argv, *extra], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        assert line, f"no lab, exit {process.wait()}"
        yield Lab(process, json.loads(line), directory)
        assert process.stdin
        process.stdin.close()
        process.wait(60)
