"""A first fleet.toml, commented, from what a person said and what was found on the host.

Writes a new file that only its owner reads; never over one that exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from console.model.fleet import Arm
from console.store import whole
from console.store.fleet import SCHEMA


@dataclass(frozen=True, slots=True)
class Draft:
    """What the file will say.

    Attributes:
        ssh: alias of the host; empty for this machine.
        engine: as the fleet file names it, `auto` when it was not recognised.
        log: path on the host; empty when none was found.
        argv: command the running server was started with; empty when it could not be seen, or
            holds something that has no place in a file.
    """

    ssh: str
    port: int
    name: str
    arm: Arm
    engine: str = "auto"
    log: str = ""
    argv: tuple[str, ...] = ()
    cwd: str = ""


def drafted(draft: Draft) -> str:
    """The text of the file."""
    host = valid_name(draft.ssh or "here")
    reach = _pair("ssh", draft.ssh) if draft.ssh else "local = true"
    lines = [
        "# The fleet of spec-console: hosts, slots on them, servers in the slots.",
        _pair("schema", SCHEMA),
        "",
        "# A host is this machine or an alias of the ssh configuration.",
        "[[host]]",
        _pair("name", host),
        reach,
        "# read_only = true       # never restart or change anything there",
        "",
        "# A slot is a port and GPUs of a host: at most one server is up in it.",
        "[[slot]]",
        _pair("name", f"{host}:{draft.port}"),
        _pair("host", host),
        f"port = {draft.port}",
        "# gpus = [0, 1, 2, 3]",
        "",
        "# A server is one launch, the baseline or the one that speculates; both may share a slot.",
        "[[server]]",
        _pair("name", draft.name),
        _pair("slot", f"{host}:{draft.port}"),
        f"{_pair('arm', draft.arm.value)}        # or: {_other(draft.arm).value}",
        f"{_pair('engine', draft.engine)}       # sglang, vllm, llama.cpp, tensorrt-llm or auto",
        f"{_pair('url', f'http://127.0.0.1:{draft.port}')}   # as seen from the host",
    ]
    if draft.log:
        lines.append(f"{_pair('log', draft.log)}   # found among what the process writes to")
    else:
        lines.append('# log = "/path/on/the/host.log"    # none was found')
    lines.append(
        '# api_key_env = "NAME"    # the variable here that holds its key, if it wants one'
    )
    if draft.argv:
        recipe: dict[str, object] = {"argv": list(draft.argv)}
        if draft.cwd:
            recipe["cwd"] = draft.cwd
        lines += ["", "# How it was started, as its process tells.", "[server.recipe]"]
        lines.append(tomli_w.dumps(recipe).rstrip())
    return "\n".join(lines) + "\n"


def write_draft(draft: Draft, path: Path) -> None:
    """Write the file.

    Raises:
        OSError: it exists already, or cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    whole.create(path, [drafted(draft).encode()])


def valid_name(text: str) -> str:
    """The text as a name that a fleet file takes: other characters become dashes."""
    name = re.sub(r"[^A-Za-z0-9._:-]+", "-", text).strip("-._:")[:63]
    return name or "server"


def _pair(key: str, value: str) -> str:
    return tomli_w.dumps({key: value}).rstrip("\n")


def _other(arm: Arm) -> Arm:
    return Arm.SPECULATIVE if arm is Arm.BASELINE else Arm.BASELINE
