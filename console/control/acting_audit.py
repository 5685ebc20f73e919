"""What the audit keeps of one act: command line as a hash, environments masked.

Pure. No value leaves here that a session would not hold as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from console.control.acting_look import Look
from console.control.acting_request import Request
from console.model.mask import Masks
from console.model.text import clean
from console.store.audit import Value


def audited(request: Request, look: Look, masks: Masks) -> dict[str, Value]:
    """The fields that tell what was there and what was asked; `env_before` is None where the
    environment could not be read, `argv_sha256` of the masked words joined by NUL."""
    launcher = look.tree.launcher
    argv = look.words or (launcher.argv if launcher is not None else ())
    wanted = {name: value or "" for name, value in request.wanted.items()}
    return {
        "host": look.host,
        "verb": request.verb,
        "server": request.server,
        "pid": launcher.identity.pid if launcher is not None else None,
        "argv_sha256": hashlib.sha256("\0".join(argv).encode()).hexdigest(),
        "env_before": _masked(look.before, masks),
        "env_after": _masked({**look.after, **wanted}, masks) if request.starts else None,
    }


def _masked(values: Mapping[str, str] | None, masks: Masks) -> Mapping[str, str] | None:
    if values is None:
        return None
    pairs = (clean(f"{name}={value}", masks).partition("=") for name, value in values.items())
    return {name: value for name, _, value in pairs}
