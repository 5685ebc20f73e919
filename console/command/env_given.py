"""What the env commands are given: files, standard input, profiles, versions.

Every text of a file that is printed passes `shown`: a terminal obeys nothing that stands in it.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from console.command.env import Unreadable
from console.model.mask import Masks
from console.model.text import clean, plain
from console.nccl.finding import Finding
from console.nccl.importing.detect import FORMATS
from console.nccl.importing.found import Imported
from console.nccl.importing.read import import_source
from console.nccl.version import Version, parse_version
from console.store.fleet import find_fleet
from console.store.profiles import Profiles, load_profiles, profiles_path

MOST_BYTES = 64 * 1024 * 1024
STDIN = "-"
_MASKS = Masks()


def shown(text: str) -> str:
    """A text of a file as one harmless line."""
    return plain(clean(text.encode("utf-8", "surrogateescape"), _MASKS))


def add_version(parser: ArgumentParser) -> None:
    """`--nccl VERSION`."""
    parser.add_argument("--nccl", metavar="VERSION", help="of the library, such as 2.27.7")


def version_of(options: Namespace) -> Version | None:
    """The version that was stated.

    Raises:
        Unreadable: it is none.
    """
    if options.nccl is None:
        return None
    version = parse_version(options.nccl)
    if version is None:
        raise Unreadable(f'--nccl: "{options.nccl}" is no version such as 2.27.7')
    return version


def read_input(name: str, kind: str = "") -> Imported:
    """What a file, or standard input for `-`, says about NCCL's variables.

    Raises:
        Unreadable: it cannot be read or is too large.
    """
    if kind and kind not in FORMATS:
        raise Unreadable(f'no format is called "{kind}" (known: {", ".join(FORMATS)})')
    if name == STDIN:
        return import_source(_bounded(sys.stdin.buffer.read(MOST_BYTES + 1), name), name, kind)
    try:
        with Path(name).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"{name}: {(error.strerror or str(error)).lower()}") from error
    return import_source(_bounded(data, name), name, kind)


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > MOST_BYTES:
        raise Unreadable(f"{name}: larger than 64 MiB")
    return data


def profiles_of(fleet: str | None) -> Profiles:
    """The profiles beside the fleet that is named or found; none without a fleet."""
    path = find_fleet(fleet)
    return load_profiles(profiles_path(path)) if path is not None else Profiles()


def a_set(name: str, fleet: str | None) -> dict[str, str]:
    """The variables of a profile, else of a file.

    Raises:
        Unreadable: it is neither.
    """
    if name != STDIN and not Path(name).exists():
        profiles = profiles_of(fleet).profiles
        if name in profiles:
            return dict(profiles[name].values)
    return read_input(name).values()


def finding_json(one: Finding) -> dict[str, object]:
    """A finding for a program."""
    return {
        "rule": one.rule,
        "severity": one.severity.value,
        "names": list(one.names),
        "written": one.written,
        "reads_as": one.reads_as,
        "meant": one.meant,
        "why": one.why,
        "version": one.version,
        "at": [str(place) for place in one.at],
    }
