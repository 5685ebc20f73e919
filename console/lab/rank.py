"""One rank or the detokenizer of a simulated server: a process that only bears a name.

Run by path with `-I -S` so that nine of them stay small; it imports nothing of the console. It
renames itself as setproctitle does: arguments replaced, the inherited part of its environment
zeroed, the rest left. Usage: rank.py TITLE INHERITED_BYTES follow|outlive.
"""

from __future__ import annotations

import os
import signal
import sys


def _rename(title: bytes, inherited: int) -> None:
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    arg_start, arg_end, env_start, env_end = (int(field) for field in fields[45:49])
    room = arg_end - arg_start
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(arg_start)
        memory.write(title[: room - 1].ljust(room, b"\0"))
        memory.seek(env_start)
        memory.write(bytes(min(inherited, env_end - env_start)))
    with open("/proc/self/comm", "wb", buffering=0) as comm:
        comm.write(title[:15])


def main() -> None:
    """Rename, say so, then live as long as the launcher, or longer."""
    title, inherited, bond = sys.argv[1:4]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _rename(title.encode(), int(inherited))
    if bond == "outlive":
        signal.pause()
    os.read(0, 1)


main()
