"""NCCL's version numbers and their order. Owns nothing else; what a version can do is data of
the catalogue and the parsers."""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")


class Version(NamedTuple):
    """major, minor, patch of a libnccl release, such as 2.27.7."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        short = f"{self.major}.{self.minor}"
        return f"{short}.{self.patch}" if self.patch else short


NEWEST = Version(2, 32, 3)
"""Newest library the catalogue was compared with; assumed where no version is known."""


def parse_version(text: str) -> Version | None:
    """First version number in `text` (`2.27.7+cuda12.9`, `NCCL version 2.30`), or None."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    return Version(int(found[1]), int(found[2]), int(found[3] or 0))
