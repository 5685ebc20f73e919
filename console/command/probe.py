"""`spec-console probe allreduce SERVER`: rank profiles by how long an all-reduce takes.

Results go to standard output, how far it is to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
from argparse import Namespace
from collections.abc import Sequence

from console.command.dispatch import run_live
from console.command.env_live import checked, given_fleet
from console.control.live_session import LiveSession, Stage
from console.control.port import Argument
from console.model.ask import Nobody
from console.model.exits import Exit
from console.model.text import plain
from console.store.settings import load_settings

_NUMBERS = ("hidden", "tokens", "seconds", "limit")
_DAY_S = 86_400.0


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    options = _parser().parse_args(argv)
    return run_live(_probe(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spec-console probe",
        allow_abbrev=False,
        description="Time all-reduces of hidden x 2 bytes x 1…k+1 tokens with the server's own "
        "Python and torch, on GPUs that no server uses: first with no variables, then with each "
        "profile. It ranks profiles before any load; it says nothing about the server's speed.",
    )
    parser.add_argument("what", metavar="allreduce", choices=["allreduce"])
    parser.add_argument("server", metavar="SERVER", help="a name of the fleet")
    parser.add_argument("profile", metavar="PROFILE", nargs="*", help="the wanted one if none")
    parser.add_argument("--fleet", metavar="FILE", help="the fleet it is in")
    parser.add_argument("--hidden", type=int, metavar="N", help="hidden size (config.json's)")
    parser.add_argument("--tokens", type=int, metavar="N", help="most tokens (a verify step's)")
    parser.add_argument("--seconds", type=float, metavar="S", help="measured a profile (15)")
    parser.add_argument("--limit", type=float, metavar="S", help="a profile is ended then (60)")
    parser.add_argument("--python", metavar="PATH", help="interpreter on the host (the recipe's)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--save", metavar="SESSION", help="keep it in this session file")
    return parser


async def _probe(options: Namespace) -> Exit:
    fleet = given_fleet(options)
    server = checked(fleet, options.server)
    given: dict[str, Argument] = {"what": options.what, "profiles": " ".join(options.profile)}
    given |= {name: v for name in _NUMBERS if (v := getattr(options, name)) is not None}
    if options.python:
        given["python"] = options.python
    save = options.save
    acts = {"apply": False, "yes_target": [], "dry_run": False, "script": None}
    session = LiveSession(
        Namespace(no_record=save is None, record=save, **acts), load_settings().pace
    )
    async with session.live(Stage(fleet), Nobody(), on_demand=True) as live:
        live.tell = _tell
        outcome = await live.do("probe", server, given, _DAY_S)
    if options.json:
        found = dict(outcome.results) | {"text": outcome.text, "lines": list(outcome.lines)}
        print(json.dumps(found))
    else:
        for line in outcome.lines:
            print(plain(line))
        print(plain(outcome.text), file=sys.stdout if outcome.ok else sys.stderr)
    return outcome.exit


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
