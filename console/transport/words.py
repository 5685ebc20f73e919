"""Command lines for a shell nobody knows: words that every login shell passes on unchanged.

Owns the quoting that bash, dash, zsh, fish and tcsh agree on and the form of a remote command.
It never runs anything and never lets a newline through: csh cannot quote one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.model.failure import Failure, WireError

_PIECES = re.compile(r"[^'\\!]+|['\\!]")

# The mark parts what the command writes from what start-up files of the login shell wrote.
_MARKED = 'printf "%s\\n" "$0"; printf "%s\\n" "$0" >&2; exec "$@"'

# sshd signals nothing of root's and `docker exec` passes no signal on, so a command that reads no
# input is ended, where it runs, when that is let go.
_GUARDED = (
    'exec 4<&0; "$@" </dev/null 4<&- & p=$!; '
    "{ cat <&4; kill $p; } >/dev/null 2>&1 & w=$!; "
    "exec 4<&-; wait $p; c=$?; kill $w; exit $c"
)


def quoted(word: str) -> str:
    """One word for any of those shells.

    Raises:
        WireError: the word holds a newline or NUL, which not all of them can pass.
    """
    if "\n" in word or "\0" in word:
        raise WireError(Failure.REMOTE, "an argument with a newline or NUL cannot be passed on")
    if not word:
        return "''"
    pieces = _PIECES.findall(word)
    return "".join(f"\\{piece}" if piece in "'\\!" else f"'{piece}'" for piece in pieces)


def guarded(argv: Sequence[str]) -> list[str]:
    """`argv` without input, ended when the standard input of this is closed."""
    return ["/bin/sh", "-c", _GUARDED, "sh", *argv]


def remote_line(argv: Sequence[str], mark: str) -> bytes:
    """The command line for a login shell: `argv`, after `mark` on a line of either output."""
    words = ["/bin/sh", "-c", _MARKED, mark, *argv]
    line = "exec " + " ".join(map(quoted, words))
    return line.encode("utf-8", "surrogateescape")
