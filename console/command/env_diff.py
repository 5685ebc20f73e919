"""`spec-console env diff A B`: what differs between two sets of variables, files or profiles."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from console.command.env_given import a_set, add_version, shown, version_of
from console.model.exits import Exit
from console.nccl.profile import diff
from console.nccl.truth import same_reading
from console.nccl.version import NEWEST


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console env diff", allow_abbrev=False)
    parser.add_argument("before", metavar="A", help="a file, - or the name of a profile")
    parser.add_argument("after", metavar="B", help="the same")
    parser.add_argument("--fleet", metavar="FILE", help="the fleet whose profiles are meant")
    add_version(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(argv)
    version = version_of(options) or NEWEST
    before, after = (a_set(name, options.fleet) for name in (options.before, options.after))
    changes = diff(before, after)
    same = [
        one.before is not None
        and one.after is not None
        and same_reading(one.name, one.before, one.after, version)
        for one in changes
    ]
    if options.json:
        told = [
            {"name": one.name, "before": one.before, "after": one.after, "same": alike}
            for one, alike in zip(changes, same, strict=True)
        ]
        print(json.dumps({"before": before, "after": after, "changes": told}))
        return Exit.OK
    for one, alike in zip(changes, same, strict=True):
        note = "   (NCCL reads both alike)" if alike else ""
        print(f"{one.name}: {_value(one.before)} → {_value(one.after)}{note}")
    if not changes:
        print(f"the same {len(before)} variables")
    return Exit.OK


def _value(value: str | None) -> str:
    return "unset" if value is None else shown(value) or '""'
