"""The verb `run`: a command of the fleet file, by its name.

Owns who may run it: one that changes nothing always, any other only unlocked and with its name
given on the command line, never on a host or in a dry run that permits no change. What it changes
is in the audit.
"""

from __future__ import annotations

import getpass
import platform
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from console.control.guard import Guard, Refused
from console.control.port import Argument, Outcome
from console.model.ask import Ask
from console.model.clock import Clock, utc_text
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.fleet import Command
from console.model.mask import Masks
from console.model.text import clean, plain
from console.store import audit

if TYPE_CHECKING:
    from console.services.live import Watch


async def run_outcome(
    watch: Watch,
    given: Mapping[str, Argument],
    guard: Guard,
    ask: Ask,
    clock: Clock,
    masks: Masks,
    timeout_s: float,
) -> Outcome:
    """Run it once; its output is in the outcome's lines."""
    from console.services.named import run_named

    name = str(given.get("command", ""))
    command = watch.fleet.command(name)
    if command is None:
        return Outcome(Exit.USAGE, clean(f'no command is named "{name}" in the fleet file', masks))
    shown = plain(clean(f"{command.host}: {shlex.join(command.argv)}", masks))
    if guard.dry and not command.read_only:
        return Outcome(Exit.OK, clean(f"not done: dry run; {shown}", masks))
    try:
        if not command.read_only:
            await _permit(watch, command, guard, ask, shown)
            _keep(command, clock, shown, "requested")
        said = await run_named(command, watch.wire(command.host), timeout_s, masks)
    except Refused as error:
        return Outcome(Exit.GUARD, clean(f"{name} refused: {error}", masks))
    except WireError as error:
        return Outcome(error.kind.exit, clean(f"{name}: {error}", masks))
    expect = given.get("expect", 0)
    results: dict[str, str | int | float] = {
        "code": said.code, "count": len(said.lines), "last": said.lines[-1] if said.lines else "",
    }  # fmt: skip
    text = f"{name}: exit {said.code}, {len(said.lines)} lines"
    text += f" and {said.left_out} before them" if said.left_out else ""
    if said.code != expect:
        text += f"; exit {expect} was expected"
    code = Exit.OK if said.code == expect else Exit.ASSERTION
    if not command.read_only:
        guard.touch()
        try:
            _keep(command, clock, shown, f"exit {said.code}")
        except Refused as error:
            text, code = f"{text}; {error}", Exit.STEP
    return Outcome(code, clean(text, masks), results, said.lines)


async def _permit(watch: Watch, command: Command, guard: Guard, ask: Ask, shown: str) -> None:
    """Refuse what may not be run now, or was not confirmed."""
    if watch.fleet.host(command.host).read_only:
        raise Refused(f"host {command.host} is read_only in the fleet file")
    refusal = guard.refusal()
    if refusal is not None:
        raise Refused(refusal)
    await guard.confirm(ask, "run", command.name, [shown], [])


def _keep(command: Command, clock: Clock, shown: str, result: str) -> None:
    record = {
        "utc": utc_text(clock.utc()),
        "operator": f"{getpass.getuser()}@{platform.node()}",
        "verb": "run",
        "server": "",
        "host": command.host,
        "command": shown,
        "result": result,
    }
    try:
        audit.append(record)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise Refused(f"the audit cannot be written: {why}") from error
