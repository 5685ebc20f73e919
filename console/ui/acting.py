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
    try:
        given = await arguments(verb, console.dialogs)
    except NotUnderstood as error:
        console.say(str(error), good=False)
        return
    if given is None:
        return
    outcome = await console.control.do(verb.id, console.dashboard.servers.selected, given)
    console.follow.look()
    if outcome.text and (not outcome.ok or not verb.id.startswith("replay.")):
        console.say(label(outcome.text), outcome.ok)
