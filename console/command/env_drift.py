"""`spec-console env drift [SERVER …]`: what servers lost since their last good run.

Exit 1 on a drift; with --accept what runs now is what later looks compare with.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from console.command.env_given import shown
from console.command.env_live import Look, checked, given_fleet, looking
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.text import Clean, plain
from console.stream.drifting import TOPIC
from console.stream.server_events import EnvDrifted


@dataclass(frozen=True, slots=True)
class Answer:
    """What a look at one server found; `code` is the exit it would give alone."""

    server: str
    code: Exit
    text: str
    drift: EnvDrifted | None = None


def main(argv: Sequence[str]) -> Exit:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="spec-console env drift", allow_abbrev=False)
    parser.add_argument("server", metavar="SERVER", nargs="*", help="all of the fleet if left out")
    parser.add_argument("--fleet", metavar="FILE", help="the fleet they are in")
    parser.add_argument(
        "--accept", action="store_true", help="compare with what runs now from here"
    )
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    options = parser.parse_args(argv)
    fleet = given_fleet(options)
    names = [checked(fleet, name) for name in options.server]
    names = names or [server.name for server in fleet.servers]

    async def read() -> list[Answer]:
        async with looking(fleet) as look:
            return [await _look(look, name, options.accept) for name in names]

    answers = asyncio.run(read())
    for answer in answers:
        print(json.dumps(_as_json(answer)) if options.json else f"{answer.server}: {answer.text}")
    codes = [answer.code for answer in answers]
    if Exit.ASSERTION in codes:
        return Exit.ASSERTION
    return next((code for code in codes if code is not Exit.OK), Exit.OK)


async def _look(look: Look, server: str, accept: bool) -> Answer:
    kept = Clean(server) in look.timeline.state.servers and TOPIC in (
        look.timeline.state.servers[server].history
    )
    try:
        process = await look.watch.environs.read(server)
    except WireError as error:
        return Answer(server, error.kind.exit, shown(error.told))
    if process.pid is None:
        # A server that is not up lost nothing: its slot may hold the other arm.
        return Answer(server, Exit.OK, f"not read: {plain(process.why)}")
    if accept:
        look.keeper.accept(server, look.timeline.state)
    # What was read is kept in the next turn of the loop.
    await asyncio.sleep(0)
    if look.keeper.unkept:
        return Answer(server, Exit.STEP, look.keeper.unkept)
    if accept:
        return Answer(server, Exit.OK, "what runs now is kept")
    drift = look.timeline.state.servers[server].drift
    if not kept:
        return Answer(server, Exit.OK, "nothing was kept yet; what runs now is kept")
    if drift is None or not (drift.lost or drift.changed):
        return Answer(server, Exit.OK, "as in the last good run")
    return Answer(server, Exit.ASSERTION, plain(drift.why), drift)


def _as_json(answer: Answer) -> dict[str, object]:
    drift = answer.drift
    return {
        "server": answer.server,
        "exit": answer.code.value,
        "text": answer.text,
        "lost": list(drift.lost) if drift is not None else [],
        "changed": dict(drift.changed) if drift is not None else {},
    }
