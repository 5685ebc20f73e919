"""A fleet of many names that all lead to one sshd, some of them through a spoilt way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from console.model.fleet import Arm, Fleet, Host, Server, Slot
from console.model.fleet import Wire as Way
from tests.rig.sshd import Sshd


def config_of(sshd: Sshd, ports: Mapping[str, int]) -> Path:
    """An ssh_config with these names, each at its port."""
    kind, blob = sshd.known_hosts.read_text().split()[1:3]
    known = "".join(f"[127.0.0.1]:{port} {kind} {blob}\n" for port in sorted(set(ports.values())))
    sshd.known_hosts.write_text(known)
    blocks = [
        sshd.client_block(name).replace(f"Port {sshd.port}", f"Port {port}")
        for name, port in ports.items()
    ]
    config = sshd.folder / "many"
    config.write_text("".join(blocks))
    return config


def fleet_of(names: Sequence[str], config: Path, url: str, way: Way = Way.ASYNCSSH) -> Fleet:
    """A host, a slot and a server of each name; every server answers at `url`."""
    return Fleet(
        "many",
        tuple(Host(name, way, name, str(config)) for name in names),
        tuple(Slot(name, name) for name in names),
        tuple(Server(name, name, Arm.BASELINE, url) for name in names),
    )
