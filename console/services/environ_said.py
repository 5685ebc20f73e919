"""What the host said about a server's processes: the printed records as plain values.

Pure. Reads what `environ_script` writes and nothing else; judges no variable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from console.model.number import whole

_NEWLINE = b"\x01"
_MOST_TICKS = 10**12
"""More than any machine has been up; and a date stays one."""

_MOST_ROW = 10**6


class CutShort(ValueError):
    """The output does not reach its end, or a record is not as it was asked for."""


@dataclass(slots=True)
class Process:
    """One process. `block` is its environ with other names' entries as `_=`; None where `shut`
    says why it was not read."""

    kind: str
    pid: int
    start_ticks: int
    uid: int | None
    title: str = ""
    library: str = ""
    block: bytes | None = None
    shut: str = ""


@dataclass(slots=True)
class File:
    """A file: `state` is open, none or shut; `rows` are (line number, text) with allowed names."""

    kind: str
    state: str
    why: str = ""
    label: str = ""
    rows: list[tuple[int, str]] = field(default_factory=list)

    def text(self) -> str:
        """The rows at their lines, the lines between empty."""
        lines: list[str] = []
        for number, row in self.rows:
            lines += [""] * (number - 1 - len(lines))
            lines.append(row)
        return "\n".join(lines)


@dataclass(slots=True)
class Said:
    """One reading. `holder` is "" (a process was found), "nobody", "unseen" with `holder_uid`, or
    "other"; `holders` are all processes that have the listening socket, `options` the names of
    the launcher's arguments."""

    boot_id: str = ""
    kernel: str = ""
    now: datetime | None = None
    booted: datetime | None = None
    hertz: int = 100
    holder: str = ""
    holder_uid: str = ""
    holders: tuple[int, ...] = ()
    options: tuple[str, ...] = ()
    container: str = ""
    container_ticks: int = 0
    processes: list[Process] = field(default_factory=list)
    files: list[File] = field(default_factory=list)

    def moment(self, ticks: int) -> datetime | None:
        """When a process started, UTC; None where the host tells no boot time."""
        if self.booted is None or not 0 < ticks < _MOST_TICKS:
            return None
        return self.booted + timedelta(seconds=ticks / self.hertz)

    @property
    def launcher(self) -> Process | None:
        """The process that holds the port."""
        return next((one for one in self.processes if one.kind == "launcher"), None)

    def unfound(self, port: int) -> str:
        """Why no process of the server is known."""
        if self.holder == "nobody":
            return f"nothing listens on port {port}"
        if self.holder == "forwarded":
            return f"port {port} is forwarded into a container: its host needs `enter` to get there"
        if self.holder == "other":
            return f"not loaded: port {port} is held by the other arm, by its arguments"
        whose = f"a process of uid {self.holder_uid}" if self.holder_uid else "another process"
        return f"port {port} is held by {whose}, whose descriptors this user may not read"


def read_said(out: bytes) -> Said:
    """The records of one run.

    Raises:
        CutShort: it ended before its end.
    """
    said, rows = Said(), out.split(b"\n")
    taken: list[bytes] = []
    ended = False
    for row in rows:
        if row.startswith(b" "):
            taken.append(row[1:])
            continue
        if not row.startswith(b"@"):
            continue
        _close(said, taken)
        taken = []
        words = row.decode("utf-8", "replace").split(" ")
        if words[0] == "@end":
            ended = True
            break
        try:
            _record(said, words)
        except (IndexError, ValueError, OverflowError, OSError) as error:
            raise CutShort(f"a record that was not expected: {' '.join(words)[:80]}") from error
    if not ended:
        raise CutShort("the answer of the host ends too early")
    return said


def _close(said: Said, rows: list[bytes]) -> None:
    """Give the lines below a record to it."""
    if said.files and not said.files[-1].label and rows:
        file = said.files[-1]
        file.label = rows[0].decode("utf-8", "replace")
        for row in rows[1:]:
            number, _, text = row.decode("utf-8", "surrogateescape").partition(":")
            row_number = whole(number)
            if row_number is not None and row_number <= _MOST_ROW:
                file.rows.append((row_number, text))
    elif said.processes and said.processes[-1].block == b"" and rows:
        block = b"".join(row + b"\0" for row in rows)
        said.processes[-1].block = block.replace(_NEWLINE, b"\n")


def _record(said: Said, words: list[str]) -> None:
    rest = " ".join(words[2:])
    match words[0]:
        case "@host":
            _host(said, words)
        case "@nobody" | "@unseen":
            said.holder = words[0][1:]
            said.holder_uid = words[1] if len(words) > 1 else ""
        case "@options":
            said.options = tuple(filter(None, words[1:]))
        case "@holders":
            found = map(whole, words[1:])
            said.holders = tuple(pid for pid in found if pid is not None)
        case "@process":
            number = whole(words[4]) if len(words) > 4 else None
            said.processes.append(Process(words[1], int(words[2]), int(words[3]), number))
        case "@title":
            said.processes[-1].title = " ".join(words[1:])
        case "@library":
            said.processes[-1].library = said.processes[-1].library or " ".join(words[1:])
        case "@environ":
            said.processes[-1].block = b""
        case "@shut":
            said.processes[-1].shut = " ".join(words[1:])
        case "@container":
            said.container, said.container_ticks = words[1], int(words[2])
        case "@file":
            said.files.append(File(words[1], words[2], " ".join(words[3:])))
        case _:
            raise ValueError(rest)


def _host(said: Said, words: list[str]) -> None:
    said.boot_id, said.kernel = words[1], " ".join(words[5:]).strip()
    seconds = re.match(r"\d+(\.\d+)?", words[2])
    if seconds is not None:
        said.now = datetime.fromtimestamp(float(seconds[0]), UTC)
    said.booted = datetime.fromtimestamp(int(words[3]), UTC) if words[3].isdecimal() else None
    said.hertz = max(1, whole(words[4]) or 100)
