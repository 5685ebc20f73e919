"""Host keys: which are known, and what one that is offered means.

Owns telling an unknown key from a changed one, with fingerprints. It writes only a key that a
person accepted, and there is no way around the check.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from console.model.failure import Failure, WireError

USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
GLOBAL_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
_DEFAULT_PORT = 22


@dataclass(frozen=True, slots=True)
class Known:
    """Where host keys stand.

    Attributes:
        files: those that can be read.
        own: where a key that a person accepts is written down; empty for nowhere.
    """

    files: tuple[str, ...] = ()
    own: str = ""


@dataclass(frozen=True, slots=True)
class Offered:
    """A key no file vouches for, as a host offered it.

    Attributes:
        authority: it is the key of a certificate authority.
    """

    host: str
    address: str
    port: int
    key: asyncssh.SSHKey
    known: Known
    authority: bool = False

    @property
    def name(self) -> str:
        """How known_hosts names the host."""
        return self.host if self.port == _DEFAULT_PORT else f"[{self.host}]:{self.port}"


def known_in(user: Iterable[str], machine: Iterable[str]) -> Known:
    """The person's files and the machine's, by their names in the configuration."""
    own, others = list(map(os.path.expanduser, user)), map(os.path.expanduser, machine)
    paths = dict.fromkeys((*own, *others))
    found = [path for path in paths if os.path.isfile(path) and os.access(path, os.R_OK)]
    return Known(tuple(found), own[0] if own else "")


def judged(offered: Offered) -> WireError:
    """What it means that this key was offered."""
    mark = f"{offered.key.get_algorithm()} {offered.key.get_fingerprint()}"
    known: list[asyncssh.SSHKey] = []
    files = offered.known.files
    if files:
        port = None if offered.port == _DEFAULT_PORT else offered.port
        found = asyncssh.match_known_hosts(list(files), offered.host, offered.address, port)
        known = list(dict.fromkeys(found[1] if offered.authority else found[0]))
        if offered.key in found[2]:
            why = f"the host key of {offered.name} is revoked"
            return WireError(Failure.KEY_CHANGED, why, (f"offered  {mark}",))
    if not known:
        how = f"to accept it, compare the fingerprint and connect once with ssh to {offered.host}"
        detail = (f"offered  {mark}", how)
        return WireError(Failure.KEY_UNKNOWN, f"no host key of {offered.name} is known", detail)
    lines = [f"known    {key.get_algorithm()} {key.get_fingerprint()}" for key in known]
    how = f"if the change is meant: ssh-keygen -R '{offered.name}' -f {files[0]}"
    why = f"the host key of {offered.name} is not the known one"
    return WireError(Failure.KEY_CHANGED, why, (*lines, f"offered  {mark}", how))


def remember(offered: Offered) -> Known:
    """Add a key that a person accepted to the person's first file, as ssh does.

    Raises:
        WireError: the file cannot be written.
    """
    own = offered.known.own
    if not own:
        raise WireError(Failure.KEY_UNKNOWN, "the configuration names no file to write the key to")
    path = Path(own)
    line = f"{offered.name} {offered.key.export_public_key().decode().strip()}\n"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        text = path.read_bytes() if path.exists() else b""
        with path.open("ab") as file:
            file.write((b"" if not text or text.endswith(b"\n") else b"\n") + line.encode())
    except OSError as error:
        raise WireError(Failure.KEY_UNKNOWN, f"{path}: {error.strerror}") from error
    return known_in([own], offered.known.files)
