"""What a person is asked before a benchmark: alone or against the other arm, which protocol, and
how many minutes each takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.bench.protocol import BASELINE, SPECULATIVE, Side
from console.control.bench_forecast import USUAL_TOK_S, Order, basis, forecast, seen_tok_s
from console.control.bench_request import read_plan
from console.model.ask import Ask, Question
from console.model.fleet import Arm
from console.render.label import label
from console.stream.standing import UP
from console.stream.state import State

if TYPE_CHECKING:
    from console.control.port import Argument

CANCEL = "Cancel"
BOTH = "both arms"
LEVELS = ("look", "story", "quick")
LEVELS_AGAINST = ("story", "quick", "confirmed")
DAY_S = 86_400.0
"""A benchmark has no deadline of its own here: a person ends it."""


def question(state: State, server: str) -> Question:
    """The question for a server; the rate seen last tells how long it takes."""
    arm, others = _arm(state, server), _others(state, server)
    tok_s = seen_tok_s(state, server)
    detail = []
    for level in LEVELS:
        plan = read_plan({"protocol": level}, arm)
        prompts = len(plan.chosen)
        each = f"{plan.protocol.runs} runs of {prompts} prompt{'s' if prompts > 1 else ''}"
        detail.append(f"{level:<6} {each}: {plan.minutes(tok_s or USUAL_TOK_S)}")
    detail.append(f"{plan.sampling.max_tokens} tokens a run, {basis(tok_s)}; it is up: no load.")
    detail.append("One request at a time; the console asks it nothing else meanwhile. B ends it.")
    text = f"Measure {label(server)} ({arm.value})?"
    if others:
        detail.append(f"{BOTH}: by turns with {label(others[0])}, minutes and loads come next.")
    choices = (CANCEL, *LEVELS, *([BOTH] if others else []))
    return Question(label(server), text, tuple(detail), choices=choices)


def question_against(state: State, server: str, other: str) -> Question:
    """The question for two arms: by runs where each has a slot, else by launches."""
    order = _order(state, server, other)
    detail: list[str] = []
    rest: tuple[str, ...] = ()
    for level in LEVELS_AGAINST:
        plan = read_plan({"protocol": level}, _arm(state, server), alone=False)
        first, *rest_of = forecast(state, order, plan)
        rest = tuple(rest_of)
        detail.append(f"{level:<9} {first}")
    detail += rest
    if not order.both_up:
        detail.append("One slot: one is ended to start the other; you are asked once.")
    text = f"Measure {label(server)} against {label(other)}?"
    return Question(label(server), text, tuple(detail), choices=(CANCEL, *LEVELS_AGAINST))


async def bench_arguments(state: State, server: str, ask: Ask) -> dict[str, Argument] | None:
    """The protocol a person chose, and what it is measured against; None when declined."""
    answer = await ask.ask(question(state, server))
    if answer in LEVELS:
        return {"protocol": answer}
    others = _others(state, server)
    if answer != BOTH or not others:
        return None
    other = others[0]
    answer = await ask.ask(question_against(state, server, other))
    return {"protocol": answer, "against": other} if answer in LEVELS_AGAINST else None


def _arm(state: State, server: str) -> Arm:
    cell = state.servers.get(server)
    return cell.listed.arm if cell is not None and cell.listed is not None else Arm.BASELINE


def _others(state: State, server: str) -> list[str]:
    """Servers of the other arm: of its own slot if it has one, else of its host."""
    own = state.servers.get(server)
    if own is None or own.listed is None:
        return []
    found: dict[bool, list[str]] = {True: [], False: []}
    for name, cell in state.servers.items():
        listed = cell.listed
        if listed is None or listed.arm is own.listed.arm or listed.host != own.listed.host:
            continue
        found[listed.slot == own.listed.slot].append(name)
    return (found[True] or found[False])[:1]


def _order(state: State, server: str, other: str) -> Order:
    sides: dict[Side, str] = {BASELINE: server, SPECULATIVE: other}
    if _arm(state, server) is Arm.SPECULATIVE:
        sides = {BASELINE: other, SPECULATIVE: server}
    listed = [state.servers[name].listed for name in sides.values()]
    both_up = len({one.slot for one in listed if one is not None}) > 1
    up = frozenset(side for side, name in sides.items() if state.standing(name) in UP)
    first = SPECULATIVE if not both_up and up == {SPECULATIVE} else BASELINE
    return Order(sides, both_up, first, up)
