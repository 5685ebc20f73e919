"""Ceilings: 300 lines a file, 50 a function, 15 methods a class; and words no file may hold."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "console").rglob("*.py"))
MOST_LINES = 300
MOST_FUNCTION_LINES = 50
MOST_METHODS = 15


def is_data(tree: ast.Module) -> bool:
    """A data table: almost all of it is literals assigned at the top, no function to speak of."""
    lines = sum((node.end_lineno or 0) - node.lineno + 1 for node in tree.body)
    logic = sum(
        (node.end_lineno or 0) - node.lineno + 1
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    return logic * 5 < lines


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_functions_and_classes_stay_small(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert is_data(tree) or text.count("\n") <= MOST_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < MOST_FUNCTION_LINES, node.name
        if isinstance(node, ast.ClassDef):
            methods = [
                n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
            assert len(methods) <= MOST_METHODS, node.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_owns_and_postpones_annotations(path: Path) -> None:
    if path.name == "__init__.py" or path.name == "worker.py":
        return
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    assert "from __future__ import annotations" in path.read_text()


def tracked() -> list[Path]:
    """Every file of the project."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_a_registry_or_turns_host_keys_off() -> None:
    hosts = ("py" + "pi.org", "python" + "hosted", "registry." + "npmjs", "deb." + "debian")
    forbidden = re.compile("|".join(map(re.escape, hosts)))
    unchecked = re.compile(r"known_hosts\s*=\s*None")
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        assert not forbidden.search(text), path
        if path.suffix == ".py" and "console" in path.parts:
            assert not unchecked.search(text), path
