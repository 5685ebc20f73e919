"""Who may import whom, held against the code; and what a fresh interpreter loads for each use."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli

CONSOLE = Path(__file__).parents[2] / "console"
TABLE = tomli.loads((Path(__file__).parent / "imports.toml").read_text())
FILES = sorted(CONSOLE.rglob("*.py"))


def room_of(path: Path) -> str:
    """The first part of a module's path below the package: a folder or a lone file."""
    return path.relative_to(CONSOLE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every module a file imports, and whether at its top level."""
    tree = ast.parse(path.read_text())
    top = {id(node) for node in _top_level(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            assert node.module is not None
            yield node.module, id(node) in top


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        yield node
        if isinstance(node, ast.If):
            # A type-checking block loads nothing: it counts as lazy.
            continue


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONSOLE)))
def test_a_room_imports_only_what_the_table_allows(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    assert room in TABLE["rooms"], f"{room} is no room of the plan"
    allowed = {room, *TABLE["rooms"][room]}
    for module, at_top in imports(path):
        parts = module.split(".")
        if parts[0] == "console" and len(parts) > 1:
            lazily = set() if at_top else set(TABLE["lazily"].get(room, []))
            assert parts[1] in allowed | lazily, f"{path}: {room} may not import {parts[1]}"
        elif parts[0] in TABLE["owners"]:
            owners = TABLE["owners"][parts[0]]
            assert room in owners, f"{path}: {parts[0]} belongs to {owners}"
            if parts[0] == "plotext":
                assert path.name == "charts.py"


def test_there_is_no_circle_between_rooms() -> None:
    rooms: dict[str, list[str]] = TABLE["rooms"]
    done: set[str] = set()

    def visit(room: str, above: tuple[str, ...]) -> None:
        assert room not in above, f"circle: {' -> '.join((*above, room))}"
        if room not in done:
            for below in rooms[room]:
                visit(below, (*above, room))
            done.add(room)

    for room in rooms:
        visit(room, ())
    assert done == set(rooms)


def test_there_is_no_circle_between_modules_at_load_time() -> None:
    names = {".".join(path.relative_to(CONSOLE.parent).with_suffix("").parts) for path in FILES}
    below = {
        ".".join(path.relative_to(CONSOLE.parent).with_suffix("").parts): {
            module for module, at_top in imports(path) if at_top and module in names
        }
        for path in FILES
    }
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, f"circle: {' -> '.join((*above, name))}"
        if name not in done:
            for other in sorted(below[name]):
                visit(other, (*above, name))
            done.add(name)

    for name in sorted(names):
        visit(name, ())
    assert len(done) == len(names)


def test_package_markers_are_empty() -> None:
    for path in CONSOLE.rglob("__init__.py"):
        assert path.read_bytes() == b"", path


def loaded(code: str, *arguments: str) -> set[str]:
    """The modules a fresh interpreter holds after running this code."""
    program = (
        "import sys, json, contextlib, io\n"
        "aside = io.StringIO()\n"
        "with contextlib.redirect_stdout(aside), contextlib.redirect_stderr(aside):\n"
        "    try:\n"
        + "".join(f"        {line}\n" for line in code.splitlines())
        + "    except SystemExit:\n        pass\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.__stdout__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_help_loads_no_front_end_and_no_wire() -> None:
    modules = loaded("from console.cli import main\nmain(['--help'])")
    assert "console.cli" in modules
    assert not modules & {"textual", "rich", "asyncssh", "httpx", "httpcore", "plotext", "tomli"}


def test_a_script_over_a_recording_loads_no_screen_and_no_wire() -> None:
    samples = CONSOLE.parent / "sample_sessions"
    modules = loaded(
        "from console.cli import main\nmain(sys.argv[1:])",
        "--script",
        str(samples / "scripts" / "check.toml"),
        "--replay",
        str(samples / "story.toml"),
    )
    assert "console.control.steps" in modules
    assert not modules & {"textual", "rich", "asyncssh", "httpx", "httpcore", "plotext"}


def test_the_screen_of_a_replay_loads_no_wire() -> None:
    modules = loaded("import console.ui.run, console.control.replay, console.launch")
    assert "textual" in modules
    assert not modules & {"asyncssh", "httpx", "httpcore", "plotext", "prometheus_client"}


def test_the_first_paint_waits_for_nothing_that_draws_no_screen() -> None:
    program = """
import console.ui.run as front
from console import launch
from console.cli import parser
from console.model.exits import Exit, NotStarted
async def painted(*_, **__):
    raise NotStarted(Exit.OK, "")
front.run = painted
assert launch.launch(parser().parse_args(sys.argv[1:])) is Exit.OK
"""
    story = CONSOLE.parent / "sample_sessions" / "story.toml"
    modules = loaded(program, "--replay", str(story))
    assert "console.ui.screens.opening" in modules
    rooms = {name.split(".")[1] for name in modules if name.startswith("console.")}
    assert not rooms - {"model", "store", "plain", "render", "ui", "lab", "cli", "launch"}
    assert not modules & {"asyncssh", "httpx", "httpcore", "plotext", "prometheus_client"}
