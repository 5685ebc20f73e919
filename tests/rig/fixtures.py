"""Fixtures that give a test its real parts, each ended when the test is over.

Loaded as a plugin by the suite's conftest. Every part binds its own loopback port and lives in
the test's own folder, so tests run side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.rig import llama
from tests.rig.http import ScriptedHttp
from tests.rig.llama import LlamaServer
from tests.rig.ports import free_port
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.terminal import Terminal
from tests.rig.tmux import Tmux


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A running OpenSSH server for root; reach it with `-F sshd.ssh_config` as `sshd.alias`."""
    with Sshd(tmp_path / "sshd") as server:
        yield server


@pytest.fixture(scope="session")
def rig_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this test run that all its workers share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def llama_folder(rig_root: Path) -> Path:
    """target.gguf and draft.gguf: loads in under 0.1 s, speculates well."""
    return llama.made_once(rig_root, llama.TINY)


@pytest.fixture(scope="session")
def llama_slow_folder(rig_root: Path) -> Path:
    """The same with a load long enough to be watched: /health is 503 for some 0.4 s."""
    return llama.made_once(rig_root, llama.SLOW_TO_LOAD)


@pytest.fixture
def llama_server(llama_folder: Path, tmp_path: Path) -> Iterator[Callable[..., LlamaServer]]:
    """Start servers: `llama_server(spec=False, folder=None, port=None)`; all end with the test."""
    with ExitStack() as running:

        def start(
            *, spec: bool = False, folder: Path | None = None, port: int | None = None
        ) -> LlamaServer:
            port = port or free_port()
            log = tmp_path / f"llama-{port}.log"
            server = LlamaServer(folder or llama_folder, log, spec=spec, port=port)
            return running.enter_context(server)

        yield start


@pytest.fixture
def scripted_http() -> Iterator[ScriptedHttp]:
    """An HTTP server whose answers the test sets; answers 200 until then."""
    with ScriptedHttp() as server:
        yield server


@pytest.fixture
def tcp_proxy() -> Iterator[Callable[[int], TcpProxy]]:
    """Put a proxy before a port: `tcp_proxy(target_port)`; all end with the test."""
    with ExitStack() as running:
        yield lambda target_port: running.enter_context(TcpProxy(target_port))


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Run programs on pseudo-terminals, with Terminal's arguments; all end with the test."""
    with ExitStack() as running:
        yield lambda *given, **named: running.enter_context(Terminal(*given, **named))


@pytest.fixture
def tmux() -> Iterator[Callable[..., Tmux]]:
    """Run programs in tmux, with Tmux's arguments; all end with the test."""
    with ExitStack() as running:
        yield lambda *given, **named: running.enter_context(Tmux(*given, **named))
