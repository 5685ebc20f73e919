"""What a person is asked before a benchmark: which protocol, and how many minutes each takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.control.bench_request import read_plan
from console.model.ask import Ask, Question
from console.model.fleet import Arm
from console.render.label import label
from console.render.units import rate
from console.stream.state import State

if TYPE_CHECKING:
    from console.control.port import Argument

CANCEL = "Cancel"
LEVELS = ("look", "story", "quick")
USUAL_TOK_S = 60.0
DAY_S = 86_400.0
"""A benchmark has no deadline of its own here: a person ends it."""


def question(state: State, server: str) -> Question:
    """The question for a server; the rate seen last tells how long it takes."""
    cell = state.servers.get(server)
    arm = cell.listed.arm if cell is not None and cell.listed is not None else Arm.BASELINE
    token = cell.token if cell is not None else None
    seen = token.decode_tok_s if token is not None else None
    tok_s = seen if seen is not None and seen > 0 else USUAL_TOK_S
    detail = []
    for level in LEVELS:
        plan = read_plan({"protocol": level}, arm)
        prompts = len(plan.chosen)
        each = f"{plan.protocol.runs} runs of {prompts} prompt{'s' if prompts > 1 else ''}"
        detail.append(f"{level:<6} {each}: {plan.minutes(tok_s)}")
    how = "as it decoded last" if tok_s is seen else "a guess: it was not seen decoding"
    detail.append(f"{plan.sampling.max_tokens} tokens a run, at {rate(tok_s)} tok/s ({how}).")
    detail.append("One request at a time; the console asks it nothing else meanwhile. B ends it.")
    text = f"Measure {label(server)} ({arm.value})?"
    return Question(label(server), text, tuple(detail), choices=(CANCEL, *LEVELS))


async def bench_arguments(state: State, server: str, ask: Ask) -> dict[str, Argument] | None:
    """The protocol a person chose; None when declined."""
    answer = await ask.ask(question(state, server))
    return {"protocol": answer} if answer in LEVELS else None
