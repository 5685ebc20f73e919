"""Each fixture hands over a part that answers."""

from __future__ import annotations

import socket

import pytest

from tests.rig.sshd import Sshd


@pytest.mark.rig
def test_sshd_is_running(sshd: Sshd) -> None:
    with socket.create_connection(("127.0.0.1", sshd.port), 2) as s:
        assert s.recv(8) == b"SSH-2.0-"
