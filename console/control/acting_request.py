"""What an act was asked to do: the fields of a script step or of a key, checked.

Pure. Owns the words of the fields; what is wrong is refused before anything is looked at.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from console.control.port import Argument
from console.control.step_guard import StepGuard
from console.model.clock import Pace
from console.model.mask import Masks

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RECIPE = re.compile(r"/[^\0\n]*/\.spec-console/[A-Za-z0-9._/-]+\.recipe")
_SEE = ("ranks", "nccl")


class BadRequest(ValueError):
    """A field that cannot be meant so."""


@dataclass(frozen=True, slots=True)
class Request:
    """One act.

    Attributes:
        wanted: variables put over the recipe's; None leaves one out.
        args: put behind the recipe's command line.
        recipe: a file of the console's folder on the host, in place of the server's own recipe.
        given: all of it, as it was asked for.
        guard: when a script's step may be done at all.
        roll_back: by itself, once it fails.
        method: `tmux` for a window of tmux; in the background where empty.
        kill_s: KILL is allowed so long after the first TERM; None for never unasked.
    """

    verb: str
    server: str
    wanted: Mapping[str, str | None] = field(default_factory=dict)
    grace_s: float = 60.0
    kill_s: float | None = None
    ready_s: float = 900.0
    roll_back: bool = False
    method: str = ""
    args: tuple[str, ...] = ()
    recipe: str = ""
    given: Mapping[str, Argument] = field(default_factory=dict)
    guard: StepGuard = field(default_factory=StepGuard)

    @property
    def stops(self) -> bool:
        """Whether what runs in the slot is stopped."""
        return self.verb in ("stop", "swap", "restart")

    @property
    def starts(self) -> bool:
        """Whether a server is launched."""
        return self.verb in ("launch", "swap", "restart")


def read_request(
    verb: str, server: str, given: Mapping[str, Argument], log: str, pace: Pace, masks: Masks
) -> Request:
    """Check what was given; times of a script are divided like all others in a lab.

    Args:
        log: of the server, beside which NCCL's own is put.

    Raises:
        BadRequest: the text says which field and why.
    """

    def seconds(name: str, otherwise: float | None) -> float | None:
        value = given.get(name)
        return value / pace.scale if isinstance(value, int | float) else otherwise

    on_fail = str(given.get("on_fail", "stop"))
    if on_fail not in ("stop", "rollback"):
        raise BadRequest(f'on_fail: "stop" or "rollback" was expected, not "{on_fail}"')
    method = str(given.get("method", ""))
    if method not in ("", "tmux"):
        raise BadRequest(f'method: "tmux" was expected or nothing, not "{method}"')
    wanted = {**_seen(str(given.get("see", "")), log), **read_variables(str(given.get("env", "")))}
    for name, value in wanted.items():
        masks.learn_pair(name, value or "")
    return Request(
        verb,
        server,
        wanted,
        seconds("grace", pace.stop_grace_s) or 0.0,
        seconds("kill_after", None),
        seconds("ready_within", pace.wait_deadline_s) or 0.0,
        on_fail == "rollback",
        method,
        _arguments(str(given.get("args", ""))),
        _recipe(str(given.get("recipe", ""))),
        given,
        StepGuard.of(given),
    )


def read_variables(text: str) -> dict[str, str | None]:
    """`NAME=VALUE` sets, `-NAME` leaves out; quoted as in a shell, nothing is expanded.

    Raises:
        BadRequest: the text says which word and why.
    """
    found: dict[str, str | None] = {}
    for word in _words("env", text):
        name, equals, value = word.partition("=")
        left_out = not equals and name.startswith("-")
        name = name[1:] if left_out else name
        if not _NAME.fullmatch(name) or not (equals or left_out):
            raise BadRequest(f'env: NAME=VALUE or -NAME was expected, not "{word[:80]}"')
        if "\0" in value or "\1" in value:
            raise BadRequest(f"env: {name}: a value cannot hold control characters")
        found[name] = None if left_out else value
    return found


def _words(field_name: str, text: str) -> tuple[str, ...]:
    """Words quoted as in a shell."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise BadRequest(f"{field_name}: {str(error).lower()}") from error


def _arguments(text: str) -> tuple[str, ...]:
    """Words behind a command line."""
    words = _words("args", text)
    if any("\0" in word or "\1" in word for word in words):
        raise BadRequest("args: a word cannot hold control characters")
    return words


def _recipe(path: str) -> str:
    """A recipe that this console keeps on the host; no other file is taken for one."""
    if path and (not _RECIPE.fullmatch(path) or ".." in path):
        raise BadRequest(f'recipe: ${{STEP.recipe}} of an adopt was expected, not "{path[:80]}"')
    return path


def _seen(text: str, log: str) -> dict[str, str]:
    """What makes more of a server visible: `ranks` keeps their environment readable, `nccl` has
    NCCL tell what it read, in a file of its own."""
    found: dict[str, str] = {}
    for word in text.split():
        if word not in _SEE:
            raise BadRequest(f'see: "ranks" or "nccl" was expected, not "{word}"')
        if word == "ranks":
            found["SPT_NOENV"] = "1"
        else:
            if not log:
                raise BadRequest("see: nccl writes beside the server's log, and it has none")
            found |= {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV"}
            found["NCCL_DEBUG_FILE"] = f"{log}.nccl.%h.%p"
    return found
