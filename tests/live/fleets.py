"""Fleet files and scripts over real parts, and running the console on them as a person would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.rig.sshd import Sshd

ROOT = Path(__file__).parents[2]


def fleet_file(folder: Path, url: str, log: Path | None, sshd: Sshd | None = None) -> Path:
    """One server, on this machine or behind an sshd."""
    host = (
        "local = true"
        if sshd is None
        else f'ssh = "{sshd.alias}"\nssh_config = "{sshd.ssh_config}"'
    )
    path = folder / "fleet.toml"
    path.write_text(
        f'schema = "fleet/1"\n[[host]]\nname = "box"\n{host}\n'
        '[[slot]]\nname = "box:1"\nhost = "box"\nport = 8000\n'
        '[[server]]\nname = "tiny"\nslot = "box:1"\narm = "baseline"\nengine = "llama.cpp"\n'
        f'url = "{url}"\n' + (f'log = "{log}"\n' if log is not None else "")
    )
    return path


def script_file(folder: Path, *steps: str) -> Path:
    """A script of these steps on that server."""
    path = folder / "script.toml"
    head = 'schema = "script/1"\nname = "s"\ntargets = ["tiny"]\n'
    path.write_text(head + "".join(f"[[step]]\n{step}\n" for step in steps))
    return path


def environment(folder: Path) -> dict[str, str]:
    """The environment of a console that keeps its state in this folder."""
    return {**os.environ, "SPEC_CONSOLE_STATE": str(folder / "state")}


def console(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A whole run of the console."""
    return subprocess.run(
        [sys.executable, "-m", "console", *arguments],
        cwd=ROOT, env=environment(folder), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
