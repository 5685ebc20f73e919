"""Records real runs of one and the same server, launch by launch, for the A/A test.

    python -m tests.bench.record_runs FILE [--launches N] [--runs N] [--tokens N] [--favoured]

Both sides are the same llama.cpp server without a draft, on a CPU, launched in ABBA order.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

from console.bench.metrics import Figures
from tests.bench import real
from tests.rig import llama
from tests.rig.llama import LlamaServer

HEADER = """\
# Real decode rates (tok/s) of llama.cpp on a CPU, recorded by tests/bench/record_runs.py.
# Both sides are one configuration: any difference between them is chance.
recorded = {when}
machine = "{machine}"
tokens = {tokens}
"""


def main() -> None:
    """Launch, warm up, measure, end; write a table a launch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--launches", type=int, default=12, help="a side")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=120)
    parser.add_argument("--favoured", action="store_true", help="run before other processes")
    asked = parser.parse_args()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, shared"
    machine += ", real-time priority" if asked.favoured else ""
    now = datetime.now(UTC).replace(microsecond=0).isoformat()
    parts = [HEADER.format(when=now, machine=machine, tokens=asked.tokens)]
    with tempfile.TemporaryDirectory() as folder, real.a_worker() as worker:
        models = llama.made_once(Path(folder))
        for side in islice(cycle("abba"), 2 * asked.launches):
            with LlamaServer(models, Path(folder) / "log") as server:
                server.wait_ready()
                if asked.favoured:
                    real.favoured(worker.child.pid, server.pid)
                worker.ask(server, asked.tokens)
                rates = []
                for turn in range(asked.runs):
                    found = real.trial(worker, server, asked.tokens, 1, turn).figures
                    assert isinstance(found, Figures), found
                    rates.append(round(found.decode_tok_s, 2))
            parts.append(f'\n[[launch]]\nside = "{side}"\ndecode_tok_s = {rates}\n')
            asked.file.write_text("".join(parts))


if __name__ == "__main__":
    main()
