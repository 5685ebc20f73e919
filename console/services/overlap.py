"""Lines that begin with their time: where a command has to go on, and which of them came again.

Owns reading the time of a line and telling a line that was seen from one that only looks late.
Pure; it keeps fingerprints of the last lines, never the lines.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_MOST_LINES = 4096
_MOST_BYTES = 65_536
_NS = 1_000_000_000
# After it a name may stand: `kubectl logs --prefix`, `docker compose logs`.
_TIME = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\d*(Z|[+-]\d\d:?\d\d)")
_PREFIX_BYTES = 160
_STAMP = re.compile(rb"((?:[^|\s]{1,80} *\| |\[[^\]\s]{1,120}\] )?)" + _TIME.pattern + b" ?")


class Overlap:
    """The lines of one command over many runs.

    Args:
        is_stamped: lines begin with a time that they are to be given without.

    Attributes:
        left_out: lines of this run that had come before.
        complete: the last line of the run before came again: nothing is missing.
    """

    def __init__(self, is_stamped: bool = False) -> None:
        self._is_stamped = is_stamped
        self._recent: deque[tuple[int, int]] = deque(maxlen=_MOST_LINES)
        self._last_ns = 0
        self._rest = b""
        self._before: Counter[tuple[int, int]] = Counter()
        self._oldest_ns = 0
        self._again = False
        self._ns = 0
        self._keeps = True
        self._passing = False
        self.left_out = 0
        self.complete = True

    @property
    def settled(self) -> bool:
        """Whether it is known that something is missing or that nothing is."""
        return self.complete or not self._again

    def resumed(self, arguments: Sequence[str]) -> list[str]:
        """The arguments with the time of the last line in them; none before a line had one."""
        if not self._last_ns:
            return []
        seconds, ns = divmod(self._last_ns, _NS)
        utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        rfc3339, epoch = f"{utc:%Y-%m-%dT%H:%M:%S}.{ns:09}Z", f"{seconds}.{ns:09}"
        return [word.replace("{rfc3339}", rfc3339).replace("{epoch}", epoch) for word in arguments]

    def begin(self) -> None:
        """Another run: what was unfinished comes again whole."""
        self._before = Counter(self._recent)
        self._oldest_ns = min((ns for ns, _ in self._recent), default=0)
        self._again = bool(self._recent)
        self._rest, self._ns, self._keeps, self._passing = b"", 0, True, False
        self.left_out = 0
        self.complete = not self._again

    def take(self, data: bytes) -> bytes:
        """The whole lines in it that are new, with what was unfinished before."""
        *lines, rest = (self._rest + data).split(b"\n")
        kept = []
        for line in lines:
            if self._passing:
                self._passing = False
                kept.append(line)
            elif self._is_new(line):
                kept.append(self._bare(line))
        self._rest = rest
        text = b"".join(line + b"\n" for line in kept)
        if self._passing or len(rest) > _MOST_BYTES:
            self._rest, was = b"", self._passing
            self._passing = was or self._is_new(rest)
            return text + (rest if was else self._bare(rest)) if self._passing else text
        return text

    def finish(self) -> bytes:
        """The unfinished line, for the command itself has ended."""
        rest, self._rest = self._rest, b""
        return self._bare(rest) if rest and self._is_new(rest) else b""

    def _bare(self, line: bytes) -> bytes:
        found = _STAMP.match(line) if self._is_stamped else None
        return line if found is None else found[1] + line[found.end() :]

    def _is_new(self, line: bytes) -> bool:
        ns = _time_ns(line)
        if ns is not None:
            self._ns = ns
            self._keeps = self._judge(line, ns)
        # A line without a time belongs to the one before it.
        if self._keeps and self._ns:
            self._recent.append((self._ns, hash(line)))
            self._last_ns = max(self._last_ns, self._ns)
        elif self._again:
            self.left_out += 1
        return self._keeps

    def _judge(self, line: bytes, ns: int) -> bool:
        if not self._again:
            return True
        if ns > self._last_ns:
            self._again = False
            return True
        key = (ns, hash(line))
        if self._before[key] > 0:
            self._before[key] -= 1
            self.complete = self.complete or ns == self._last_ns
            return False
        # Of the oldest time known some lines may have come before those that are known.
        return ns > self._oldest_ns or self._oldest_ns == self._last_ns


def _time_ns(line: bytes) -> int | None:
    """Nanoseconds since 1970 of a line's own time."""
    found = _TIME.search(line, 0, _PREFIX_BYTES)
    if found is None:
        return None
    seconds = _seconds(found[1], found[3])
    return None if seconds is None else seconds * _NS + int((found[2] or b"0").ljust(9, b"0"))


@lru_cache(256)
def _seconds(moment: bytes, zone: bytes) -> int | None:
    try:
        return int(datetime.fromisoformat((moment + zone).decode()).timestamp())
    except ValueError:
        return None
