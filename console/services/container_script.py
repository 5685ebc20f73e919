"""What runs outside a container to ask its engine how it is configured: one POSIX sh line.

Owns that text and which `enter` leads into a container that `inspect` can be asked about. It lets
no variable out whose name is not allowed, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from console.nccl.catalogue import ALLOWED_NAMES, ALLOWED_PREFIXES, SECRET_WORDS

_ENGINES = frozenset({"docker", "podman", "nerdctl"})
_TAKE_ONE = frozenset({"-u", "--user", "-w", "--workdir", "-e", "--env", "--env-file"})
_FORMAT = (
    "@id {{.Id}}{{println}}@started {{json .State.StartedAt}}{{println}}"
    "{{range .Config.Env}}{{json .}}{{println}}{{end}}"
)
_INSPECT = r"""
export LC_ALL=C;
names=$1 secret=$2; shift 2;
if o=$("$@" 2>&1); then printf "%s\n" "$o"
| sed -nE -e "/^@/p" -e "/^\"[^=]*($secret)[^=]*=/d" -e "s/^\"($names)=/ &/p";
else printf "@shut %s\n" "$(printf "%s\n" "$o" | tail -n 1)"; fi;
echo "@end"
"""


def container_of(enter: Sequence[str]) -> tuple[tuple[str, ...], str] | None:
    """(engine's command, container's name) of an `enter` such as `sudo docker exec -i NAME`; None
    where it leads elsewhere (kubectl, srun, nsenter)."""
    at = next((n for n, word in enumerate(enter) if PurePosixPath(word).name in _ENGINES), None)
    if at is None or "exec" not in enter[at + 1 :]:
        return None
    verb = enter.index("exec", at + 1)
    word = verb + 1
    while word < len(enter) and enter[word].startswith("-"):
        word += 2 if enter[word] in _TAKE_ONE else 1
    return (tuple(enter[:verb]), enter[word]) if word < len(enter) else None


def inspect_argv(engine: Sequence[str], name: str) -> list[str]:
    """The command, to be run outside the container.

    Prints `@id ID`, `@started TIME` (as JSON) and a line with a blank and a JSON text `NAME=VALUE`
    for each allowed variable of Config.Env, or `@shut WHY`; at last `@end`.
    """
    names = "|".join([*(f"{prefix}[A-Z0-9_]*" for prefix in ALLOWED_PREFIXES), *_NAMES])
    asked = [*engine, "inspect", "--type", "container", "--format", _FORMAT, name]
    line = " ".join(_INSPECT.split("\n")).strip()
    return ["/bin/sh", "-c", line, "sh", names, "|".join(SECRET_WORDS), *asked]


_NAMES = sorted(ALLOWED_NAMES)
