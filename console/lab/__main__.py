"""`python -m console.lab`: a simulated fleet that lives as long as its standard input.

One JSON line on standard output says that it is ready and where its files are. Linux only.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from console.lab.keeper import keep
from console.lab.speed import ASSUMPTIONS


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1000")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m console.lab",
        description="A simulated fleet: no GPU, no network. Ends when its standard input does.",
    )
    parser.add_argument("--dir", type=Path, help="private directory, made and removed by the lab")
    parser.add_argument("--scale", type=_positive, default=1.0, help="divides every time")
    parser.add_argument("--seed", default="1", help="what all noise derives from")
    parser.add_argument(
        "--assume",
        choices=sorted(ASSUMPTIONS),
        default="sober",
        help="; ".join(f"{a.name}: {a.text}" for a in ASSUMPTIONS.values()),
    )
    parser.add_argument("--hosts", type=int, default=2, help="gpu8 and so many more less one")
    parser.add_argument(
        "--switch",
        action="append",
        default=[],
        metavar="SERVER.SWITCH=VALUE",
        help="something to go wrong, such as kimi-eagle3.fault=cuda-oom; may be repeated",
    )
    return parser


def main() -> int:
    """Start the lab under its keeper; the exit code."""
    asked = _parser().parse_args()
    if sys.platform != "linux":
        print("spec-console lab: runs on Linux only (it needs /proc)", file=sys.stderr)
        return 2
    # The keeper would remove the directory: one that the lab may not have is refused before.
    directory = asked.dir or Path(tempfile.mkdtemp(prefix="spec-console-lab-"))
    if directory.exists() and any(directory.iterdir()):
        print(f"spec-console lab: {directory} is not empty", file=sys.stderr)
        return 2
    directory = directory.absolute()

    def lab(leash: int) -> None:
        # asyncssh is loaded in the lab's own process only, so that the keeper stays small.
        from console.lab.lab import Wanted, run

        run(
            Wanted(
                directory,
                asked.scale,
                asked.seed,
                asked.assume,
                max(1, asked.hosts),
                tuple(asked.switch),
            ),
            leash,
        )

    return keep(directory, lab)


if __name__ == "__main__":
    sys.exit(main())
