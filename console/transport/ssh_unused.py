"""What a person's ssh configuration asks for and a wire does not do, as lines for the person.

Owns reading the files for these words only, with what they include. It never says what is done.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

MACHINE_CONFIG = "/etc/ssh/ssh_config"
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


def config_files(named: str) -> list[str]:
    """What ssh reads: the file that is named, else the person's own and the machine's."""
    if named:
        return [os.path.expanduser(named)]
    names = (os.path.expanduser("~/.ssh/config"), MACHINE_CONFIG)
    return [name for name in names if os.access(name, os.R_OK)]


def unused_by_asyncssh(ssh_config: str, alias: str) -> tuple[str, ...]:
    """Of what is said of `alias` in a configuration file, or in all that ssh reads by itself."""
    return (*_said(ssh_config, alias, _ASYNCSSH), *_unexpanded(ssh_config, alias))


def unused_by_openssh(ssh_config: str, alias: str) -> tuple[str, ...]:
    """The same for the system's ssh as a wire runs it."""
    return _said(ssh_config, alias, _OPENSSH)


def _said(ssh_config: str, alias: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[Path, dict[str, None]] = {}
    for path, words in _all_lines(ssh_config, alias):
        name = words[0].lower()
        if name in wanted and not (name == STRICT and words[-1].lower() in _AS_HERE):
            found.setdefault(path, {})[words[0]] = None
    return tuple(f"{', '.join(names)} in {path}: not used here" for path, names in found.items())


def _unexpanded(ssh_config: str, alias: str) -> tuple[str, ...]:
    """asyncssh runs the command of `Match exec` as it stands."""
    found = {
        path: None
        for path, words in _all_lines(ssh_config, alias)
        if words[0].lower() == "match" and "exec" in words and any("%" in word for word in words)
    }
    return tuple(f"Match exec in {path}: run with its % as it stands" for path in found)


def _all_lines(ssh_config: str, alias: str) -> Iterator[tuple[Path, list[str]]]:
    for top in config_files(ssh_config):
        yield from _lines(Path(top), alias, 0)


def _lines(path: Path, alias: str, depth: int) -> Iterator[tuple[Path, list[str]]]:
    """The words of every line that may hold for `alias`, those of included files in their places.

    Whether a `Match` holds is not asked.
    """
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return
    holds = True
    for line in text.splitlines():
        words = line.replace("=", " ").replace('"', " ").split()
        if not words or words[0].startswith("#"):
            continue
        name = words[0].lower()
        if name in ("host", "match"):
            holds = name == "match" or _matches(words[1:], alias)
        if not holds:
            continue
        yield path, words
        if name == "include" and depth < _MOST_DEPTH:
            for pattern in words[1:]:
                where = os.path.join(Path("~/.ssh").expanduser(), os.path.expanduser(pattern))
                for file in sorted(glob.glob(where)):
                    yield from _lines(Path(file), alias, depth + 1)


def _matches(patterns: Sequence[str], alias: str) -> bool:
    """As `Host` does: one pattern must match and none behind a `!`."""
    hits = [pattern for pattern in patterns if fnmatchcase(alias, pattern.lstrip("!"))]
    return bool(hits) and not any(hit.startswith("!") for hit in hits)
