"""Looking once whether a host and a server have what the console needs, and how to mend it.

Reads only. Texts in a check are not yet cleaned: whoever shows one cleans it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.model.ask import Ask
from console.model.clock import Clock, Pace
from console.model.exits import Exit
from console.model.failure import Failure, WireError
from console.model.fleet import Host, LogSource
from console.services.checking_script import (
    cmdline_argv,
    listening_argv,
    listening_script,
    missing_argv,
    name_argv,
    readable_argv,
)
from console.services.engine import Found, find
from console.transport.http import AnswerError, Http
from console.transport.wire import Wire
from console.transport.wires import wire_to

NEEDED = ("sh", "stat", "tail", "head", "dd", "cat", "wc", "sleep")
"""What following a log takes on a host."""

PYTHON = "python3"
AWK = "awk"

_WHOLE = (Failure.NO_HOST, Failure.NO_LINK)
"""Kinds whose reasons name them."""


@dataclass(frozen=True, slots=True)
class Check:
    """One look.

    Attributes:
        good: None where it is no obstacle but should be known.
        told: what was found, one line.
        mend: what to do, where something is to be mended.
        code: what a program that needs it ends with; OK where it is good.
    """

    name: str
    good: bool | None
    told: str
    mend: str = ""
    code: Exit = Exit.OK


@dataclass(frozen=True, slots=True)
class Process:
    """What listens on a port: its command, its folder, the file its output goes to."""

    pid: int
    argv: tuple[str, ...]
    cwd: str
    log: str


async def reached(wire: Wire, deadline_s: float) -> Check:
    """Whether a command can be run on the host."""
    name = "local" if not wire.host.ssh else f"ssh {wire.host.ssh}"
    try:
        done = await wire.run(name_argv(), deadline_s=deadline_s)
    except WireError as error:
        told = error.why.removeprefix(f"{name}: ")
        told = told if error.kind in _WHOLE else f"{error.kind.value}: {told}"
        return Check(name, False, told, "; ".join(error.detail), Exit.UNREACHABLE)
    if done.code != 0:
        told = f"a command ended with {done.code}: {_text(done.err)}"
        return Check(name, False, told, "the login shell must run sh", Exit.UNREACHABLE)
    return Check(name, True, f"reached {_text(done.out)}")


async def tools(wire: Wire, deadline_s: float) -> list[Check]:
    """Whether the host has the programs that are used there."""
    asked = (*NEEDED, AWK, PYTHON)
    done = await wire.run(missing_argv(asked), deadline_s=deadline_s)
    missing = _text(done.out).split()
    lacking = [tool for tool in NEEDED if tool in missing]
    found = [
        Check("tools", True, "all there to follow logs")
        if not lacking
        else Check("tools", False, f"missing: {', '.join(lacking)}", "install them", Exit.STEP)
    ]
    for tool, use in ((AWK, "circumstances of a benchmark"), (PYTHON, "benchmarks")):
        if tool in missing:
            mend = f"install {tool} on the host for {use}"
            found.append(Check(tool, None, f"not there: no {use}", mend))
        else:
            found.append(Check(tool, True, f"there, for {use}"))
    return found


async def answers(url: str, http: Http, deadline_s: float) -> tuple[Check, Found | None]:
    """What answers at a server's address."""
    try:
        got = await http.get(f"{url.rstrip('/')}/health", deadline_s=deadline_s)
    except AnswerError as error:
        mend = "; ".join(error.detail)
        mend = mend or "is the server up, and is this its port as seen from the host?"
        code = error.kind.exit
        return Check("answers", False, f"{url}: {error.why}", mend, code), None
    found = await find(url, http, deadline_s)
    if found.refused is not None:
        path, code_seen = found.refused
        told = f"{path} answers {code_seen}: it wants a key"
        mend = "name one with api_key_env or api_key_file in the fleet file"
        return Check("answers", None, told, mend), found
    if found.engine is None:
        told = f"/health answers {got.code}; no engine recognised: {found.why}"
        mend = "health and log are watched all the same; engine = … names it"
        return Check("answers", None, told, mend), found
    version = f" {found.version}" if found.version else ""
    model = f", {found.model}" if found.model else ""
    return Check("answers", True, f"{found.engine.value}{version}{model} ({got.code})"), found


async def log_found(wire: Wire, log: LogSource | None, deadline_s: float) -> Check:
    """Whether a server's log can be followed."""
    if log is None:
        return Check("log", None, "none in the fleet file", "name one: log = …, for load progress")
    if not log.path:
        command = log.argv[0]
        done = await wire.run(missing_argv([command]), deadline_s=deadline_s)
        if _text(done.out):
            mend = f"install {command} on the host"
            return Check("log", False, f"{command} is not there", mend, Exit.STEP)
        return Check("log", True, f"printed by {command}")
    done = await wire.run(readable_argv(log.path), deadline_s=deadline_s)
    match _text(done.out):
        case "ok":
            return Check("log", True, log.path)
        case "missing":
            mend = "correct the path, or wait: it is followed as soon as it is there"
            return Check("log", False, f"{log.path} does not exist", mend, Exit.STEP)
        case "unreadable":
            mend = f"let this user read it: chmod o+r {log.path}, or a group of both"
            return Check("log", False, f"{log.path} cannot be read", mend, Exit.STEP)
        case other:
            told = f"{log.path}: {other or _text(done.err) or 'no answer'}"
            return Check("log", False, told, "look at it with ssh", Exit.STEP)


async def listening(wire: Wire, port: int, deadline_s: float) -> Process | None:
    """The process that listens on a port of the host, as far as it can be seen."""
    done = await wire.run(listening_argv(port), stdin=listening_script(), deadline_s=deadline_s)
    word, cwd, log = (*done.out.decode("utf-8", "replace").splitlines(), "", "", "")[:3]
    if not word.isdecimal():
        return None
    pid = int(word)
    told = await wire.run(cmdline_argv(pid), deadline_s=deadline_s)
    argv: Sequence[str] = told.out.decode("utf-8", "replace").rstrip("\0").split("\0")
    return Process(pid, tuple(argv) if told.out else (), cwd, log)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()


class Visit:
    """A host that stands in no fleet yet, looked at over a wire of its own. Close it.

    Raises:
        WireError: CONFIG for a way that does not exist.
    """

    def __init__(self, host: Host, clock: Clock, pace: Pace, ask: Ask) -> None:
        self._wire = wire_to(host, clock, pace, ask)
        self._clock = clock
        self._pace = pace

    async def reached(self) -> Check:
        """Whether a command can be run there."""
        return await reached(self._wire, self._pace.connect_deadline_s)

    async def answers(self, port: int) -> tuple[Check, Found | None]:
        """What answers on a port of the host itself."""
        http = Http(self._wire, self._clock)
        try:
            url = f"http://127.0.0.1:{port}"
            return await answers(url, http, self._pace.health_deadline_s)
        finally:
            await http.close()

    async def listening(self, port: int) -> Process | None:
        """The process behind a port."""
        return await listening(self._wire, port, self._pace.read_deadline_s)

    async def close(self) -> None:
        """Drop the connection."""
        await self._wire.close()
