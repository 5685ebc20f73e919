"""Whether the terminal can be drawn on at all: asked before anything of a front end is loaded."""

from __future__ import annotations

import os
import sys

DUMB = ("", "dumb", "unknown")


def draws_nothing() -> bool:
    """Whether there is a person at a terminal that can only be written to line by line."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    there = all(stream is not None and stream.isatty() for stream in streams)
    return there and os.environ.get("TERM", "") in DUMB
