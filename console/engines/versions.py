"""Versions as servers write them, made comparable.

Owns reading them. A part that is no number ends the comparison: rc, post and local parts
of one release count as that release.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


class Version(NamedTuple):
    """Major, minor, patch."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def version(text: str) -> Version | None:
    """The version at the start of the text; None for "unknown", a commit, a build number."""
    m = _VERSION.match(text.strip())
    if m is None or any(len(g) > 9 for g in m.groups() if g):
        return None
    return Version(int(m[1]), int(m[2]), int(m[3] or 0))
