"""`make bench`: figures of this machine, as JSON, each with what it is compared with.

Ratios come from one run; the machine's own noise is measured beside them. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile

from tests.benchmarks import (
    bench,
    environment,
    journal,
    noise,
    polling,
    reading,
    remote_log,
    screen,
    ssh,
    startup,
)
from tests.ui import measure_logs

SECTIONS = {
    "noise": noise.figures,
    "bench": bench.figures,
    "startup": startup.figures,
    "journal": journal.figures,
    "reading": reading.figures,
    "polling": polling.figures,
    "screen": screen.figures,
    "ssh": ssh.figures,
    "environment": environment.figures,
    "logs": measure_logs.figures,
    "remote_log": remote_log.figures,
}


def main() -> None:
    """Run the sections named, or all."""
    parser = argparse.ArgumentParser(description="figures as JSON")
    parser.add_argument("section", nargs="*", choices=[[], *SECTIONS], help="all when left out")
    chosen = parser.parse_args().section or list(SECTIONS)
    # which screen was looked at last is remembered, and would be another's to measure
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"SPEC_CONSOLE_STATE": f"{folder}/state"}
        os.environ |= {"SPEC_CONSOLE_CONFIG": f"{folder}/config"}
        found = {name: SECTIONS[name]() for name in chosen}
    json.dump(found, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
