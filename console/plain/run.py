"""Running a script without a screen: signals, standard output, exit code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from console.control.link_back import link_back
from console.control.port import Control
from console.control.resuming import Resumed, resumed
from console.control.script import Script, load_script
from console.control.steps import Steps
from console.model.clock import SystemClock, utc_from_text
from console.model.exits import Exit
from console.model.fleet import Fleet
from console.model.mask import Masks
from console.model.text import plain
from console.plain.benches import Benches
from console.plain.junit import junit
from console.plain.ledger import Ended, Ledger
from console.plain.report import Report
from console.plain.summary import summary
from console.plain.table import Beside, Table, drawn, wanted
from console.store.toml import BadFile, Problem
from console.stream.fact import Standing
from console.stream.state import State
from console.stream.timeline import Timeline

_FILES = ("junit", "summary")
_WELL = (Standing.ALIVE, Standing.GENERATING, Standing.IDLE)
LOOK_S = 5.0
"""How long a server may take to say how it is, once a script has failed."""


async def run_script(options: Namespace, control: Control, fleet: Fleet) -> Exit:
    """Check the script against the fleet, run it, report it.

    Raises:
        BadFile: the script does not validate; nothing was done.
    """
    timeline = control.timeline
    script = load_script(options.script, fleet, _variables(options.var))
    out, err = Beside(sys.stdout), Beside(sys.stderr)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    report = Report(timeline, out, err, options.json, options.quiet, colour and not options.json)
    _writable(options)
    before = resumed(options.resume) if options.resume else Resumed()
    ledger = Ledger(timeline, report)
    for notice in timeline.state.session.notices:
        report.take(notice, timeline.state)
    timeline.subscribe(report.take)
    stop, table = asyncio.Event(), _table(options, script, ledger, timeline, (out, err))
    steps = Steps(
        script,
        control,
        table or ledger,
        Masks(),
        _run_values(timeline, fleet),
        stopped=stop.is_set,
        dry=options.dry_run,
        resumed=before,
    )
    task = asyncio.create_task(steps.go())
    benches = Benches(control, script.progress_s, report.measuring)
    if control.playback is None:
        timeline.subscribe(benches.take)
    with _interruptible(task, stop):
        try:
            async with drawn(table, SystemClock()):
                code = await task
        except asyncio.CancelledError:
            code = Exit.INTERRUPTED
        finally:
            benches.close()
            if control.playback is None:
                timeline.unsubscribe(benches.take)
    session = getattr(control, "session_path", "")
    await _left(options, control, script, code, report)
    report.ended(script.name, code, session)
    opened = timeline.state.session.opened
    began = str(opened.utc) if opened is not None else ""
    ended = Ended(script.name, fleet.name, code, began, session, tuple(ledger.entries))
    timeline.unsubscribe(report.take)
    return _written(options, ended, timeline.state, report)


def _table(
    options: Namespace, script: Script, ledger: Ledger, timeline: Timeline, beside: Sequence[Beside]
) -> Table | None:
    """The live table, where there is a terminal to draw it on."""
    if not wanted(sys.stderr, as_json=options.json, quiet=options.quiet):
        return None
    table = Table(sys.stderr, ledger, script.steps, timeline)
    for stream in beside:
        stream.show(table)
    return table


def _writable(options: Namespace) -> None:
    """Find out before anything runs that a file for the outcome cannot be written.

    Raises:
        BadFile: it cannot.
    """
    for option in _FILES:
        path = getattr(options, option, None)
        if path is not None:
            try:
                Path(path).touch()
            except OSError as error:
                why = f"{path}: {(error.strerror or str(error)).lower()}"
                raise BadFile([Problem(f"--{option}", 1, 1, why)]) from error


def _written(options: Namespace, ended: Ended, state: State, report: Report) -> Exit:
    """Write the files asked for; the exit code, which an unwritten file makes a failure."""
    code = ended.code
    for option, text in (("junit", junit(ended)), ("summary", summary(ended, state))):
        path = getattr(options, option, None)
        if path is None:
            continue
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            report.notice(f"{path}: {(error.strerror or str(error)).lower()}")
            code = code if code is not Exit.OK else Exit.STEP
    return code


async def _left(
    options: Namespace, control: Control, script: Script, code: Exit, report: Report
) -> None:
    """Say how a script that did not end well leaves the servers, and how it goes on."""
    state, session = control.timeline.state, getattr(control, "session_path", "")
    if code is Exit.INTERRUPTED:
        report.notice("interrupted; " + standings(state))
        if session and any(step.rounds for step in script.steps):
            report.notice(f"go on with: --resume {session}")
    elif code is not Exit.OK and control.playback is None and not options.dry_run:
        await _look(control, script)
        report.notice("servers: " + standings(control.timeline.state))


async def _look(control: Control, script: Script) -> None:
    """Ask every server of a script that failed once more: what is told of it has to be of now."""
    steps = [*script.steps, *(s for t in script.steps for r in t.rounds for s in r.steps)]
    names = dict.fromkeys(server for step in steps for server in step.servers)

    async def look(name: str) -> None:
        await link_back(control.timeline, name, LOOK_S)
        await control.do("health", name, {}, LOOK_S)

    await asyncio.gather(*map(look, names))


def standings(state: State) -> str:
    """How every server stands, one after the other; with the reason where it is not up."""
    told = []
    for name, cell in state.servers.items():
        standing = state.standing(name)
        why = f" ({plain(cell.standing.why)})" if cell.standing and standing not in _WELL else ""
        told.append(f"{name} {standing.value}{why}")
    return ", ".join(told) or "no server seen"


@contextlib.contextmanager
def _interruptible(task: asyncio.Task[Exit], stop: asyncio.Event) -> Iterator[None]:
    """The first signal ends the script in order; a second one leaves at once."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        if stop.is_set():
            os._exit(Exit.INTERRUPTED)
        stop.set()
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupted)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _variables(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            problem = Problem("--var", 1, 1, f'"{text}": NAME=VALUE was expected')
            raise BadFile([problem])
        found[name] = value
    return found


def _run_values(timeline: Timeline, fleet: Fleet) -> dict[str, str]:
    opened = timeline.state.session.opened
    folder = str(Path(fleet.path).resolve().parent) if fleet.path else "."
    values = {"fleet": fleet.name, "folder": folder, "id": "", "date": ""}
    if opened is not None:
        try:
            moment = utc_from_text(opened.utc)
        except ValueError:
            return values
        values["date"] = moment.strftime("%Y-%m-%d")
        values["id"] = moment.strftime("%Y%m%dT%H%M%SZ")
    return values
