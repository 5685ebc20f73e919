"""`spec-console env check FILE|-`: what NCCL would make of the variables a file sets."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence

from console.command.env import Unreadable
from console.command.env_given import add_version, finding_json, read_input, shown, version_of
from console.model.exits import Exit
from console.nccl.finding import Finding, Severity, worst
from console.nccl.importing.found import Imported
from console.nccl.review import review
from console.nccl.rules import Machine
from console.nccl.version import NEWEST
from console.render.environment import written
from console.render.units import counted


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console env check", allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", help="any source of settings; - reads stdin")
    parser.add_argument("--format", default="", metavar="KIND", help="instead of guessing it")
    add_version(parser)
    parser.add_argument("--gpus", type=int, metavar="N", help="GPUs of the host, for the memory")
    parser.add_argument("--pcie", action="store_true", help="they are joined by PCIe only")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(argv)
    stated = version_of(options)
    imported = read_input(options.file, options.format)
    if imported.unreadable:
        raise Unreadable(f"{options.file}: {imported.unreadable}")
    found = review(imported, stated, Machine(options.pcie or None, options.gpus))
    holds = imported.version or stated or NEWEST
    if options.json:
        print(json.dumps(_as_json(imported, found, str(holds))))
    else:
        for one in found:
            print(line_of(one, imported.file))
        print(_summary(imported, found, str(holds), stated is None and imported.version is None))
    return Exit.ASSERTION if worst(found) is Severity.ERROR else Exit.OK


def line_of(one: Finding, file: str) -> str:
    """A finding as compilers write theirs."""
    place = f"{one.at[0]}" if one.at else file
    told = f"{place}: {one.severity.value}: {written(one)}: {one.why}"
    if one.reads_as and one.reads_as != one.written:
        told += f"; NCCL uses {one.reads_as}"
    if one.meant:
        told += f"; meant: {one.meant}"
    return shown(told)


def _summary(imported: Imported, found: tuple[Finding, ...], version: str, assumed: bool) -> str:
    counts = Counter(one.severity for one in found)
    told = [counted(counts[one], one.value) for one in reversed(Severity)]
    names = counted(len(imported.values()), "variable")
    said = f"{names} for NCCL {version}{' (assumed)' if assumed else ''}"
    more = f"; {imported.dropped} places left out" if imported.dropped else ""
    return f"{shown(imported.file)} ({imported.format}): {said}: {', '.join(told)}{more}"


def _as_json(imported: Imported, found: tuple[Finding, ...], version: str) -> dict[str, object]:
    return {
        "file": imported.file,
        "format": imported.format,
        "version": version,
        "values": imported.values(),
        "findings": [finding_json(one) for one in found],
        "elsewhere": [{"what": one.what, "line": one.line} for one in imported.elsewhere],
        "dropped": imported.dropped,
    }
