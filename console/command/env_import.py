"""`spec-console env import FILE --to FORMAT`: a document's variables in the form a tool reads.

Where a document sets a variable to several values the operator picks; nothing is chosen for them.
"""

from __future__ import annotations

import argparse
import json
import sys
from argparse import Namespace
from collections.abc import Sequence

from console.command.env import Unreadable
from console.command.env_given import finding_json, read_input, shown
from console.model.clock import SystemClock
from console.model.exits import Exit
from console.nccl.export import FORMATS, export
from console.nccl.finding import Severity, worst
from console.nccl.importing.found import Imported, State, conflicts
from console.nccl.profile import Profile
from console.nccl.review import review
from console.store.fleet import find_fleet
from console.store.profiles import Unwritten, profiles_path, save_profile, want_profile


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    options = _parser().parse_args(argv)
    imported = read_input(options.file, options.format)
    if imported.unreadable:
        raise Unreadable(f"{options.file}: {imported.unreadable}")
    values, undecided = picked(imported, _picks(options.pick))
    for text in undecided:
        print(f"spec-console: {shown(text)}", file=sys.stderr)
    findings = review(imported)
    made = export(values, options.to) if options.to else None
    if options.save and not undecided:
        _save(options, imported, values)
    if options.json:
        print(
            json.dumps(
                _as_json(imported, values, undecided, made.text if made else "")
                | {"findings": [finding_json(one) for one in findings]}
            )
        )
    elif made is not None and not undecided:
        print(made.text, end="")
    for refusal in made.refused if made is not None else ():
        print(f"spec-console: {refusal.name} is left out: {refusal.why}", file=sys.stderr)
    bad = bool(undecided or (made is not None and made.refused))
    return Exit.ASSERTION if bad or worst(findings) is Severity.ERROR else Exit.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="spec-console env import", allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", help="any source of settings; - reads stdin")
    parser.add_argument("--to", metavar="FORMAT", choices=list(FORMATS), help=", ".join(FORMATS))
    parser.add_argument("--format", default="", metavar="KIND", help="of FILE, instead of guessing")
    parser.add_argument(
        "--pick",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="which of several values is meant",
    )
    parser.add_argument("--save", metavar="PROFILE", help="keep them as a profile of the fleet")
    parser.add_argument("--server", metavar="NAME", help="with --save: it is wanted to have them")
    parser.add_argument("--note", default="", metavar="TEXT", help="with --save: what they are for")
    parser.add_argument("--replace", action="store_true", help="with --save: in place of the old")
    parser.add_argument("--fleet", metavar="FILE", help="with --save: the fleet that is meant")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser


def _picks(given: Sequence[str]) -> dict[str, str]:
    picks = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise Unreadable(f'--pick: NAME=VALUE was expected, not "{text}"')
        picks[name] = value
    return picks


def picked(imported: Imported, picks: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """The values, and a line for every variable that is left undecided."""
    values = imported.values()
    undecided = []
    for one in conflicts(imported):
        places = ", ".join(str(line) for line in one.lines)
        each = " and ".join(one.values)
        if one.name in picks:
            if picks[one.name] not in one.values:
                undecided.append(f"{one.name}: {picks[one.name]} is none of {each}")
            values[one.name] = picks[one.name]
        elif one.winner is None:
            undecided.append(f"{one.name} is set to {each} (lines {places}): --pick one")
    return values, undecided


def _save(options: Namespace, imported: Imported, values: dict[str, str]) -> None:
    path = find_fleet(options.fleet)
    if path is None:
        raise Unreadable("--save: there is no fleet.toml to keep a profile beside")
    lines = [line for one in imported.found if one.state is State.SET for line in one.lines]
    span = f":{min(lines)}" + (f"–{max(lines)}" if len(set(lines)) > 1 else "") if lines else ""
    made = SystemClock().utc().strftime("%Y-%m-%d")
    origin = shown(f"{imported.file}{span}")
    profile = Profile(options.save, values, options.note, origin, made)
    beside = profiles_path(path)
    try:
        save_profile(beside, profile, replacing=options.replace)
        if options.server:
            want_profile(beside, options.server, options.save)
    except Unwritten as error:
        raise Unreadable(f"--save: {error}") from error
    print(f"spec-console: saved as {options.save} in {beside}", file=sys.stderr)


def _as_json(
    imported: Imported, values: dict[str, str], undecided: list[str], text: str
) -> dict[str, object]:
    return {
        "file": imported.file,
        "format": imported.format,
        "values": values,
        "undecided": undecided,
        "text": text,
        "found": [
            {
                "name": one.name,
                "value": one.value or one.raw,
                "state": one.state.value,
                "lines": list(one.lines),
                "scope": one.scope,
            }
            for one in imported.found
        ],
    }
