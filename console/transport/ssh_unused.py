"""What a person's ssh configuration asks for and a wire does not do, as lines for the person.

Owns reading the files for these words only, with what they include. It never says what is done.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

STRICT = "stricthostkeychecking"
_ASYNCSSH = (
    "knownhostscommand",
    "controlmaster",
    "controlpath",
    "revokedhostkeys",
    "verifyhostkeydns",
    "bindinterface",
    STRICT,
)
_OPENSSH = (STRICT,)
_MOST_DEPTH = 8
_AS_HERE = ("yes", "ask")
"""An unknown key is put to a person, a changed one refused: nobody who wants that misses it."""


def unused_by_asyncssh(ssh_config: str) -> tuple[str, ...]:
    """Of a configuration file, or of the user's own where it is empty."""
    return _said(ssh_config, _ASYNCSSH)


def unused_by_openssh(ssh_config: str) -> tuple[str, ...]:
    """The same for the system's ssh as a wire runs it."""
    return _said(ssh_config, _OPENSSH)


def _said(ssh_config: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    top = Path(ssh_config or "~/.ssh/config").expanduser()
    found: dict[Path, dict[str, None]] = {}
    for path, words in _lines(top, 0):
        name = words[0].lower()
        if name in wanted and not (name == STRICT and words[-1].lower() in _AS_HERE):
            found.setdefault(path, {})[words[0]] = None
    return tuple(f"{', '.join(names)} in {path}: not used here" for path, names in found.items())


def _lines(path: Path, depth: int) -> Iterator[tuple[Path, list[str]]]:
    """The words of every line, those of included files in their places."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        words = line.replace("=", " ").replace('"', " ").split()
        if not words or words[0].startswith("#"):
            continue
        yield path, words
        if words[0].lower() == "include" and depth < _MOST_DEPTH:
            for pattern in words[1:]:
                where = os.path.join(Path("~/.ssh").expanduser(), os.path.expanduser(pattern))
                for name in sorted(glob.glob(where)):
                    yield from _lines(Path(name), depth + 1)
