"""An environment file on a host, and what of a box decides whether peer access is safe.

Owns how both are asked for and what is told of them. What holds for everyone who changes a host
(the lock, the confirmation, the audit) is for whoever calls this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from console.model.number import whole
from console.model.text import Clean
from console.nccl.export import export
from console.services.env_file_script import fabric_argv, write_argv
from console.services.process import HostCommands

_MATRIX_ROWS = 12


class Unwritten(Exception):
    """The file was not changed; the text says why."""


def file_text(env: Mapping[str, str]) -> str:
    """The lines of a file that a shell, compose and --env-file read alike.

    Raises:
        Unwritten: a value needs quotes, which these read in different ways.
    """
    for name, value in env.items():
        if not re.fullmatch(r"[A-Za-z0-9_.,:;=^/+@%|-]*", value):
            why = "needs quotes, and shells, compose and docker's --env-file take them differently"
            raise Unwritten(f"{name}={value}: {why}")
    return export(env, "env").text


async def write_env_file(
    host: HostCommands, path: str, kept: str, text: str
) -> tuple[Clean, Clean]:
    """Put the lines into the file; (its path, that of the old one, "" without one).

    Raises:
        Unwritten: the host refused; nothing was changed.
        WireError: the host was not reached; the file is the old or the new one, never in between.
    """
    data = text.encode()
    rows = await host.run(write_argv(path, kept, len(data)), data)
    said = dict(row.partition(" ")[::2] for row in rows if row.startswith("@"))
    if "@written" not in said:
        raise Unwritten(host.clean(said.get("@refused", "the host gave no reason")))
    return host.clean(said["@written"]), host.clean(said.get("@kept", ""))


async def fabric(host: HostCommands) -> list[Clean]:
    """What is readable of IOMMU, ACS and peer access, a line each.

    Raises:
        WireError: the host was not reached.
    """
    return [host.clean(line) for line in fabric_lines(await host.run(fabric_argv()))]


def fabric_lines(rows: Sequence[str]) -> list[str]:
    """The lines for a person; what could not be read says so."""
    said = {
        word: text.strip() for word, _, text in (r.partition(" ") for r in rows if r[:1] == "@")
    }
    count, _, kinds = said.get("@groups", "").partition(" ")
    on = bool(whole(count))
    state = f"on, {count} groups ({kinds.strip() or 'type not told'})" if on else "off"
    booted = f"; booted with {said['@boot']}" if said.get("@boot") else ""
    told = [f"IOMMU: {state}{booted}"]
    if "@acs" in said:
        active, _, of = said["@acs"].partition(" ")
        meaning = (
            "peer traffic takes the way through the host, or hangs" if active != "0" else "off"
        )
        told.append(f"ACS: active on {active} of {of} bridges: {meaning}")
    else:
        told.append(f"ACS: unknown: {said.get('@noacs', 'the host did not say')}")
    for word, title in (("r", "reads"), ("w", "writes")):
        told += _matrix(rows, word, title)
    return told


def _matrix(rows: Sequence[str], word: str, title: str) -> list[str]:
    start = next((n for n, row in enumerate(rows) if row == f"@peers {word}"), len(rows))
    found = []
    for row in rows[start + 1 :]:
        if row.startswith("@"):
            break
        if row.strip().startswith("GPU"):
            found.append(row.strip())
    if not found:
        return [f"peer {title}: unknown: nvidia-smi topo -p2p {word} says nothing"]
    # The first row is the heading; the rest say OK, or why not, for each pair.
    cells = [cell for row in found[1:] for cell in row.split()[1:] if cell != "X"]
    bad = sorted({cell for cell in cells if cell != "OK"})
    if not bad:
        return [f"peer {title}: OK between all {len(found) - 1} GPUs (no proof against a hang)"]
    return [f"peer {title}: {', '.join(bad)} between some GPUs", *found[:_MATRIX_ROWS]]
