"""Looking for files that set NCCL's variables below a folder of a host: read-only and bounded.

Owns how deep, how large, how many and how long. Names files by one command on the host, then reads
each through the wire; runs nothing that stands in them.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from console.model.failure import Failure, WireError
from console.nccl.importing.found import Imported
from console.nccl.importing.read import import_source
from console.services.tail_script import print_argv
from console.transport.wire import Use, Wire

_LEFT_OUT = (".git", "node_modules", "__pycache__", ".venv", "proc", "sys")
_COMPLAINT = re.compile(r"(?:[\w./-]*/)?(?:find|grep): ")
_MOST_NAME = 65_536
"""No path is longer; what is would be kept for ever."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of a search: folders deep, bytes of a file, files, seconds."""

    deep: int = 6
    most_bytes: int = 2 * 1024 * 1024
    most_files: int = 100
    seconds: float = 15.0


@dataclass(slots=True)
class Files:
    """What was found: each file as importing reads it, and what could not be looked at."""

    imported: list[Imported] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


async def find_settings(wire: Wire, folder: str, bounds: Bounds, form: str = "") -> Files:
    """Files below `folder` that set variables, in the order of their paths; or that file itself.

    `form` is what they are read as; each by its name and text when empty.

    Raises:
        ValueError: nothing is read as `form`.
        WireError: the host was not reached, or there is no such folder.
    """
    names, found = await _names(wire, folder, bounds)
    gate = asyncio.Semaphore(2)

    async def read(path: str) -> Imported | str:
        async with gate:
            try:
                done = await wire.run(
                    head_argv(path, bounds.most_bytes),
                    deadline_s=bounds.seconds,
                    most_bytes=2 * bounds.most_bytes,
                )
            except WireError as error:
                return f"{path}: {error.why}"
        if done.code:
            return f"{path}: {done.err.decode('utf-8', 'replace').strip() or 'cannot be read'}"
        return import_source(done.out, path, form)

    for answer in await asyncio.gather(*(read(path) for path in sorted(names))):
        if isinstance(answer, str):
            found.troubles.append(answer)
        elif answer.found:
            found.imported.append(answer)
    return found


def find_argv(folder: str, bounds: Bounds) -> tuple[str, ...]:
    """The command that prints the paths of regular files in which a name of NCCL's stands."""
    left_out = [word for name in _LEFT_OUT for word in ("-o", "-name", name)][1:]
    return (
        # A host takes over the language of the person's machine; what find complains is read.
        *("env", "LC_ALL=C", "find", folder, "-xdev", "-maxdepth", str(bounds.deep)),
        *("-type", "d", "(", *left_out, ")", "-prune", "-o"),
        *("-type", "f", "-size", f"-{bounds.most_bytes // 1024}k"),
        *("-exec", "grep", "-l", "NCCL_[A-Z]", "{}", "+"),
    )


def head_argv(path: str, most_bytes: int) -> list[str]:
    """The command that prints the beginning of a file."""
    return ["head", "-c", str(most_bytes), "--", path]


async def _names(wire: Wire, folder: str, bounds: Bounds) -> tuple[list[str], Files]:
    """Paths as far as the bounds allow, and what was left out."""
    found, closed, rest = Files(), 0, b""
    names: list[str] = []
    # As BusyBox and as GNU quote it.
    nowhere = (f"find: {folder}: No", "find: '" + folder.replace("'", "\\'") + "': No")
    stream = await wire.open(print_argv(find_argv(folder, bounds)), use=Use.READ)
    try:
        async with asyncio.timeout(bounds.seconds):
            while len(names) < bounds.most_files and (data := await stream.read()):
                *lines, rest = (rest + data).split(b"\n")
                rest = rest[-_MOST_NAME:]
                for line in lines:
                    text = line.decode("utf-8", "surrogateescape")
                    if not _COMPLAINT.match(text):
                        names.append(text)
                    elif text.startswith(nowhere):
                        raise WireError(Failure.MISSING, text.partition(": ")[2])
                    else:
                        closed += 1
    except TimeoutError:
        found.troubles.append(f"the search ended after {bounds.seconds:g} s: not all was seen")
    finally:
        await stream.close()
    if closed:
        found.troubles.append(f"{closed} files or folders could not be read")
    if len(names) >= bounds.most_files:
        found.troubles.append(f"only the first {bounds.most_files} files were read")
    return names[: bounds.most_files], found
