"""Every login shell passes every byte of every argument on."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from console.model.failure import Failure, WireError
from console.transport.sockets import refused_by_host
from console.transport.words import quoted, remote_line

SHELLS = {
    "bash": ["bash", "-c"],
    "dash": ["dash", "-c"],
    "zsh": ["zsh", "-c"],
    "fish": ["fish", "-c"],
    "tcsh": ["tcsh", "-c"],
    "busybox": ["busybox", "sh", "-c"],
}
HOSTILE = [
    "",
    " ",
    "plain",
    "-n",
    "--",
    "two words",
    "'",
    "''",
    '"',
    "`id`",
    "$(id)",
    "$HOME",
    "${HOME}",
    "!",
    "!!",
    "!$",
    "a!b",
    "\\",
    "\\\\",
    "\\n",
    "\\'",
    "'\\''",
    "~",
    "~root",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "a{}b",
    "#",
    "%",
    "%s",
    "^",
    "^a^b",
    "=ls",
    "&",
    "|",
    ";",
    "<",
    ">",
    "(",
    ")",
    "@",
    "\t",
    "a\tb",
    "é",
    "\u202e",
    "日本",
    "x" * 5000,
    "".join(chr(code) for code in range(1, 127) if chr(code) not in "\n"),
]


@pytest.mark.rig
@pytest.mark.parametrize("shell", SHELLS)
def test_hostile_arguments_pass_unchanged(shell: str) -> None:
    argv = SHELLS[shell]
    assert shutil.which(argv[0]), f"{argv[0]} is missing: apt-get install {argv[0]}"
    line = remote_line(["printf", "%s\\0", *HOSTILE], "MARK")
    done = subprocess.run([*argv, line], capture_output=True, timeout=20, check=False)
    mark, _, out = done.stdout.partition(b"\n")
    assert mark == b"MARK"
    assert out.decode().split("\0")[:-1] == HOSTILE
    assert done.stderr == b"MARK\n"


@pytest.mark.parametrize("word", ["a\nb", "\0"])
def test_what_not_every_shell_can_pass_is_refused(word: str) -> None:
    with pytest.raises(WireError) as caught:
        quoted(word)
    assert caught.value.kind is Failure.REMOTE


def test_a_file_name_that_is_no_text_keeps_its_bytes() -> None:
    name = b"log-\xff".decode("utf-8", "surrogateescape")
    assert b"'log-\xff'" in remote_line(["cat", name], "MARK")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("Connection refused", Failure.REFUSED),
        ("[Errno 111] Connect call failed ('127.0.0.1', 8000)", Failure.REFUSED),
        ("Connection timed out", Failure.TIMEOUT),
        ("[Errno 110] Connect call failed ('10.0.0.1', 8000)", Failure.TIMEOUT),
        ("No route to host", Failure.NO_HOST),
    ],
)
def test_what_any_sshd_says_of_a_port_where_nothing_listens_is_a_refusal(
    reason: str, kind: Failure
) -> None:
    assert refused_by_host(reason, "127.0.0.1:8000").kind is kind
