"""Reads configuration files of no special kind (TOML, INI, make, HCL): pairs as they stand in a
line, comment lines as commented. Knows no section and no type."""

from __future__ import annotations

from collections.abc import Iterator

from console.nccl.importing.found import Context, Item, State, restate
from console.nccl.importing.prose import scan


def read_config(text: str, first: int, _: Context) -> Iterator[Item]:
    """Items of a configuration file, line by line."""
    for at, row in enumerate(text.split("\n")):
        if "NCCL_" not in row:
            continue
        found = scan(row.removesuffix("\r"), first + at, code=True)
        if row.lstrip().startswith(("#", ";", "//", "--")):
            yield from restate(found, State.COMMENTED)
        else:
            yield from found
