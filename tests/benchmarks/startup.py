"""Starting: `--help` and the first paint, against a bare Textual app of the same widget kinds."""

from __future__ import annotations

import os
import pty
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST_PAINT_BYTES = 1500
ROUNDS = 11


def first_paint_s(argv: Sequence[str]) -> float:
    """Seconds from start to the first 1.5 kB a program writes to a 120x40 terminal."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
    start = time.perf_counter()
    process = subprocess.Popen(
        argv, stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, env=environment,
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    seen = 0
    try:
        while seen < FIRST_PAINT_BYTES:
            if not select.select([master], [], [], 20)[0]:
                raise TimeoutError(f"{argv}: {seen} bytes in 20 s")
            seen += len(os.read(master, 65536))
        return time.perf_counter() - start
    finally:
        process.kill()
        process.wait()
        os.close(master)


def run_s(argv: Sequence[str]) -> float:
    """Seconds of a whole run."""
    start = time.perf_counter()
    subprocess.run(argv, cwd=ROOT, capture_output=True, check=True)
    return time.perf_counter() - start


def figures() -> dict[str, object]:
    """Medians of alternating rounds, and their ratios."""
    bare = [sys.executable, "-m", "tests.ui.bare"]
    console = [sys.executable, "-m", "console", "--replay", "sample_sessions/story.toml"]
    helped = [sys.executable, "-m", "console", "--help"]
    took: dict[str, list[float]] = {"bare": [], "console": [], "help": []}
    for _ in range(ROUNDS):
        took["bare"].append(first_paint_s(bare))
        took["console"].append(first_paint_s(console))
        took["help"].append(run_s(helped))
    median = {name: statistics.median(times) for name, times in took.items()}
    return {
        "median_s": {name: round(value, 3) for name, value in median.items()},
        "first_paint_over_bare": round(median["console"] / median["bare"], 3),
        "help_over_bare": round(median["help"] / median["bare"], 3),
    }
