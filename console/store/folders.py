"""Where things lie: the user's folders on this platform, and the data that comes with the package.

Creates folders private to the user (0700); writes nothing into them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import console

APP = "spec-console"
STATE = "SPEC_CONSOLE_STATE"


def config_folder() -> Path:
    """Settings, fleet file, own themes. Not created."""
    return _folder("SPEC_CONSOLE_CONFIG", "config")


@contextmanager
def state_restored() -> Iterator[None]:
    """Whatever folder is named meanwhile, afterwards the state lies where it did."""
    before = os.environ.get(STATE)
    try:
        yield
    finally:
        os.environ.pop(STATE, None)
        if before is not None:
            os.environ[STATE] = before


def keep_state_in(folder: Path) -> None:
    """From now on the state lies there."""
    os.environ[STATE] = str(folder)


def state_folder() -> Path:
    """Sessions, history, audit. Created private when missing.

    Raises:
        OSError: it cannot be created.
    """
    return private(_folder(STATE, "state"))


def sessions_folder() -> Path:
    """Recorded sessions. Created private when missing.

    Raises:
        OSError: it cannot be created.
    """
    return private(state_folder() / "sessions")


def private(folder: Path) -> Path:
    """Make a folder that only its owner may enter.

    Raises:
        OSError: it cannot be created.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def bundled(name: str) -> Path:
    """`themes` or `sample_sessions`: beside the package in a checkout, inside it in a wheel."""
    package = Path(console.__file__).parent
    inside = package / "_data" / name
    return inside if inside.is_dir() else package.parent / name


def _folder(variable: str, kind: str) -> Path:
    named = os.environ.get(variable)
    if named:
        return Path(named)
    from platformdirs import PlatformDirs

    folders = PlatformDirs(APP, appauthor=False)
    return folders.user_config_path if kind == "config" else folders.user_state_path
