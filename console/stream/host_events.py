"""What was seen of hosts: the link, the machine, its GPUs. Records only."""

from __future__ import annotations

from dataclasses import dataclass

from console.model.failure import Failure
from console.model.fleet import Wire
from console.model.text import Clean
from console.stream.fact import NOTHING, Fact, Figures, Link, Pairs


@dataclass(frozen=True, slots=True)
class HostListed(Fact):
    """A host of the fleet file, as it was when the session began."""

    host: Clean
    wire: Wire
    alias: Clean
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class LinkChanged(Fact):
    """The connection to a host changed.

    Attributes:
        detail: further lines for a person: fingerprints, what to do next.
        rtt_us: round trip of the connection's last keepalive or handshake, where known.
    """

    host: Clean
    link: Link
    failure: Failure | None = None
    why: Clean = NOTHING
    detail: tuple[Clean, ...] = ()
    rtt_us: int | None = None


@dataclass(frozen=True, slots=True)
class HostSeen(Fact):
    """What identifies the running machine: a new boot id is a reboot."""

    host: Clean
    boot_id: Clean
    kernel: Clean
    skew_us: int | None = None


@dataclass(frozen=True, slots=True)
class GpuListed(Fact):
    """A GPU of a host and what does not change while it runs."""

    host: Clean
    gpu: int
    name: Clean
    facts: Pairs


@dataclass(frozen=True, slots=True)
class GpuSeen(Fact):
    """One reading of a GPU; what the driver does not tell is absent."""

    host: Clean
    gpu: int
    figures: Figures
    throttle: tuple[Clean, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuHeld(Fact):
    """Who holds memory on a GPU: process ids with name and memory; said when it changes."""

    host: Clean
    gpu: int
    held: Pairs


@dataclass(frozen=True, slots=True)
class GpusJoined(Fact):
    """How the GPUs of a host are joined: pairs such as `0-3` with the tool's own words.

    Attributes:
        links: the way between two GPUs (`NV4`, `PIX`, `SYS`, …).
        peers: whether one can read the other's memory (`OK`, `CNS`, …).
    """

    host: Clean
    links: Pairs
    peers: Pairs = ()


@dataclass(frozen=True, slots=True)
class GpusAbsent(Fact):
    """A host said it has no GPU tool, and why."""

    host: Clean
    why: Clean
