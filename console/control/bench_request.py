"""What a `bench` verb asks for: protocol, prompts, depth, tokens.

Owns the words of its fields and their defaults. Reads prompt files; starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from console.bench.job import Dialect, Sampling
from console.bench.plan import Plan
from console.bench.promptset import (
    DEPTHS,
    KINDS,
    PromptSet,
    Unreadable,
    at_depth,
    fixed,
    read_jsonl,
    unfit_for_speculation,
)
from console.bench.protocol import PROTOCOLS, Level
from console.control.port import Argument
from console.model.fleet import Arm
from console.store.toml import nearest, one_of

MOST_LAUNCHES = 10
AS_IS = "as is"
DEPTH = "0.5k"
PROMPTS = "long-form"
STORY = "story"
APIS: dict[str, Dialect | None] = {"own": None, "completions": "completions", "chat": "chat"}
"""How a server may be asked: in its engine's own way, or as clients of OpenAI's ask."""
_MOST_PROMPTS = 8 * 1024 * 1024
LEVELS = {STORY: Level.STORY, **{level.value: level for level in Level}}


class BadRequest(ValueError):
    """A field that means nothing; the text says what was expected."""


def read_plan(given: Mapping[str, Argument], arm: Arm, *, alone: bool = True) -> Plan:
    """The plan that these fields make. `alone`: no other server is measured against, so that it
    is of one launch.

    Raises:
        BadRequest: a field means nothing, a prompt file cannot be used, or its prompts may not be
            given to this arm.
    """
    level = _level(str(given.get("protocol", STORY)))
    runs = _whole(given, "runs", PROTOCOLS[level].runs, 100)
    tokens = _whole(given, "tokens", Sampling().max_tokens, 100_000)
    if tokens < 2:
        raise BadRequest("tokens: 2 at least: the first is not decoded")
    depth = str(given.get("depth", DEPTH))
    if depth != AS_IS and depth not in DEPTHS:
        raise BadRequest(f'depth: "{depth}" is none of {one_of([AS_IS, *DEPTHS])}')
    prompts = read_prompts(str(given.get("prompts", PROMPTS)))
    why = unfit_for_speculation(prompts.prompts)
    if why is not None and arm is Arm.SPECULATIVE:
        raise BadRequest(f"prompts: {why}")
    api = str(given.get("api", "own"))
    if api not in APIS:
        raise BadRequest(f'api: "{api}" is none of {one_of(APIS)}')
    if api == "chat" and any(not isinstance(one.text, str) for one in prompts.prompts):
        raise BadRequest("api: a prompt of token numbers cannot be said in a chat")
    within = given.get("within", 0)
    if not isinstance(within, int | float) or not 0 <= within < 1:
        raise BadRequest("within: a share such as 0.01 was expected")
    if within and PROTOCOLS[level].prompts > 1:
        raise BadRequest(f"within: no run narrows what differs between the {level.value} prompts")
    launches = 1 if alone else _whole(given, "launches", PROTOCOLS[level].launches, MOST_LAUNCHES)
    if alone and "launches" in given:
        raise BadRequest("launches: by turns with another server only: against is missing")
    protocol = replace(PROTOCOLS[level], launches=launches, runs=runs)
    return Plan(
        level.value,
        protocol,
        _deep(prompts, depth),
        depth,
        DEPTHS.get(depth, 0),
        Sampling(max_tokens=tokens),
        float(within),
        launch=0,
        dialect=APIS[api],
    )


def _level(name: str) -> Level:
    if name not in LEVELS:
        hint = nearest(name, LEVELS) or f" (known: {one_of(LEVELS)})"
        raise BadRequest(f'protocol: no protocol "{name}"{hint}')
    return LEVELS[name]


def _whole(given: Mapping[str, Argument], name: str, usual: int, most: int) -> int:
    value = given.get(name, usual)
    if not isinstance(value, int) or not 1 <= value <= most:
        raise BadRequest(f"{name}: a whole number from 1 to {most:,} was expected")
    return value


def read_prompts(name: str) -> PromptSet:
    """A set that comes with the console, by kind, or a file of JSON lines.

    Raises:
        BadRequest: neither.
    """
    for kind in KINDS:
        if name == kind:
            return fixed(kind)
    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_PROMPTS + 1)
        text = raw.decode()
    except FileNotFoundError:
        known = f" (known: {one_of(KINDS)}, or a file of JSON lines)"
        raise BadRequest(f'prompts: no set and no file "{name}"{known}') from None
    except (OSError, UnicodeError) as error:
        raise BadRequest(f"prompts: {name}: {error}") from None
    if len(raw) > _MOST_PROMPTS:
        raise BadRequest(f"prompts: {name}: larger than {_MOST_PROMPTS:,} bytes")
    found = read_jsonl(text, path.stem)
    if isinstance(found, Unreadable):
        where = f":{found.line}" if found.line else ""
        raise BadRequest(f"prompts: {name}{where}: {found.why}")
    return found


def _deep(prompts: PromptSet, depth: str) -> PromptSet:
    if depth == AS_IS:
        return prompts
    made = (
        replace(prompt, text=at_depth(prompt.text, DEPTHS[depth]))
        if isinstance(prompt.text, str)
        else prompt
        for prompt in prompts.prompts
    )
    return PromptSet(prompts.name, tuple(made))
