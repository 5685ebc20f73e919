"""Subcommands run in this process, as the command line would run them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from console.cli import main

ROOT = Path(__file__).parents[2]
STORY = ROOT / "sample_sessions" / "story.toml"
GOLDEN = Path(__file__).parent / "golden"


class Done(NamedTuple):
    """How it ended."""

    code: int
    out: str
    err: str


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Done:
    """Run it; no control byte may come out, whatever it was given."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, err = capsys.readouterr()
    assert not [char for char in out + err if ord(char) < 32 and char not in "\n\t"]
    assert "Traceback" not in err
    return Done(code, out, err)


def golden(name: str, text: str) -> None:
    """Compare with a committed file; UPDATE_GOLDEN=1 writes it anew."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()
