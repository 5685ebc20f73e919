"""The way to a host over others and through programs: every host key on it is checked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.transport.wire import Wire
from console.transport.wires import wire_to
from tests.rig.sshd import Sshd

pytestmark = pytest.mark.rig

PACE = replace(Pace().scaled(20), connect_deadline_s=20.0)


@asynccontextmanager
async def wired(way: Way, config: Path, alias: str) -> AsyncIterator[Wire]:
    wire = wire_to(Host("box", way, alias, str(config)), SystemClock(), PACE, Nobody())
    try:
        yield wire
    finally:
        await wire.close()


async def lands_on(wire: Wire, sshd: Sshd) -> bool:
    done = await wire.run(["sh", "-c", "echo $SSH_CONNECTION"], deadline_s=20)
    return done.out.split()[3] == str(sshd.port).encode()


async def refusal(wire: Wire) -> WireError:
    with pytest.raises(WireError) as caught:
        await wire.run(["true"], deadline_s=20)
    return caught.value


async def test_a_proxy_command_carries_the_connection(sshd: Sshd, tmp_path: Path, way: Way) -> None:
    config, used, proxy = tmp_path / "config", tmp_path / "used", tmp_path / "proxy"
    proxy.write_text(f'#!/bin/sh\ntouch {used}\nexec busybox nc "$1" "$2"\n')
    proxy.chmod(0o755)
    config.write_text(sshd.client_block("rig", f"ProxyCommand {proxy} %h %p"))
    async with wired(way, config, "rig") as wire:
        assert await lands_on(wire, sshd)
    assert used.exists()
    # The program decides whom it reaches, so what answers is checked all the same.
    sshd.new_host_key()
    async with wired(way, config, "rig") as wire:
        error = await refusal(wire)
        assert error.kind is Failure.KEY_CHANGED
        assert sshd.fingerprint in error.detail[1]


@contextmanager
def two_more(folder: Path) -> Iterator[tuple[Sshd, Sshd]]:
    """A host in the middle and one behind it."""
    with Sshd(folder / "mid", alias="mid") as mid, Sshd(folder / "far", alias="far") as far:
        yield mid, far


def bare(sshd: Sshd, alias: str, *options: str) -> str:
    """A block that says neither user nor port."""
    block = sshd.client_block(alias, *options).replace("    User root\n", "")
    return block.replace(f"    Port {sshd.port}\n", "")


@pytest.mark.parametrize("form", ["listed", "nested"])
async def test_a_chain_of_jumps_is_checked_hop_by_hop(
    sshd: Sshd, tmp_path: Path, way: Way, form: str
) -> None:
    config = tmp_path / "config"
    with two_more(tmp_path) as (mid, far):
        if form == "listed":
            middle, jump = bare(mid, "mid"), f"ProxyJump rig,root@mid:{mid.port}"
        else:
            middle, jump = bare(mid, "mid", "ProxyJump rig"), f"ProxyJump ssh://root@mid:{mid.port}"
        blocks = (sshd.client_block("rig"), middle, far.client_block("far", jump))
        config.write_text("".join(blocks))
        async with wired(way, config, "far") as wire:
            assert await lands_on(wire, far)
        for hop in (sshd, mid, far):
            hop.forget_host()
            async with wired(way, config, "far") as wire:
                error = await refusal(wire)
                assert error.kind is Failure.KEY_UNKNOWN
                assert hop.fingerprint in error.detail[0]
            hop.trust_host()
        mid.new_host_key()
        async with wired(way, config, "far") as wire:
            error = await refusal(wire)
            named = f"the host key of [127.0.0.1]:{mid.port} is not the known one"
            assert (error.kind, error.why) == (Failure.KEY_CHANGED, named)
            assert mid.fingerprint in error.detail[1]
