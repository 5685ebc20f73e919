"""Every command does its work on every kind of host: six login shells with noisy start-up files,
GNU's tools or BusyBox's, and inside a container; and none is left out of here."""

from __future__ import annotations

import ast
import asyncio
import importlib
import pkgutil
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import console.bench
import console.services
from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.failure import WireError
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.transport.wire import Wire
from console.transport.wires import wire_to
from tests.services.host_boxes import (
    SHELLS,
    TOOLS,
    Place,
    gpu_tool,
    shell_host,
    small_server,
)
from tests.services.templates import CASES, ODD, TEXT
from tests.transport.container import WAYS_IN, container

ROOT = Path(console.services.__file__).parents[1]
PACE = replace(Pace(), connect_deadline_s=20.0)
SIDE_BY_SIDE = 2


def templates() -> set[str]:
    """Every function that makes a command for a host."""
    found = set()
    for package in (console.services, console.bench):
        for module in pkgutil.iter_modules(package.__path__):
            for name, one in vars(
                importlib.import_module(f"{package.__name__}.{module.name}")
            ).items():
                if name.endswith("_argv") and not name.startswith("_") and callable(one):
                    found.add(f"{one.__module__.rpartition('.')[2]}.{name}")
    return found


def test_every_template_has_its_case() -> None:
    assert templates() == set(CASES)


def literal_commands() -> Iterator[str]:
    """Places where a command is written out instead of made by a template."""
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        if path.parent.name in ("transport", "lab") or "wire." not in text:
            continue
        for function in ast.walk(ast.parse(text)):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            bound = {
                target.id: node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for call in ast.walk(function):
                match call:
                    case ast.Call(
                        func=ast.Attribute(value=on, attr="run" | "open"), args=[argv, *_]
                    ):
                        if "wire" not in ast.unparse(on):
                            continue
                        made = bound.get(argv.id, argv) if isinstance(argv, ast.Name) else argv
                        if isinstance(made, ast.List | ast.Tuple):
                            yield f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(made)}"


def test_no_command_is_written_out_where_it_is_sent() -> None:
    assert list(literal_commands()) == []


async def failures(wire: Wire, place: Place) -> dict[str, str]:
    """What did not do its work on this host."""
    (place.here / ODD).write_text(TEXT)
    gate = asyncio.Semaphore(SIDE_BY_SIDE)

    async def failure(name: str) -> str:
        async with gate:
            try:
                await CASES[name](wire, place)
            except (AssertionError, WireError, TimeoutError, ValueError, LookupError) as error:
                place_of = traceback.extract_tb(error.__traceback__)[-1]
                return f"line {place_of.lineno}: {place_of.line}: {error!r}"
        return ""

    names = list({CASES[name]: name for name in CASES}.values())
    told = await asyncio.gather(*map(failure, names))
    return {name: why for name, why in zip(names, told, strict=True) if why}


@pytest.mark.rig
@pytest.mark.parametrize("tools", TOOLS)
@pytest.mark.parametrize("shell", SHELLS)
async def test_every_template_works_with_a_login_shell(
    tmp_path: Path, shell: str, tools: str
) -> None:
    place_at = tmp_path / "place"
    place_at.mkdir()
    with shell_host(tmp_path / "host", shell, tools) as sshd, small_server() as port:
        host = Host("box", Way.ASYNCSSH, sshd.alias, str(sshd.ssh_config))
        wire = wire_to(host, SystemClock(), PACE, Nobody())
        try:
            place = Place(place_at, str(place_at), port, python=tools == "gnu")
            assert await failures(wire, place) == {}
        finally:
            await wire.close()


ENTERED = {
    "docker": (Way.LOCAL, "bash"),
    "kubectl": (Way.ASYNCSSH, "fish"),
    "srun": (Way.OPENSSH, "tcsh"),
}


@pytest.mark.rig
@pytest.mark.parametrize("program", WAYS_IN)
async def test_every_template_enters_a_container(tmp_path: Path, program: str) -> None:
    (tmp_path / "container").mkdir()
    way, shell = ENTERED[program]
    with (
        container(tmp_path / "container") as inside,
        shell_host(tmp_path / "host", shell, "gnu") as sshd,
        small_server(inside.enter) as port,
    ):
        gpu_tool(inside.root / "bin")
        enter = inside.ways_in[program]
        host = Host("box", way, sshd.alias, str(sshd.ssh_config), enter)
        wire = wire_to(host, SystemClock(), PACE, Nobody())
        try:
            place = Place(inside.root / "tmp", "/tmp", port, python=False)
            assert await failures(wire, place) == {}
        finally:
            await wire.close()
