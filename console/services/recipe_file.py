"""An environment file of a recipe, read as a launch on the host reads it: lines of data, no shell.

Pure. What a launch would refuse (an expansion, a line without `=`) has no value here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def file_values(rows: Iterable[str]) -> dict[str, str]:
    """The variables of the rows; the last one of a name holds, quotes around a value go."""
    found: dict[str, str] = {}
    for row in rows:
        text = row.lstrip(" \t").removeprefix("export ")
        name, equals, value = text.partition("=")
        if text.startswith("#") or not equals or not _NAME.fullmatch(name):
            continue
        if len(value) > 1 and value[0] == value[-1] == "'":
            found[name] = value[1:-1]
        elif "$" in value or "`" in value:
            found.pop(name, None)
        elif len(value) > 1 and value[0] == value[-1] == '"':
            found[name] = value[1:-1]
        else:
            found[name] = value
    return found
