"""Doing a verb that a key or the palette started: ask for what it needs, do it, say the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.model.verb import Verb
from console.render.label import label
from console.ui.questions import NotUnderstood, arguments

if TYPE_CHECKING:
    from console.ui.app import ConsoleApp


async def act(console: ConsoleApp, verb: Verb) -> None:
    """Do it for the selected server; nothing when the person declined a question."""
    server = console.dashboard.servers.selected
    if verb.id == "bench":
        await _bench(console, server)
        return
    try:
        given = await arguments(verb, console.dialogs)
    except NotUnderstood as error:
        console.say(str(error), good=False)
        return
    if given is None:
        return
    outcome = await console.control.do(verb.id, server, given)
    console.follow.look()
    if outcome.text and (not outcome.ok or not verb.id.startswith("replay.")):
        console.say(label(outcome.text), outcome.ok)


async def _bench(console: ConsoleApp, server: str) -> None:
    from console.ui.benching import DAY_S, bench_arguments

    given = await bench_arguments(console.control.timeline.state, server, console.dialogs)
    if given is not None:
        outcome = await console.control.do("bench", server, given, DAY_S)
        console.follow.look()
        console.say(label(outcome.text), outcome.ok)
