"""The command line: arguments, exit codes, and nothing else.

Imports no front end, transport or service before it knows that one is needed: `--help` must stay
instant.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from console.model.exits import MEANINGS, Exit

COMMANDS = {
    "bench": "measure one server's decode rate",
    "compare": "the verdict on two recorded benchmarks",
    "env": "NCCL's variables: check, import, what a server really has, what it lost",
    "probe": "time all-reduces under profiles, on GPUs that no server uses",
    "session": "look into a saved session",
    "script": "check a script without running it",
    "schema": "JSON Schemas of the files people write, for editors",
    "settings": "every setting, its origin and what it is for",
    "doctor": "check all that a server needs, and say how to mend what is missing",
    "completions": "completion for bash, zsh and fish",
}

_EPILOG = "exit codes:\n" + "\n".join(
    f"  {code.value:>3}  {meaning}" for code, meaning in MEANINGS.items()
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(Exit.USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: that costs more than all of `--help`."""

    def __call__(self, parser: argparse.ArgumentParser, *_args: object, **_kwargs: object) -> None:
        from console.model.version import written_version

        print(f"spec-console {written_version()}")
        parser.exit()


def _scale(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"a number from 1 to 1000 was expected, not {text}")
    return value


def parser() -> argparse.ArgumentParser:
    """The options of the program without a subcommand."""
    made = _Parser(
        prog="spec-console",
        description="Does speculative decoding beat my baseline, on this box, as it is configured "
        "right now? Operator console for LLM inference servers over SSH.",
        epilog="subcommands:\n"
        + "\n".join(f"  {name:<10} {text}" for name, text in COMMANDS.items())
        + "\n\n"
        + _EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--version", action=_Version, nargs=0, help="show the version")
    made.add_argument(
        "--fleet",
        metavar="FILE",
        help="fleet file (else ./fleet.toml, else the configuration folder's)",
    )
    made.add_argument("--replay", metavar="SESSION", help="replay a saved session")
    made.add_argument(
        "--script",
        metavar="FILE",
        help="run a script without a screen; with --replay, against a recording",
    )
    made.add_argument("--demo", action="store_true", help="try it without any server")
    _add_script_options(made)
    made.add_argument("--no-record", action="store_true", help="write no session file")
    made.add_argument("--record", metavar="FILE", help="write the session file here")
    made.add_argument("--theme", metavar="NAME", help="theme of the screen")
    made.add_argument(
        "--lab-scale", metavar="N", type=_scale, default=1.0, help="demo: divide every time by N"
    )
    made.add_argument(
        "--assume",
        choices=["sober", "hopeful"],
        default="sober",
        help="demo: what the six variables are assumed to save",
    )
    return made


def _add_script_options(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--var",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="set a variable of the script",
    )
    made.add_argument("--json", action="store_true", help="script: JSON lines on standard output")
    made.add_argument("--junit", metavar="FILE", help="script: write its outcome as JUnit XML")
    made.add_argument(
        "--summary", metavar="FILE.md", help="script: write its outcome as Markdown, for a review"
    )
    made.add_argument("--quiet", action="store_true", help="script: tell only what failed")
    made.add_argument("--dry-run", action="store_true", help="script: look, but change nothing")
    made.add_argument(
        "--resume",
        metavar="SESSION",
        help="script: go on with the repeats of an interrupted run, recorded there",
    )
    made.add_argument(
        "--apply", action="store_true", help="permit changes on hosts (else read-only)"
    )
    made.add_argument(
        "--yes-target",
        metavar="NAME",
        action="append",
        default=[],
        help="script: changes to this server are confirmed",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments and arguments[0] in COMMANDS:
            command = import_module(f"console.command.{arguments[0]}")
            return int(command.main(arguments[1:]))
        options = parser().parse_args(arguments)
        from console.launch import launch

        return int(launch(options))
    except KeyboardInterrupt:
        return int(Exit.INTERRUPTED)
    # Any kind: nothing stands behind this, and a person gets a line and a report, no traceback.
    except Exception as error:  # noqa: BLE001 - the last resort, see above
        from console.launch import defect

        return int(defect(error))


if __name__ == "__main__":
    sys.exit(main())
