"""A server's API key, by reference only.

Owns reading it where it is named, having it masked from then on, and the words for one that is
missing or refused. It is never shown or stored.
"""

from __future__ import annotations

import os
from pathlib import Path

from console.engines.dialect import Dialect
from console.model.failure import Failure, WireError
from console.model.fleet import Engine, Server
from console.model.mask import Masks


def key_headers(server: Server, masks: Masks) -> dict[str, str]:
    """The header that carries the key; empty when the server names none.

    Raises:
        WireError: UNREADABLE or MISSING when it names one that cannot be had.
    """
    if server.api_key_env:
        key = os.environ.get(server.api_key_env, "")
        if not key:
            raise WireError(Failure.MISSING, f"variable {server.api_key_env} is not set here")
    elif server.api_key_file:
        try:
            key = Path(server.api_key_file).expanduser().read_text().strip()
        except (OSError, UnicodeError) as error:
            why = f"api_key_file {server.api_key_file}: {error}"
            raise WireError(Failure.UNREADABLE, why) from error
    else:
        return {}
    masks.learn(key)
    if not (key.isascii() and key.isprintable()):
        where = server.api_key_env or server.api_key_file
        raise WireError(Failure.UNREADABLE, f"{where}: the key in it cannot stand in a header")
    return {"Authorization": f"Bearer {key}"}


def key_text(entry: Server, engine: Engine | None, path: str, code: int) -> str:
    """Which key a path that answered 401 or 403 asks for, and where the fleet file names it."""
    needs = "the API key"
    if engine is not None and Dialect(engine).auth(path) == "admin":
        needs = "the admin key"
    if entry.api_key_env:
        return f"{path} needs {needs}; the one in {entry.api_key_env} is refused ({code})"
    if entry.api_key_file:
        return f"{path} needs {needs}; the one in {entry.api_key_file} is refused ({code})"
    return f"{path} needs {needs} ({code}): name it as api_key_env or api_key_file in the fleet"
