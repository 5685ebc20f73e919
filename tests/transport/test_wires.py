"""SSH is loaded only where a host is reached that way."""

from __future__ import annotations

import subprocess
import sys

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Host, Wire
from console.transport.local import LocalWire
from console.transport.openssh import OpensshWire
from console.transport.ssh import SshWire
from console.transport.wires import wire_to

LOADED = "import sys; import {module}; print([m for m in {names} if m in sys.modules])"


@pytest.mark.parametrize("module", ["console.transport.wires", "console.services.live"])
def test_nothing_loads_ssh_before_a_host_needs_it(module: str) -> None:
    code = LOADED.format(module=module, names=["asyncssh", "cryptography"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_each_way_has_its_wire() -> None:
    def wire(way: Wire) -> object:
        return wire_to(Host("h", way, ssh="h"), SystemClock(), Pace(), Nobody())

    assert isinstance(wire(Wire.LOCAL), LocalWire)
    assert isinstance(wire(Wire.ASYNCSSH), SshWire)
    assert isinstance(wire(Wire.OPENSSH), OpensshWire)
