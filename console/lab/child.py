"""Starting the lab and ending it, for whoever shows it. Loads nothing of the lab itself.

The lab ends when its pipe closes: with `close`, or with this process however that ends.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass


class NoLab(Exception):
    """The lab did not start; the text says why."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a lab is, once it runs.

    Attributes:
        fleet: path of its fleet file.
        plan: path of the plan file of the story, on the host.
        assumption: the named assumption its speed follows.
    """

    fleet: str
    plan: str
    assumption: str


class LabChild:
    """A lab as a child process."""

    def __init__(self, scale: float, assume: str) -> None:
        argv = [sys.executable, "-m", "console.lab", "--scale", f"{scale:g}", "--assume", assume]
        # A session of its own: an interrupt in the terminal is the console's to answer.
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    async def ready(self) -> Scene:
        """Wait until it runs.

        Raises:
            NoLab: it ended instead.
        """
        assert self._process.stdout is not None
        line = await asyncio.to_thread(self._process.stdout.readline)
        if not line:
            assert self._process.stderr is not None
            told = await asyncio.to_thread(self._process.stderr.read)
            last = told.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
            raise NoLab(f"the lab did not start: {last[0]}")
        found = json.loads(line)
        return Scene(found["fleet"], found["plan"], found["assumption"])

    def close(self) -> None:
        """End it with everything it started."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
