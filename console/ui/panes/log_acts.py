"""What a person does with a log beside reading it: open, select, copy, save.

Every act says how it ended through the screen the pane stands on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from itertools import islice

from console.model.ask import Question
from console.model.text import Clean, plain
from console.render.units import count, counted
from console.ui.clipboard import copy, create
from console.ui.panes.log_asks import Asks
from console.ui.window import Line, Whole

_SAVED = ("Cancel", "visible", "filtered", "all")
_MOST_COPIED = 10_000
_WRITTEN_AT_ONCE = 2_000


class Acts(Asks):
    """Opening, selecting, copying and saving lines of one pane."""

    def open(self) -> None:
        """Open the line pointed at, the newest in view when none is."""
        from console.render.opened import BEFORE, opened
        from console.ui.panes.log_detail import Detail, room_in

        pane = self.pane
        line = pane.cursor.line or (pane.window.lines[-1] if pane.window.lines else None)
        if line is None:
            return
        pane.cursor.number = line.number
        pane.window.following = False
        pane.again()
        sieve = pane.find.sieve
        under = sieve.bodies.get(line.number, ()) if sieve is not None else ()
        texts = [text for number in under if (text := self._text(number)) is not None]
        earlier = islice(self._earlier(line), BEFORE)
        before = [one.text for one in earlier if one.log == line.log and not one.notice][::-1]
        came, room = pane.times.came(line), room_in(pane.app.size.width)
        shown = opened(line.number, line.t_us, came, line.text, texts, before, room)
        pane.app.push_screen(Detail(pane.ink, shown))

    def select(self) -> None:
        """Begin a selection at the line pointed at, or end it."""
        pane = self.pane
        if pane.cursor.number is None:
            pane.cursor.move(-1, pane.depth)
        if pane.cursor.select():
            self.say("Selecting: shift ↑↓ extends, y copies, v leaves")
        pane.again()

    def copy(self) -> None:
        """Copy what is selected, else the line pointed at, else what is in view; say how."""
        pane = self.pane
        first, last = pane.cursor.stretch
        if last < first:
            one = pane.cursor.line
            lines = [one] if one is not None else list(pane.window.lines)
        else:
            lines = list(islice(self._lines(first, last + 1), _MOST_COPIED + 1))
        if not lines:
            self.say("Nothing to copy", good=False)
            return
        pane.run_worker(self._copy(lines), group="log-copy")

    async def _copy(self, lines: list[Line]) -> None:
        pane = self.pane
        kept = lines[:_MOST_COPIED]
        driver = pane.app._driver
        write = driver.write if driver is not None else lambda _: None
        # tmux is asked, and may take its time.
        done = await asyncio.to_thread(copy, "\n".join(map(_plain, kept)), write)
        cut = f" (at most {count(_MOST_COPIED)} at once)" if len(kept) < len(lines) else ""
        what = counted(len(kept), "line") + cut
        if done.path:
            self.say_where(f"{what} {done.how}", done.path)
        else:
            self.say(f"{what} {done.how}" if done.ok else done.how, done.ok)
        pane.cursor.anchor = None
        pane.again()

    def save(self) -> None:
        """Ask what to save and write it to a new file; say which."""
        self.ask(Question("Save the log", "Which lines?", choices=_SAVED), self._saved)

    def _saved(self, what: str | None) -> None:
        if what in _SAVED[1:]:
            self.pane.run_worker(self._save(str(what)), group="log-save")

    async def _save(self, what: str) -> None:
        pane = self.pane
        if pane.sight is None:
            return
        logs, log, end = pane.where(pane.sight)
        first = logs.reach(log)[0]
        while what == "filtered" and pane.find.more:
            await pane.clock.sleep(0)
        source = Whole(logs, log) if what == "all" else self.source()
        name = "".join(c if c.isalnum() or c in "._-" else "-" for c in log)[:80]
        try:
            descriptor, path = create(f"spec-console-{name}-{what}")
            written, lines = 0, list(pane.window.lines)
            if what != "visible" and source is not None:
                lines = list(islice(source.on(first, end), _WRITTEN_AT_ONCE))
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                while lines:
                    file.writelines(f"{_plain(line)}\n" for line in lines)
                    written += len(lines)
                    if what == "visible" or source is None:
                        break
                    await pane.clock.sleep(0)
                    lines = list(islice(source.on(lines[-1].end, end), _WRITTEN_AT_ONCE))
        except OSError as error:
            self.say(f"Not saved: {error.strerror or error}", good=False)
            return
        self.say_where(f"{counted(written, 'line')} saved to {path}", str(path))

    def _lines(self, first: int, end: int) -> Iterator[Line]:
        source = self.source()
        if source is not None:
            yield from source.on(first, end)

    def _earlier(self, line: Line) -> Iterator[Line]:
        """What the log holds before a line, newest first."""
        pane = self.pane
        if pane.sight is not None:
            logs, log, _ = pane.where(pane.sight)
            yield from Whole(logs, log).back(line.number)

    def _text(self, number: int) -> Clean | None:
        pane, sight = self.pane, self.pane.sight
        if sight is None:
            return None
        logs, log, _ = pane.where(sight)
        return next((one.text for one in Whole(logs, log).on(number, number + 1)), None)


def _plain(line: Line) -> str:
    return f"-- {plain(line.text)} --" if line.notice else plain(line.text)
