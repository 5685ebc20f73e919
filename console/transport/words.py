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
_MARK = 'printf "%s\\n" "$0"; printf "%s\\n" "$0" >&2; '
_PLAIN = _MARK + 'exec "$@"'

# sshd signals nothing of root's, so a command that reads no input is ended when that is let go.
_GUARDED = _MARK + (
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


def remote_line(argv: Sequence[str], mark: str, *, guarded: bool = False) -> bytes:
    """The command line for a login shell: `argv`, after `mark` on a line of either output.

    A guarded command gets no input and is ended when its standard input is closed.
    """
    words = ["/bin/sh", "-c", _GUARDED if guarded else _PLAIN, mark, *argv]
    line = "exec " + " ".join(map(quoted, words))
    return line.encode("utf-8", "surrogateescape")
