"""Doing a verb that a key or the palette started: ask for what it needs, do it, say the outcome."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from console.model.ask import Question
from console.model.mask import MASKED
from console.model.verb import Need, Verb
from console.model.verbs import VERBS
from console.render.advice import beside, swap_to
from console.render.keys import key_names
from console.render.label import label
from console.store.draft import valid_name
from console.stream.environment import wanted_of
from console.stream.server_events import EnvRead
from console.stream.state import State
from console.ui.questions import NotUnderstood, arguments

if TYPE_CHECKING:
    from console.control.port import Argument, Outcome
    from console.ui.app import ConsoleApp


LAUNCHES = ("launch", "restart", "swap")


async def act(console: ConsoleApp, verb: Verb) -> None:
    """Do it for the selected server; nothing when the person declined a question."""
    server = console.dashboard.servers.selected
    if verb.id == "swap":
        server = swap_to(console.control.timeline.state, server)
    if verb.id == "bench":
        await _bench(console, server)
        return
    try:
        if verb.id in LAUNCHES:
            given = await _launch_arguments(console, verb.id, server)
        else:
            given = await arguments(verb, console.dialogs)
    except NotUnderstood as error:
        console.say(str(error), good=False)
        return
    if given is None:
        return
    outcome = await console.control.do(verb.id, server, given)
    while verb.id == "plan" and not outcome.ok and outcome.lines:
        named = await _one_of(console, verb, outcome)
        if not named:
            return
        given = {"file": named}
        outcome = await console.control.do(verb.id, server, given)
    console.follow.look()
    if outcome.text and (not outcome.ok or not verb.id.startswith("replay.")):
        console.say(label(outcome.text), outcome.ok)
    if outcome.ok and verb.id == "plan" and console.control.can("profile") is None:
        await _keep(console, server, str(given["file"]), outcome)


def permitting(console: ConsoleApp, verb: str) -> str:
    """The key that permits a verb which is refused; empty where none does."""
    if VERBS[verb].need is not Need.UNLOCK or console.refusal("unlock") is not None:
        return ""
    return key_names(console.keys["unlock"])


async def _one_of(console: ConsoleApp, verb: Verb, several: Outcome) -> str | None:
    """Which of several documents is meant, each at the beginning of a line before two spaces."""
    places = [label(line).partition("  ")[0] for line in several.lines]
    lines = tuple(f"{n}  {label(line)}" for n, line in enumerate(several.lines, 1))
    text = f"{label(several.text)}, or give its number"
    named = await console.dialogs.ask(Question(verb.title, text, lines, offered="1"))
    number = int(named) if named and named.isdecimal() else 0
    return places[number - 1] if 0 < number <= len(places) else named


async def _keep(console: ConsoleApp, server: str, file: str, plan: Outcome) -> None:
    """Have the imported variables wanted for the server, as a profile: what is lost then shows."""
    lines = tuple(label(line) for line in plan.lines)
    text = f"Name of the profile that {server} is wanted to run with"
    offered = valid_name(PurePath(file).stem)
    name = await console.dialogs.ask(Question(label(plan.text), text, lines, offered=offered))
    if not name:
        return
    given = {"name": name, "env": plan.results["env"], "origin": file}
    kept = await console.control.do("profile", server, given)
    console.follow.look()
    console.say(label(kept.text), kept.ok)


def _wanted(state: State, server: str) -> tuple[EnvRead | None, str]:
    """What a server is wanted to have and where that is from.

    Where nobody said it of this one, what another of its slot is wanted to have: only arms that
    are alike can be compared.
    """
    for name in (server, *beside(state, server)):
        cell = state.servers.get(name)
        wanted = wanted_of(cell) if cell is not None else None
        if wanted is not None:
            of = "" if name == server else f", wanted for {label(name)}"
            return wanted, label(wanted.why) + of
    return None, ""


async def _launch_arguments(
    console: ConsoleApp, verb: str, server: str
) -> dict[str, Argument] | None:
    """What a person filled in, begun with the profile that is wanted there."""
    from console.control.environments import as_text
    from console.ui.screens.act_form import ActForm

    wanted, origin = _wanted(console.control.timeline.state, server)
    pairs = ((str(name), str(value)) for name, value in (wanted.values if wanted else ()))
    # What is masked here cannot be handed on: its value is the recipe's or nobody's.
    values = {name: value for name, value in pairs if MASKED not in value}
    return await console.push_screen_wait(ActForm(verb, server, as_text(values), origin))


async def _bench(console: ConsoleApp, server: str) -> None:
    from console.ui.benching import DAY_S, bench_arguments

    given = await bench_arguments(console.control.timeline.state, server, console.dialogs)
    if given is not None:
        outcome = await console.control.do("bench", server, given, DAY_S)
        console.follow.look()
        console.say(label(outcome.text), outcome.ok)
