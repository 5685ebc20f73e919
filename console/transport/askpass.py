"""Stands between ssh and the console: passes a question of ssh's on and prints the answer.

ssh runs it (SSH_ASKPASS) with the question as its argument. Needs nothing but the standard library
and keeps nothing; without an answer it fails, which ssh takes for none.
"""

from __future__ import annotations

import os
import socket
import sys


def main() -> int:
    """Ask at the socket that the environment names; 0 with the answer on standard output."""
    question = " ".join(sys.argv[1:])
    hint = os.environ.get("SSH_ASKPASS_PROMPT", "")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as console:
        console.connect(os.environ["SPEC_CONSOLE_ASK"])
        console.sendall(f"{hint}\n{question}".encode("utf-8", "surrogateescape"))
        console.shutdown(socket.SHUT_WR)
        answer = b""
        while part := console.recv(4096):
            answer += part
    if not answer.startswith(b"+"):
        return 1
    sys.stdout.buffer.write(answer[1:] + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
