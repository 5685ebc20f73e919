"""`spec-console env truth SERVER`: what a running server really has, and who says so.

One command on the host reads every process; the log is read besides, for what NCCL itself says.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import Callable, Sequence

from console.command.env_given import finding_json
from console.command.env_live import Look, checked, given_fleet, looking
from console.model.clock import SystemClock
from console.model.exits import Exit, NotStarted
from console.model.failure import WireError
from console.model.palette import Role
from console.model.span import Span, Spans, plain_text
from console.nccl.finding import Severity
from console.nccl.truth import Row, Verdict
from console.render.environment import (
    basis_text,
    drift_spans,
    finding_lines,
    findings,
    findings_title,
    matter_lines,
    ordered,
    truth_table,
)
from console.stream.environment import GONE, allreduce, basis, nccl_version
from console.stream.fact import FeedState
from console.stream.state import Server, State

_LOG_LINES = 5000
_LOG_WAIT_S = 5.0
_SETTLE_S = 0.3
_WRONG = (Verdict.LOST, Verdict.DIFFERS)


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console env truth", allow_abbrev=False)
    parser.add_argument("server", metavar="SERVER", help="a name of the fleet")
    parser.add_argument("--fleet", metavar="FILE", help="the fleet it is in")
    parser.add_argument("--no-log", action="store_true", help="do not read its log")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(argv)
    fleet = given_fleet(options)
    server = checked(fleet, options.server)

    async def read() -> State:
        async with looking(fleet) as look:
            try:
                await look.watch.environs.read(server)
            except WireError as error:
                raise NotStarted(error.kind.exit, f"{server}: {error.told}") from error
            if not options.no_log:
                await _read_log(look, server)
            return look.timeline.state

    state = asyncio.run(read())
    cell = state.servers[server]
    if options.json:
        print(json.dumps(as_json(cell, state)))
    else:
        for line in text_lines(cell, state, shutil.get_terminal_size((120, 24)).columns):
            print(plain_text(line).rstrip())
    return judged(cell, state)


def judged(cell: Server, state: State) -> Exit:
    """1 when something wanted is not in effect or NCCL would misread it, 3 without a process."""
    if cell.process is None or cell.process.pid is None:
        return Exit.STEP
    wrong = any(row.verdict in _WRONG for row in ordered(cell))
    errors = any(one.severity is Severity.ERROR for one in findings(cell, state))
    return Exit.ASSERTION if wrong or errors or drift_spans(cell) else Exit.OK


def text_lines(cell: Server, state: State, room: int) -> list[Spans]:
    """The whole of it for a person."""

    def title(text: str) -> list[Spans]:
        return [(), (Span(text, Role.TITLE),)]

    table = truth_table(cell, room)
    lines: list[Spans] = [(Span(basis_text(cell), Role.DIM),)]
    lines += [line for line in (drift_spans(cell),) if line]
    lines += [(), table.heading, *table.lines]
    found = finding_lines(findings(cell, state), room)
    lines += [*title(findings_title(cell)), *(found or [(Span("nothing to say", Role.DIM),)])]
    lines += [*title("Does it matter here?"), *matter_lines(cell, room)]
    return lines


def as_json(cell: Server, state: State) -> dict[str, object]:
    """The same for a program; a source that was not read whole says so."""
    process, way, version = cell.process, allreduce(cell), nccl_version(cell)
    decides, _ = basis(cell)
    return {
        "pid": process.pid if process is not None else None,
        "why": process.why if process is not None else "",
        "started": process.started if process is not None else "",
        "container": process.container if process is not None else "",
        "container_started": process.container_started if process is not None else "",
        "library": process.library if process is not None else "",
        "nccl": str(version) if version is not None else None,
        "decides": decides.source if decides is not None else None,
        "sources": [
            {
                "source": read.source,
                "completeness": read.completeness.value,
                "why": read.why,
                "pid": read.pid,
                "values": dict(read.values),
            }
            for read in cell.envs.values()
            if read.why != GONE
        ],
        "rows": [_row_json(row) for row in ordered(cell)],
        "findings": [finding_json(one) for one in findings(cell, state)],
        "all_reduce": {"path": way.path.value, "proof": way.proof, "line": way.line},
        "drift": plain_text(drift_spans(cell)),
    }


def _row_json(row: Row) -> dict[str, object]:
    now = row.effect
    return {
        "name": row.name,
        "verdict": row.verdict.value,
        "known": now.known,
        "value": now.value,
        "by": now.by,
        "why": now.why,
        "split": list(now.split),
        "diagnostic": row.diagnostic,
        "cells": [
            {"source": cell.label, "state": cell.state.value, "value": cell.value}
            for cell in row.cells
        ],
    }


async def _read_log(look: Look, server: str) -> None:
    """Its last lines, for NCCL's version, what it says it read, and the all-reduce's way."""
    log = look.watch.follow_log(server, _LOG_LINES)
    if log is None:
        return

    def told() -> bool:
        cell = look.timeline.state.logs.get(log)
        return (
            cell is not None and cell.feed is not None and cell.feed.feed is not FeedState.OPENING
        )

    try:
        async with asyncio.timeout(_LOG_WAIT_S):
            await _until(look, told)
            # Lines already written reach us a moment after the feed says that it follows.
            await SystemClock().sleep(_SETTLE_S)
    except TimeoutError:
        print(f"spec-console: {server}: its log was not read in time", file=sys.stderr)


async def _until(look: Look, holds: Callable[[], bool]) -> None:
    changed = asyncio.Event()

    def take(*_: object) -> None:
        changed.set()

    look.timeline.subscribe(take)
    try:
        while not holds():
            changed.clear()
            await changed.wait()
    finally:
        look.timeline.unsubscribe(take)
