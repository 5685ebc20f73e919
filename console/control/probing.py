"""The verb `probe`: which profiles are timed, at which sizes, and what is told of it.

Owns the choice and the words. It never speaks of tok/s: an all-reduce is a part of a decode step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from console.control.port import Argument, Outcome
from console.model.exits import Exit
from console.model.failure import WireError
from console.model.fleet import Fleet
from console.model.mask import Masks
from console.model.text import clean
from console.nccl.timing import NO_GPU, Timing, lines, ranked
from console.services.allreduce import HIDDEN, LIMIT_S, SECONDS, Ask, Refused
from console.store.profiles import load_profiles, profiles_path
from console.store.toml import BadFile, nearest

if TYPE_CHECKING:
    from console.services.live import Watch

BARE = "no variables"
"""The name of the empty set, which is timed first."""

_STEPS = (
    (re.compile(r"--speculative[-_]num[-_]draft[-_]tokens[= ](\d{1,3})(?!\S)"), 0),
    (re.compile(r"--speculative[-_]num[-_]steps[= ](\d{1,3})(?!\S)"), 1),
    (re.compile(r"num_speculative_tokens[\"']?\s*[:=]\s*(\d{1,3})(?!\d)"), 1),
)
_MOST_TOKENS = 64


class BadRequest(ValueError):
    """A field that means nothing; the text says what was expected."""


async def probe(
    watch: Watch,
    server: str,
    given: Mapping[str, Argument],
    masks: Masks,
    tell: Callable[[str], object] = lambda _line: None,
) -> Outcome:
    """Time all-reduces under no variables and under each profile; the fastest is a result."""
    fleet = watch.fleet
    try:
        if given.get("what") != "allreduce":
            raise BadRequest(f'"{given.get("what", "")}" cannot be probed (known: allreduce)')
        sets = _sets(fleet, server, str(given.get("profiles", "")))
        ask, assumed = _ask(fleet, server, given)
        ground = await watch.all_reduces.ground(server, str(given.get("python", "")))
    except (BadRequest, BadFile) as error:
        return Outcome(Exit.USAGE, clean(str(error), masks))
    except Refused as error:
        return Outcome(Exit.GUARD, clean(f"{server}: {error}", masks))
    except WireError as error:
        return Outcome(error.kind.exit, clean(f"{server}: {error.told}", masks))
    mark = "" if ground.gpus else NO_GPU
    hidden = ask.hidden or ground.hidden or HIDDEN
    source = "given" if ask.hidden else "config.json" if ground.hidden else "assumed"
    sizes = f"{hidden} x 2 bytes x 1…{ask.tokens[-1]} tokens"
    tell(f"{mark}{sizes} (hidden size {source}; {assumed}), {ground.python}")
    ask = Ask(ask.tokens, hidden, ask.seconds, ask.limit_s)
    timings: list[Timing] = []
    for number, (name, env) in enumerate(sets.items(), 1):
        tell(f"{mark}{name}: {number} of {len(sets)}, at most {ask.limit_s:g} s")
        try:
            timings.append(await watch.all_reduces.time(server, ground, ask, name, env))
        except WireError as error:
            return Outcome(error.kind.exit, clean(f"{server}: {error.told}", masks))
    return _outcome(server, timings, masks)


def _outcome(server: str, timings: list[Timing], masks: Masks) -> Outcome:
    told = [clean(line, masks) for line in lines(timings)]
    order = ranked(timings)
    mark = "" if timings[0].gpu else NO_GPU
    if not order:
        text = f"{mark}{server}: nothing was timed: {timings[0].profile}: {timings[0].why}"
        late = all("limit" in one.why or "within" in one.why for one in timings)
        return Outcome(Exit.DEADLINE if late else Exit.STEP, clean(text, masks), {}, told)
    first = order[0]
    results: dict[str, str | int | float] = {
        "fastest": first.profile,
        "mean_us": round(first.mean_us, 1),
        "backend": "nccl" if first.gpu else "gloo",
        "timed": len(order),
        "failed": len(timings) - len(order),
    }
    text = f"{mark}{server}: {first.profile} is fastest, {first.mean_us:.1f} us an all-reduce"
    text += f"; {len(timings) - len(order)} failed" if len(order) < len(timings) else ""
    return Outcome(Exit.OK, clean(text, masks), results, told)


def _sets(fleet: Fleet, server: str, named: str) -> dict[str, dict[str, str]]:
    """No variables, then the profiles named, else the one wanted of the server."""
    held = load_profiles(profiles_path(fleet.path)) if fleet.path else None
    known = held.profiles if held is not None else {}
    wanted = held.of(server) if held is not None else None
    names = re.split(r"[\s,]+", named.strip()) if named.strip() else []
    if not names and wanted is not None:
        names = [wanted.name]
    for name in names:
        if name not in known:
            raise BadRequest(f'no profile is named "{name}"{nearest(name, list(known))}')
    return {BARE: {}} | {name: dict(known[name].values) for name in names}


def _ask(fleet: Fleet, server: str, given: Mapping[str, Argument]) -> tuple[Ask, str]:
    """Sizes and times, and where the number of tokens comes from."""
    most = int(_number(given, "tokens", 0, 0, _MOST_TOKENS))
    said = "tokens given"
    if not most:
        most, said = _drafts(fleet, server)
    hidden = int(_number(given, "hidden", 0, 0, 1_000_000))
    seconds = _number(given, "seconds", SECONDS, 0.1, 600)
    limit_s = _number(given, "limit", max(LIMIT_S, seconds * 3), 1, 3600)
    return Ask(tuple(range(1, most + 1)), hidden, seconds, limit_s), said


def _number(
    given: Mapping[str, Argument], name: str, otherwise: float, low: float, high: float
) -> float:
    value = given.get(name, otherwise)
    if not isinstance(value, int | float) or not low <= value <= high:
        raise BadRequest(f"{name}: a number from {low:g} to {high:g} was expected, not {value}")
    return value


def _drafts(fleet: Fleet, server: str) -> tuple[int, str]:
    """Tokens of one verify step, by the recipes of this slot: SGLang counts the root among its
    draft tokens, its steps and vLLM's tokens do not."""
    slot = fleet.server(server).slot
    for pattern, more in _STEPS:
        for one in fleet.servers:
            words = one.recipe.argv if one.slot == slot and one.recipe is not None else ()
            found = pattern.search(" ".join(words))
            if found is not None and 0 < int(found[1]) + more <= _MOST_TOKENS:
                return int(found[1]) + more, f"a verify step of {one.name}"
    return 4, "3 drafts and one more assumed"
