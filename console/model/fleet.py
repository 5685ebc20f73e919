"""The fleet: hosts, slots and servers, as the operator names them.

Only the records and their words; reading and checking the file is store's, reaching anything is
transport's. Names are unique within a fleet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

LogId = NewType("LogId", str)
"""What lines are numbered in: a server's name, or `name/part` for a further log of it."""


class Arm(StrEnum):
    """Which side of the comparison a server is."""

    BASELINE = "baseline"
    SPECULATIVE = "speculative"


class Engine(StrEnum):
    """What a server speaks; AUTO finds out."""

    SGLANG = "sglang"
    VLLM = "vllm"
    LLAMACPP = "llama.cpp"
    TRTLLM = "tensorrt-llm"
    AUTO = "auto"


class Wire(StrEnum):
    """How a host is reached."""

    LOCAL = "local"
    ASYNCSSH = "asyncssh"
    OPENSSH = "openssh"


@dataclass(frozen=True, slots=True)
class Host:
    """A machine or container.

    Attributes:
        ssh: alias in the user's ssh configuration; empty for the machine itself.
        ssh_config: another configuration file, passed as `-F`; empty for the user's own.
        enter: argv put before every command, to get into a container or an allocation.
        read_only: no act is ever permitted here.
    """

    name: str
    wire: Wire = Wire.LOCAL
    ssh: str = ""
    ssh_config: str = ""
    enter: tuple[str, ...] = ()
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Slot:
    """Host, GPUs and port: at most one server is up in it."""

    name: str
    host: str
    gpus: tuple[int, ...] = ()
    port: int = 0


@dataclass(frozen=True, slots=True)
class LogSource:
    """Where a server's log is: a path on its host, or a command that prints it.

    Attributes:
        resume: arguments that make the command begin at a time, put after `argv` when it runs
            again; `{rfc3339}` or `{epoch}` in them is that time. Each line then begins with its
            time, as `docker logs --timestamps` prints it.
    """

    path: str = ""
    argv: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a server is launched."""

    argv: tuple[str, ...]
    cwd: str = ""
    env_file: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """A named launch with an arm.

    Attributes:
        url: as seen from the host, `http://127.0.0.1:8000`.
        api_key_env: name of the environment variable of this console that holds its key.
        api_key_file: file on this machine that holds its key.
        ca_file: file on this machine with the authorities trusted for an https url; empty for
            the system's own.
    """

    name: str
    slot: str
    arm: Arm
    url: str
    engine: Engine = Engine.AUTO
    log: LogSource | None = None
    recipe: Recipe | None = None
    api_key_env: str = ""
    api_key_file: str = ""
    read_only: bool = False
    ca_file: str = ""

    @property
    def log_id(self) -> LogId:
        """The id of its main log."""
        return LogId(self.name)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a host that scripts may run by its name, never by its words.

    Attributes:
        read_only: it changes nothing, so nobody has to permit it.
    """

    name: str
    host: str
    argv: tuple[str, ...]
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Fleet:
    """All that one fleet file names, in its order."""

    name: str
    hosts: tuple[Host, ...] = ()
    slots: tuple[Slot, ...] = ()
    servers: tuple[Server, ...] = ()
    path: str = ""
    commands: tuple[Command, ...] = ()
    _hosts: dict[str, Host] = field(init=False, repr=False, compare=False, default_factory=dict)
    _slots: dict[str, Slot] = field(init=False, repr=False, compare=False, default_factory=dict)
    _servers: dict[str, Server] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._hosts.update((host.name, host) for host in self.hosts)
        self._slots.update((slot.name, slot) for slot in self.slots)
        self._servers.update((server.name, server) for server in self.servers)

    def host(self, name: str) -> Host:
        """The host of that name; KeyError without one."""
        return self._hosts[name]

    def slot(self, name: str) -> Slot:
        """The slot of that name; KeyError without one."""
        return self._slots[name]

    def server(self, name: str) -> Server:
        """The server of that name; KeyError without one."""
        return self._servers[name]

    def command(self, name: str) -> Command | None:
        """The command of that name."""
        return next((one for one in self.commands if one.name == name), None)

    def host_of(self, server: Server) -> Host:
        """The host a server's slot lies on."""
        return self.host(self.slot(server.slot).host)
