"""What a person's ssh configuration says of one hop, as asyncssh takes it.

Owns which files are read and what asyncssh reads otherwise than ssh does: the machine's own file,
identity files that are not there, agents named by a variable, tokens in names of known-hosts files.
It never connects.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Sequence
from typing import Any

import asyncssh

from console.model.number import whole
from console.transport.known_hosts import GLOBAL_FILES, USER_FILES, Known, known_in
from console.transport.ssh_unused import config_files

Options = asyncssh.SSHClientConnectionOptions

_TOKEN = re.compile(r"%(.)")
_URI = "ssh://"


async def hop_options(ssh_config: str, alias: str, user: str, port: int | None) -> Options:
    """Everything said of `alias`; what is given here stands before what the files say.

    Locked identity files are left for later.

    Raises:
        asyncssh.ConfigParseError: a file that cannot be understood.
    """
    files = config_files(ssh_config)
    own: dict[str, Any] = {"config": files, "host": alias}
    own |= {"username": user} if user else {}
    own |= {"port": port} if port else {}
    bare = await Options.construct(**own, client_keys=None, agent_path=None)
    named = bare.config.get("IdentityFile")
    if isinstance(named, list):
        own["client_keys"] = _present(named)
    agent = bare.config.get("IdentityAgent")
    if isinstance(agent, str) and (agent == "SSH_AUTH_SOCK" or agent.startswith("$")):
        own["agent_path"] = os.environ.get(agent.lstrip("$"), "") or None
    options: Options = await Options.construct(**own, ignore_encrypted=True)
    return options


def _present(files: list[str]) -> list[str]:
    return [name for name in files if os.path.isfile(os.path.expanduser(name))]


def known_hosts_of(options: Options, alias: str) -> Known:
    """Where the hop's host key may stand."""
    user = options.config.get("UserKnownHostsFile")
    machine = options.config.get("GlobalKnownHostsFile")
    host = str(options.config.get("Hostname") or alias)
    tokens = {
        "%": "%",
        "d": os.path.expanduser("~"),
        "h": host,
        "k": str(options.config.get("HostKeyAlias") or alias),
        "n": alias,
        "p": str(options.port),
        "r": options.username,
        "u": getpass.getuser(),
    }

    def names(value: object, otherwise: Sequence[str]) -> list[str]:
        told = otherwise if value is None else value if isinstance(value, list | tuple) else ()
        return [_TOKEN.sub(lambda found: tokens.get(found[1], found[0]), str(n)) for n in told]

    return known_in(names(user, USER_FILES), names(machine, GLOBAL_FILES))


def place(text: str) -> tuple[str, str, int | None]:
    """User, alias and port of `[user@]alias[:port]` or `ssh://…`; empty and None where not said."""
    user, _, rest = text.strip().removeprefix(_URI).rstrip("/").rpartition("@")
    name, colon, port = rest.rpartition(":")
    if name.startswith("[") and name.endswith("]"):
        return user, name[1:-1], whole(port)
    if rest.startswith("[") and rest.endswith("]"):
        return user, rest[1:-1], None
    if colon and whole(port) is not None and ":" not in name:
        return user, name, whole(port)
    return user, rest, None
