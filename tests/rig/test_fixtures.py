"""Each fixture hands over a part that answers."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rig.http import ScriptedHttp
from tests.rig.llama import LlamaServer, health
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.terminal import Terminal
from tests.rig.tmux import Tmux


@pytest.mark.rig
def test_sshd_is_running(sshd: Sshd) -> None:
    with socket.create_connection(("127.0.0.1", sshd.port), 2) as s:
        assert s.recv(8) == b"SSH-2.0-"


@pytest.mark.rig
async def test_llama_servers_run_side_by_side(
    llama_server: Callable[..., LlamaServer], tmp_path: Path
) -> None:
    first, second = llama_server(), llama_server(spec=True)
    for server in (first, second):
        await server.ready()
    assert first.port != second.port
    assert {first.log.parent, second.log.parent} == {tmp_path}


def test_scripted_http_answers_through_a_proxy(
    scripted_http: ScriptedHttp, tcp_proxy: Callable[[int], TcpProxy]
) -> None:
    assert health(tcp_proxy(scripted_http.port).port) == 200


def test_terminals_show_what_a_program_writes(
    terminal: Callable[..., Terminal], tmux: Callable[..., Tmux]
) -> None:
    assert terminal(["echo", "one"]).wait_for("one").strip() == "one"
    assert "two" in tmux(["sh", "-c", "echo two; exec sleep 60"]).wait_for("two")
