"""What a verb still needs to be told when a key or the palette started it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.model.ask import Ask, Question
from console.model.verb import Verb
from console.render.units import clock_us

if TYPE_CHECKING:
    from console.control.port import Argument


class NotUnderstood(Exception):
    """A person typed something else than what was asked for."""


async def arguments(verb: Verb, ask: Ask) -> dict[str, Argument] | None:
    """Ask for what the verb requires; None when the person declined.

    Raises:
        NotUnderstood: the text says why, for the person.
    """
    match verb.id:
        case "replay.goto":
            typed = await ask.ask(Question(verb.title, "Time: 12:41, 1:02:03 or seconds"))
            if not typed:
                return None
            at_us = clock_us(typed)
            if at_us is None:
                raise NotUnderstood(f"{typed} is no time such as 12:41")
            return {"at_us": at_us}
        case "replay.find":
            typed = await ask.ask(Question(verb.title, "Text of an event or a log line"))
            return {"text": typed} if typed else None
        case _:
            pass
    found: dict[str, Argument] = {}
    for field in verb.script or ():
        if field.required:
            typed = await ask.ask(Question(verb.title, field.help))
            if not typed:
                return None
            found[field.name] = typed
    return found
