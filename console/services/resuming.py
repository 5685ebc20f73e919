"""How a command that prints a log is told to begin at a time: docker, kubectl, journalctl.

Owns the options of these three and of those that speak as they do, as their manuals give them.
Pure. A command it does not know, or whose own options leave lines without a time, runs again
from its start.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from console.model.fleet import LogSource

_CONTAINERS = {"docker", "podman", "nerdctl", "docker-compose"}
_PODS = {"kubectl", "oc"}


@dataclass(frozen=True, slots=True)
class Resuming:
    """A command's first run and its later ones.

    Attributes:
        argv: the first run.
        again: a later run, `{rfc3339}` or `{epoch}` in it the time to begin at; empty when it
            cannot be told one.
        is_stamped: each line begins with a time that only this made it print.
    """

    argv: tuple[str, ...]
    again: tuple[str, ...] = ()
    is_stamped: bool = False


def resuming(source: LogSource) -> Resuming:
    """What the fleet file says, else what is known of the tool."""
    argv = source.argv
    if source.resume:
        return Resuming(argv, (*argv, *source.resume))
    for place, word in enumerate(argv):
        name, rest = PurePosixPath(word).name, argv[place + 1 :]
        if name in _CONTAINERS and "logs" in rest:
            later = _without(argv, place, ("--tail", "-n", "--since"))
            is_stamped = not _has(rest, "-t", "--timestamps")
            return _stamped(argv, later, "--since={rfc3339}", is_stamped)
        if name in _PODS and "logs" in rest:
            # Its -n is the namespace.
            later = _without(argv, place, ("--tail", "--since", "--since-time"))
            return _stamped(argv, later, "--since-time={rfc3339}", "--timestamps" not in rest)
        if name == "journalctl":
            return _journal(argv, place)
    return Resuming(argv)


def _stamped(
    argv: tuple[str, ...], later: tuple[str, ...], since: str, is_stamped: bool
) -> Resuming:
    stamps = ("--timestamps",) if is_stamped else ()
    return Resuming((*argv, *stamps), (*later, *stamps, since), is_stamped)


def _journal(argv: tuple[str, ...], place: int) -> Resuming:
    """Its short stamps have neither year nor zone; forms without a time are left as they are."""
    words = " ".join(argv[place + 1 :])
    form = re.search(r"(?:^| )(?:-o ?|--output[= ])(\S+)", words)
    if form is not None and not form[1].startswith("short-iso"):
        return Resuming(argv)
    stamps = () if form else ("--output=short-iso-precise",)
    later = _without(argv, place, ("-n", "--lines", "-S", "--since"))
    # Following shows the last ten lines only, unless told not to.
    return Resuming((*argv, *stamps), (*later, *stamps, "--no-tail", "--since=@{epoch}"))


def _has(words: Sequence[str], short: str, long: str) -> bool:
    """Whether a switch is given, also among others as in `-ft`."""
    return long in words or any(re.fullmatch(rf"-[a-z]*{short[1]}[a-z]*", word) for word in words)


def _without(argv: tuple[str, ...], place: int, options: Sequence[str]) -> tuple[str, ...]:
    """The words without these options and their values, which would hold lines back."""
    kept, coming = list(argv[: place + 1]), iter(argv[place + 1 :])
    for word in coming:
        name, is_joined, _ = word.partition("=")
        if name in options and not is_joined:
            next(coming, None)
        elif name not in options and not any(
            re.fullmatch(rf"{option}\d+", word) for option in options if len(option) == 2
        ):
            kept.append(word)
    return tuple(kept)
