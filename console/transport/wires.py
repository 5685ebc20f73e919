"""Which wire leads to which host.

The one place that chooses; each is loaded only where a host needs it.
"""

from __future__ import annotations

from typing import assert_never

from console.model import fleet
from console.model.ask import Ask
from console.model.clock import Clock, Pace
from console.transport.local import LocalWire
from console.transport.wire import Wire


def wire_to(host: fleet.Host, clock: Clock, pace: Pace, ask: Ask) -> Wire:
    """A wire to the host; connects when first used."""
    match host.wire:
        case fleet.Wire.LOCAL:
            return LocalWire(host)
        case fleet.Wire.ASYNCSSH:
            from console.transport.ssh import SshWire

            return SshWire(host, clock, pace, ask)
        case fleet.Wire.OPENSSH:
            from console.transport.openssh import OpensshWire

            return OpensshWire(host, clock, pace, ask)
        case _:
            assert_never(host.wire)
