"""The real library from its wheel: downloaded by pip, only the library taken out of it.

Owns where wheels are kept: in the folder that NCCL_WHEELS names, else where the caller says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import IO

PACKAGE = "nvidia-nccl-cu12"
_MEMBER = "nvidia/nccl/lib/libnccl.so.2"
_GLIBC = (17, 18, 24, 27, 28, 34)
_PATIENCE_S = 900


class Unfetched(Exception):
    """The wheel did not come; the text is the last line that pip wrote."""


def fetch(version: str, folder: Path) -> Path:
    """The wheel of `version` (empty: the newest), from the folder of wheels if it lies there.

    Raises:
        Unfetched: pip could not get it.
    """
    kept = Path(os.environ.get("NCCL_WHEELS") or folder)
    kept.mkdir(parents=True, exist_ok=True)
    pattern = f"{PACKAGE.replace('-', '_')}-{version}-*.whl"
    if version and (found := sorted(kept.glob(pattern))):
        return found[0]
    before = {*kept.glob("*.whl")}
    wanted = f"{PACKAGE}=={version}" if version else PACKAGE
    platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in _GLIBC]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary=:all:", "--disable-pip-version-check", *platforms]
    done = subprocess.run(
        [*command, "--platform=manylinux2014_x86_64", f"--dest={kept}", wanted],
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_S,
    )
    wheels = {*kept.glob("*.whl")}
    if done.returncode != 0 or not wheels:
        told = done.stderr.strip().splitlines() or ["no word from pip"]
        raise Unfetched(f"{wanted}: {told[-1]}")
    new = wheels - before
    return max(new or wheels, key=lambda wheel: _order(version_of(wheel)))


def version_of(wheel: Path) -> str:
    """The version in a wheel's name."""
    return wheel.name.split("-")[1]


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _pour(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as out:
        shutil.copyfileobj(source, out, 1 << 22)


def library_in(wheel: Path, folder: Path) -> Path:
    """The library of a wheel, unpacked into `folder`."""
    target = folder / f"libnccl-{version_of(wheel)}.so"
    if not target.exists():
        part = target.with_suffix(".part")
        with zipfile.ZipFile(wheel) as archive, archive.open(_MEMBER) as source:
            _pour(source, part)
        part.replace(target)
    return target
