"""`spec-console session export FILE`: for other programs, and as evidence for people."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from console.command.session_file import add_output, write
from console.engines.grammar import parse_line
from console.engines.severity import severity
from console.model.exits import Exit
from console.session.evidence import evidence
from console.session.export import json_lines, series_csv
from console.session.journal import Journal
from console.session.picture import picture

FORMS = ("jsonl", "csv", "markdown", "svg")


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console session export", allow_abbrev=False)
    parser.add_argument("file", metavar="SESSION")
    parser.add_argument(
        "--as",
        dest="form",
        choices=FORMS,
        default="markdown",
        help="jsonl: every event; csv: every series; markdown: a page of evidence (default); "
        "svg: standings, acts and figures in one picture",
    )
    add_output(parser)
    options = parser.parse_args(argv)
    journal = Journal(options.file)
    match options.form:
        case "jsonl":
            lines = json_lines(journal)
        case "csv":
            lines = series_csv(journal)
        case "svg":
            lines = iter(picture(journal).splitlines())
        case _:
            lines = evidence(journal, is_grave)
    write(lines, options.output)
    return Exit.OK


def is_grave(text: str) -> bool:
    """Whether any piece of a log line reports an error."""
    return any(severity(line) == "error" for line in parse_line(text))
