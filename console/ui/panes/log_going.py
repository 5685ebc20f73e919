"""Going to places in a log: matches, errors, markers, a time. What is not found is said."""

from __future__ import annotations

from console.model.ask import Question
from console.ui.panes.log_asks import Asks
from console.ui.panes.log_places import came_at, next_error, stamped_at


class Going(Asks):
    """The ways to other lines of one pane."""

    def next_match(self, step: int) -> None:
        """To the next line that matches, or the one before."""
        pane, sieve = self.pane, self.pane.find.sieve
        if sieve is None or not pane.find.lifts:
            self.say("Nothing is searched for: / filters, * marks", good=False)
            return
        at = self._place(step)
        hits = sieve.hits.since(at + 1) if step > 0 else sieve.hits.before(at)
        number = next(hits, None)
        if number is None or number >= pane.find.end:
            more = "; still searching" if pane.find.more else ""
            self.say(f"No match {'below' if step > 0 else 'above'}{more}", good=False)
        else:
            pane.go(number)

    def next_error(self, step: int) -> None:
        """To the next error, or the one before; searched in slices."""
        self.pane.run_worker(self._to_error(step), group="log-place", exclusive=True)

    async def _to_error(self, step: int) -> None:
        pane = self.pane
        source, find = self.source(), pane.find
        if source is not None:
            number = await next_error(source, self._place(step), find.end, step, pane.clock)
            if number is None:
                self.say(f"No error {'below' if step > 0 else 'above'}", good=False)
            else:
                pane.go(number)

    def next_marker(self, step: int) -> None:
        """To where the log stood when the next marker, or the one before, was put."""
        pane, sight = self.pane, self.pane.sight
        if sight is None:
            return
        logs, log, end = pane.where(sight)
        places = [(came_at(logs, log, one.t_us), one.name) for one in sight.state.session.markers]
        at = self._place(step)
        found = [one for one in places if (one[0] > at if step > 0 else one[0] < at)]
        if not found:
            self.say(f"No marker {'below' if step > 0 else 'above'}", good=False)
            return
        number, name = min(found) if step > 0 else max(found)
        pane.go(min(number, end - 1))
        self.say(f"Marker {name}")

    def go_to_time(self) -> None:
        """Ask for a time and go to the first line stamped then or later."""
        self.ask(
            Question("Go to time", "Time as the log writes it: 17:05 or 17:05:41"), self._timed
        )

    def _timed(self, typed: str | None) -> None:
        pane, sight = self.pane, self.pane.sight
        if not typed or sight is None:
            return
        logs, log, _ = pane.where(sight)
        number = stamped_at(logs, log, typed)
        if number is None:
            self.say(f"{typed} is no time such as 17:05, or no line has a stamp", good=False)
        else:
            pane.go(min(number, logs.reach(log)[1] - 1))

    def _place(self, step: int) -> int:
        """Where a search begins: at the line pointed at, else outside what is in view."""
        pane = self.pane
        if pane.cursor.number is not None:
            return pane.cursor.number
        lines = pane.window.lines
        if not lines:
            return pane.find.end
        return pane.find.end if step < 0 and pane.window.following else lines[0].number - (step > 0)
