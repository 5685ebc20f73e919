"""Which way the all-reduce of decode goes: the engine's own kernel, symmetric memory or NCCL,
with the log line or argument that proves it. Without proof it is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class Path(Enum):
    """Who moves the bytes of a small all-reduce."""

    CUSTOM = "the engine's own kernel"
    SYMMETRIC = "symmetric memory"
    NCCL = "NCCL"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AllReduce:
    """`proof` is the line or argument, `line` its number from 1 (0 for an argument)."""

    path: Path
    proof: str = ""
    line: int = 0

    @property
    def caution(self) -> str:
        """What it means for tuning, empty where NCCL carries decode."""
        if self.path is Path.NCCL:
            return ""
        return "collective variables may not reach decode"


_LINES: tuple[tuple[re.Pattern[str], Path], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), path)
    for pattern, path in (
        (r"custom all-?reduce is disabled", Path.NCCL),
        (r"disabling custom all-?reduce", Path.NCCL),
        (r"custom all-?reduce (?:is )?not (?:supported|available|enabled)", Path.NCCL),
        (r"setup custom all-?reduce failed", Path.NCCL),
        (r"registering \d+ cuda graph addresses", Path.CUSTOM),
        (r"custom all-?reduce (?:is )?(?:enabled|initialized)", Path.CUSTOM),
        (r"using (?:flashinfer|mscclpp|quick|trtllm|aiter) all-?reduce", Path.CUSTOM),
        (r"(?:symm(?:etric)?[-_ ]?mem\w*) (?:is )?(?:enabled|initialized)", Path.SYMMETRIC),
    )
)
_ARGUMENTS: tuple[tuple[str, Path], ...] = (
    ("--enable-symm-mem", Path.SYMMETRIC),
    ("--enable-nccl-symm-mem", Path.SYMMETRIC),
    ("--enable-torch-symm-mem", Path.SYMMETRIC),
    ("--enable-mscclpp", Path.CUSTOM),
    ("--enable-flashinfer-allreduce-fusion", Path.CUSTOM),
    ("--disable-custom-all-reduce", Path.NCCL),
)
_OFF = frozenset({"false", "0", "no"})


def allreduce_path(lines: Iterable[str], argv: Sequence[str] = ()) -> AllReduce:
    """The path by the last telling line of the engine's log, else by the launch arguments.
    Symmetric memory asked for by argument stands over a custom kernel that was refused."""
    told = AllReduce(Path.UNKNOWN)
    for number, line in enumerate(lines, 1):
        if "reduce" in line or "Reduce" in line or "graph addresses" in line or "ymm" in line:
            for pattern, path in _LINES:
                if pattern.search(line):
                    told = AllReduce(path, line.strip(), number)
                    break
    asked = _by_argument(argv)
    if told.path is Path.UNKNOWN or (told.path is Path.NCCL and asked.path is Path.SYMMETRIC):
        return asked if asked.path is not Path.UNKNOWN else told
    return told


def _by_argument(argv: Sequence[str]) -> AllReduce:
    for flag, path in _ARGUMENTS:
        for at, argument in enumerate(argv):
            name, equals, value = argument.partition("=")
            if name.replace("_", "-") != flag:
                continue
            follower = argv[at + 1] if at + 1 < len(argv) else ""
            if (value if equals else follower).lower() not in _OFF:
                return AllReduce(path, argument)
    return AllReduce(Path.UNKNOWN)
