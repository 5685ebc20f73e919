"""Fixtures that give a test its real parts, each ended when the test is over.

Loaded as a plugin by the suite's conftest. Every part binds its own loopback port and lives in
the test's own folder, so tests run side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rig.sshd import Sshd


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A running OpenSSH server for root; reach it with `-F sshd.ssh_config` as `sshd.alias`."""
    with Sshd(tmp_path / "sshd") as server:
        yield server
