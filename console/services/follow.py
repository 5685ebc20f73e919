"""A file followed by its bytes, over many lives of the command that reads it.

Owns what must be kept from one life to the next so that the next can prove where it goes on:
identity, offset and the bytes before it. What cannot be accounted for becomes a gap.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from console.model.clock import US_PER_S, Clock
from console.model.failure import Failure, WireError
from console.model.number import whole
from console.services.emitter import Emitter, LogMoved
from console.services.lines import Splitter
from console.services.parts import Err, Out, Parts
from console.services.tail_script import Place, follow_argv
from console.stream.fact import FeedState, GapKind
from console.transport.wire import Wire

_CHECK_BYTES = 256


@dataclass(frozen=True, slots=True)
class _Begun:
    """Where a life begins, as the host says."""

    file: str
    size: int
    offset: int


@dataclass(frozen=True, slots=True)
class _End:
    """How a file ended: at which offset and why.

    Attributes:
        skipped: files after it that cannot be read any more.
        then: the file after those, as `DEVICE:INODE`.
    """

    offset: int
    truncated: bool = False
    skipped: int = 0
    then: str = ""


@dataclass(frozen=True, slots=True)
class _Anchor:
    """An offset, and the bytes just before it: they prove later that it is the same file."""

    offset: int
    before: bytes


class Follower:
    """One file. Its position survives a cut; the next `life` goes on from there."""

    def __init__(
        self, path: str, emitter: Emitter, wire: Wire, clock: Clock, last_lines: int | None
    ) -> None:
        self._path = path
        self._emitter = emitter
        self._wire = wire
        self._clock = clock
        self._last_lines = last_lines
        self._file = ""
        self._then = ""
        self._anchor = _Anchor(0, b"")
        self._next_anchor: _Anchor | None = None
        self._cut: tuple[int, WireError] | None = None
        self._position = 0
        self._window = 0
        self._held = b""
        self._target = 0
        self._choosing = False
        self._unread = 0

    def cut(self, error: WireError) -> None:
        """The life before ended by a failure."""
        if self._cut is None:
            self._cut = self._clock.now_us(), error
        if self._target and self._choosing:
            # Nothing of it has gone out: its last lines are chosen anew.
            self._file, self._target = "", 0

    async def life(self, look_s: float) -> AsyncGenerator[LogMoved, None]:
        """Follow until this file is over (rotated, truncated); the next life reads what is next.

        Raises:
            WireError: the link was lost or the command ended.
        """
        wanted = self._wanted()
        parts = Parts(await self._wire.open(follow_argv(self._path, wanted, look_s)))
        try:
            head = b""
            while b"\n" not in head:
                part = await parts.next(None)
                if isinstance(part, Err):
                    yield self._unopened(part.line)
                elif part is not None:
                    head += _bytes_of(part)
            line, _, data = head.partition(b"\n")
            for event in self._begin(_begun(line), wanted):
                yield event
            if not self._file:
                return
            yield self._emitter.feed(FeedState.FOLLOWING)
            async for event in self._follow(parts, data):
                yield event
        finally:
            await parts.close()

    def _wanted(self) -> Place:
        if self._then:
            return Place(self._then)
        if not self._file:
            return Place(lines=self._last_lines)
        return Place(self._file, self._anchor.offset - len(self._anchor.before))

    def _unopened(self, message: str) -> LogMoved:
        why = f"{self._path}: {message.rpartition(': ')[2]}"
        if "o such" in message or "onexistent" in message:
            self._last_lines = None
            return self._emitter.feed(FeedState.MISSING, Failure.MISSING, why)
        return self._emitter.feed(FeedState.UNREADABLE, Failure.UNREADABLE, why)

    def _begin(self, begun: _Begun, wanted: Place) -> Iterator[LogMoved]:
        """Take up the position, saying what was missed since the life before."""
        splitter = self._emitter.splitter
        read_us, self._cut = self._cut, None
        before = away(read_us, self._clock.now_us())
        if self._then and read_us is not None:
            yield self._emitter.gap(GapKind.LINK, f"{before}; 0 bytes read again, 0 lost", 0, 0)
        if self._then and self._then != begun.file:
            yield self._emitter.gap(GapKind.ROTATED, "rotated again: a file between is gone", None)
        self._then = ""
        if not self._file:
            self._start(begun, gather=self._last_lines is not None)
        elif begun.file != self._file:
            yield from self._emitter.send(over=True)
            text = f"{before}; another file now, lost what followed byte {splitter.fed:,}"
            yield self._emitter.gap(GapKind.LINK, text, None)
            self._start(begun)
        elif begun.size < splitter.taken or begun.offset != wanted.offset:
            yield from self._emitter.send(over=True)
            yield self._emitter.gap(GapKind.TRUNCATED, f"{before}; truncated: restarted at 0", None)
            self._restart(self._file)
            if begun.offset == 0:
                self._start(begun)
        else:
            reread = max(0, splitter.fed - begun.offset)
            text = f"{before}; {reread:,} bytes read again, 0 lost"
            yield self._emitter.gap(GapKind.LINK, text, 0, reread)
            self._await(begun.offset, splitter.taken - begun.offset, choosing=False)
            self._emitter.splitter = Splitter(splitter.taken)

    def _start(self, begun: _Begun, *, gather: bool = False) -> None:
        """Read a file new to us from where the host begins."""
        self._file, self._then = begun.file, ""
        self._emitter.file = tuple(int(part) for part in begun.file.split(":"))
        self._await(begun.offset, begun.size - begun.offset if gather else 0, choosing=True)
        self._anchor = _Anchor(begun.offset, b"")
        self._emitter.splitter = Splitter(begun.offset)

    def _await(self, offset: int, target: int, *, choosing: bool) -> None:
        """Hold `target` bytes from here back, then choose the last lines or prove the place."""
        self._window = self._position = offset
        self._held, self._target, self._choosing = b"", target, choosing
        self._next_anchor = None

    def _restart(self, then: str) -> None:
        """The next life reads that file from its start."""
        self._file, self._then = "", then
        self._last_lines = None

    async def _follow(self, parts: Parts, data: bytes) -> AsyncGenerator[LogMoved, None]:
        end: _End | None = None
        same = self._take(data)
        while same and (end is None or self._position < end.offset):
            due_s = self._emitter.due_s()
            part = None if due_s == 0 else await parts.next(due_s)
            match part:
                case None:
                    for event in self._send():
                        yield event
                case Err(line):
                    end = _end(line) or end
                case Out():
                    same = self._take(_bytes_of(part))
        if self._held and self._choosing:
            self._choose()
        for last in self._send(over=True):
            yield last
        if not same:
            text = "replaced while it was not followed: restarted at 0"
            yield self._emitter.gap(GapKind.TRUNCATED, text, None)
        elif end is not None and end.truncated:
            yield self._emitter.gap(GapKind.TRUNCATED, "truncated: restarted at 0", None)
        elif end is not None and end.skipped:
            text = f"rotated more than once: {end.skipped} between cannot be read any more"
            yield self._emitter.gap(GapKind.ROTATED, text, None)
        else:
            text = "rotated: the old file was read to its end"
            yield self._emitter.gap(GapKind.ROTATED, text, 0)
        self._restart(end.then if same and end is not None and end.then else self._file)

    def _send(self, *, over: bool = False) -> Iterator[LogMoved]:
        """What is due, after what the file has before it; the anchor moves up to what went out."""
        unread, self._unread = self._unread, 0
        if unread:
            text = f"begins here: {unread:,} bytes before were not read"
            yield self._emitter.gap(GapKind.BYTES, text, unread)
        yield from self._emitter.send(over=over)
        ahead = self._next_anchor
        if ahead is not None and ahead.offset <= self._emitter.splitter.taken:
            self._anchor, self._next_anchor = ahead, None

    def _take(self, data: bytes) -> bool:
        """Take bytes in; False when they show that it is not the file it was."""
        self._position += len(data)
        if not self._target:
            self._pass(data)
            return True
        self._held += data
        if len(self._held) < self._target:
            return True
        if self._choosing:
            self._choose()
        elif self._held.startswith(self._anchor.before):
            self._release(self._target)
        else:
            return False
        return True

    def _choose(self) -> None:
        data = self._held[: self._target]
        begin = _last_begin(data, self._last_lines or 0, inside=self._window > 0)
        self._unread = self._window + begin
        self._release(begin)

    def _release(self, begin: int) -> None:
        """Let what was held go on, without its first `begin` bytes."""
        held, self._held, self._target = self._held, b"", 0
        self._emitter.splitter = Splitter(self._window + begin)
        self._pass(held[begin:])

    def _pass(self, data: bytes) -> None:
        splitter = self._emitter.splitter
        splitter.feed(data)
        if self._next_anchor is None and data:
            self._next_anchor = _Anchor(splitter.fed, data[-_CHECK_BYTES:])


def _last_begin(data: bytes, lines: int, *, inside: bool) -> int:
    """Where the last lines begin; data that begins inside a line loses that line's rest."""
    begin = data.rfind(b"\n") + 1
    for _ in range(lines):
        if begin == 0:
            break
        begin = data.rfind(b"\n", 0, begin - 1) + 1
    return data.find(b"\n") + 1 if begin == 0 and inside else begin


def _bytes_of(part: Out) -> bytes:
    if not part.data:
        raise WireError(Failure.REMOTE, "the command that reads the log ended")
    return part.data


def _begun(line: bytes) -> _Begun:
    try:
        file, size, offset = line.decode("ascii").split(" ")
        return _Begun(file, int(size), int(offset))
    except ValueError:
        raise WireError(Failure.REMOTE, f"the host answered {line[:80]!r}") from None


def _end(line: str) -> _End | None:
    match line.split(" "):
        case ["truncated", offset] if (at := whole(offset)) is not None:
            return _End(at, truncated=True)
        case ["rotated", offset, skipped, then] if (at := whole(offset)) is not None:
            return _End(at, skipped=whole(skipped) or 0, then=then)
        case _:
            return None


def away(cut: tuple[int, WireError] | None, now_us: int) -> str:
    if cut is None:
        return "interrupted"
    what = "link lost" if cut[1].kind is Failure.LINK_LOST else "interrupted"
    passed_s = (now_us - cut[0]) / US_PER_S
    return f"{what} {passed_s:.{0 if passed_s >= 10 else 1}f} s"
