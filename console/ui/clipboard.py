"""Copying text out of a terminal that may be three hops away, and saying how.

Tries in turn: the terminal's own clipboard by OSC 52, tmux's buffer, a file. Whether a terminal
took OSC 52 cannot be known: what is said is what was sent.
"""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

MOST_OSC52 = 74_994
"""Base64 characters; terminals cut or drop longer ones (100,000 bytes for the whole sequence)."""
_TMUX_S = 3.0
_ASKED = [
    *["show-options", "-pAqv", "allow-passthrough", ";"],
    *["show-options", "-sqv", "set-clipboard"],
]
_NO_CLIPBOARD = ("linux", "dumb", "vt100", "vt220")


@dataclass(frozen=True, slots=True)
class Copied:
    """How a text was copied.

    Attributes:
        how: says it to a person.
        ok: whether it was copied at all.
        path: the file it is in, as `how` names it.
    """

    how: str
    ok: bool = True
    path: str = ""


def copy(text: str, write: Callable[[str], None], env: Mapping[str, str] | None = None) -> Copied:
    """Copy a text without control characters but line feeds and tabs.

    Args:
        write: sends to the terminal, past whatever draws on it.
        env: the environment; this process's when left out.
    """
    known = os.environ if env is None else env
    encoded = base64.b64encode(text.encode()).decode()
    fits = len(encoded) <= MOST_OSC52
    if "TMUX" in known:
        passing, clipboard = _tmux_options(known)
        if fits and passing in ("on", "all"):
            write(f"\x1bPtmux;\x1b{osc52(encoded)}\x1b\\")
            return Copied("to the terminal's clipboard, through tmux (OSC 52)")
        if fits and clipboard == "on":
            write(osc52(encoded))
            return Copied("to tmux and the terminal's clipboard (OSC 52)")
        if _tmux(known, ["load-buffer", "-w", "-"], text) is not None:
            return Copied("to tmux's buffer (prefix ] pastes) and, where tmux may, the clipboard")
    elif fits and known.get("TERM", "") not in _NO_CLIPBOARD and "STY" not in known:
        write(osc52(encoded))
        return Copied("to the terminal's clipboard (OSC 52)")
    try:
        descriptor, path = create("spec-console-copy")
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(f"{text}\n")
    except OSError as error:
        return Copied(f"nothing copied: {error.strerror or error}", ok=False)
    why = "" if fits else ", too long for the clipboard"
    return Copied(f"to {path}{why}", path=str(path))


def osc52(encoded: str) -> str:
    """The sequence that sets the clipboard, its target named (some terminals need that)."""
    return f"\x1b]52;c;{encoded}\x07"


def create(stem: str) -> tuple[int, Path]:
    """A new file that only its owner may read, never over another: its descriptor and path.

    In the working directory, or where temporary files lie; numbered where the name is taken.

    Raises:
        OSError: nowhere.
    """
    try:
        return _created(Path.cwd(), stem)
    except OSError:
        return _created(Path(gettempdir()), stem)


def _created(folder: Path, stem: str) -> tuple[int, Path]:
    for number in range(1, 1000):
        path = folder / (f"{stem}.log" if number == 1 else f"{stem}-{number}.log")
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), path
        except FileExistsError:
            continue
    raise FileExistsError(f"{folder / stem}.log and 999 more are there already")


def _tmux_options(env: Mapping[str, str]) -> tuple[str, str]:
    told = _tmux(env, _ASKED)
    words = (told or "").split("\n")
    return words[0].strip() if words else "", words[1].strip() if len(words) > 1 else ""


def _tmux(env: Mapping[str, str], words: list[str], text: str = "") -> str | None:
    """What tmux answers; None when it cannot be asked or refuses."""
    try:
        done = subprocess.run(
            ["tmux", *words],
            input=text.encode(),
            env=dict(env),
            capture_output=True,
            timeout=_TMUX_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None
