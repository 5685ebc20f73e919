"""Every promise about SSH is held by both ways of speaking it; what any wire promises, by all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.transport.wire import Wire
from console.transport.wires import wire_to
from tests.rig.sshd import Sshd

PACE = replace(Pace(), connect_deadline_s=20.0)


@pytest.fixture(params=[Way.ASYNCSSH, Way.OPENSSH])
def way(request: pytest.FixtureRequest) -> Way:
    """The way of SSH a test goes; each test that asks for it runs once for each."""
    found: Way = request.param
    return found


@pytest.fixture(params=[Way.LOCAL, Way.ASYNCSSH, Way.OPENSSH])
async def any_wire(request: pytest.FixtureRequest) -> AsyncIterator[Wire]:
    """This machine, here and behind a real sshd in both ways; the link is up."""
    host = Host("here")
    if request.param is not Way.LOCAL:
        sshd: Sshd = request.getfixturevalue("sshd")
        host = Host("box", request.param, sshd.alias, str(sshd.ssh_config))
    wire = wire_to(host, SystemClock(), PACE, Nobody())
    try:
        await wire.up()
        yield wire
    finally:
        await wire.close()
