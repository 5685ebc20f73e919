"""`spec-console env explain NAME`: what a variable is, in which versions of NCCL."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from console.command.env import Unreadable
from console.command.env_given import add_version, version_of
from console.engines.selfset import SELF_SET
from console.model.exits import Exit
from console.nccl.catalogue import Variable, lookup, nearest
from console.nccl.version import NEWEST, Version


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console env explain", allow_abbrev=False)
    parser.add_argument("name", metavar="NAME")
    add_version(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(argv)
    version = version_of(options) or NEWEST
    name = options.name.upper()
    variable = lookup(name) or lookup(f"NCCL_{name}")
    if variable is None:
        close = nearest(name) or nearest(f"NCCL_{name}")
        hint = f" (did you mean {close}?)" if close else ""
        raise Unreadable(f"{options.name}: no variable NCCL is known to read{hint}")
    if options.json:
        print(json.dumps(asdict(variable), default=str))
        return Exit.OK
    for title, text in explained(variable, version):
        print(f"{title:<11} {text}")
    return Exit.OK


def explained(variable: Variable, version: Version) -> list[tuple[str, str]]:
    """What is known of it, for one version."""
    told = [("name", variable.name), ("what", variable.about), ("kind", variable.kind)]
    told.append(("default", f"{variable.default_in(version)} (NCCL {version})"))
    values = variable.values_in(version)
    told += [("values", ", ".join(values))] if values else []
    told += [("syntax", variable.syntax)] if variable.syntax else []
    told += [("unit", variable.unit)] if variable.unit else []
    bounds = [str(edge) for edge in (variable.min, variable.max) if edge is not None]
    told += [("bounds", " to ".join(bounds))] if bounds else []
    told.append(("versions", _versions(variable, version)))
    told.append(("documented", "yes" if variable.documented else "no"))
    told += [("risk", variable.risk)] if variable.risk else []
    told += [("history", variable.history)] if variable.history else []
    told += [("set by", ", ".join(variable.set_by))] if variable.set_by else []
    told += [("set by", text) for text in _engines(variable.name)]
    return told


def _versions(variable: Variable, version: Version) -> str:
    told = f"since {variable.since}"
    if variable.deprecated is not None:
        instead = f", {variable.replaced_by} instead" if variable.replaced_by else ""
        told += f", deprecated since {variable.deprecated}{instead}"
    if variable.removed is not None:
        told += f", removed in {variable.removed}"
    return told if variable.lives_in(version) else f"{told}; {version} does not read it"


def _engines(name: str) -> list[str]:
    told = []
    for one in SELF_SET:
        if one.name == name:
            value = f"to {one.value} " if one.value else ""
            when = f" ({one.when})" if one.when else ""
            told.append(f"{one.engine.value} {value}({one.how}){when}")
    return list(dict.fromkeys(told))
