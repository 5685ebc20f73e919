"""The wire to a host through asyncssh: SSH without a program of the system.

Loaded only where a host is reached this way.
"""

from __future__ import annotations

from console.model.ask import Ask
from console.model.clock import Clock, Pace
from console.model.fleet import Host
from console.transport.remote import RemoteWire
from console.transport.ssh_dial import SshDialler


class SshWire(RemoteWire):
    """One host over SSH; connects when first used and reconnects until closed."""

    def __init__(self, host: Host, clock: Clock, pace: Pace, ask: Ask) -> None:
        super().__init__(host, SshDialler(host, clock, pace, ask), clock, pace)
