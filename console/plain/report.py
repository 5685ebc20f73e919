"""The headless front end: what a script did, as text for people or as JSON lines.

Results alone go to standard output, everything else to standard error. No control byte leaves
here when the output is no terminal, and no screen is ever loaded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from console.control.arguments import Step
from console.control.port import Outcome
from console.model.exits import MEANINGS, Exit
from console.model.failure import Failure
from console.model.text import Clean, plain
from console.render.header import session_utc
from console.stream.fact import Recording
from console.stream.host_events import LinkChanged
from console.stream.run_events import ActAdvanced, ActFinished
from console.stream.server_events import LogGap
from console.stream.session_events import EventsDropped, Noticed, RecordingChanged
from console.stream.state import Item, State
from console.stream.timeline import Timeline

_WITH_LINES = ("tail", "run", "repeat")
_WORDS = {Exit.OK: "passed", Exit.ASSERTION: "FAILED", Exit.INTERRUPTED: "INTERRUPTED"}


class Sink(Protocol):
    """What a report writes to."""

    def write(self, text: str, /) -> int:
        """Write it."""
        ...

    def flush(self) -> None:
        """Hand on what was written."""
        ...


@dataclass(slots=True)
class Report:
    """Tells how a script goes on.

    Attributes:
        out: results. err: everything for people.
        as_json: one JSON object a line on `out` instead of text.
        quiet: only what failed is told on `err`.
        colour: whether log lines keep their colours on `out`.
    """

    timeline: Timeline
    out: Sink
    err: Sink
    as_json: bool = False
    quiet: bool = False
    colour: bool = False
    passed: int = 0
    failed: int = 0
    left_out: int = 0
    _step: str = ""
    _last_aside: tuple[str, ...] = ()

    def take(self, item: Item, state: State) -> None:
        """What goes wrong beside the steps: a link, a gap in a log, a notice."""
        del state
        match item:
            case LinkChanged(failure=Failure() as failure):
                self._aside(f"host {item.host}", _told(failure.value, item.why), item.detail)
            case LogGap():
                self._aside(f"log {item.log}", item.text, loud=False)
            case Noticed():
                loud = item.severity == "error"
                self._aside(item.subject, f"{item.severity}: {item.text}", loud=loud)
            case RecordingChanged(recording=Recording.STOPPED):
                self._aside("recording", f"stopped: {item.why}")
            case ActAdvanced():
                self._say(_short(item.act), plain(item.phase), plain(item.text))
            case ActFinished(outcome="interrupted"):
                # Its step was ended from outside and cannot say what is left.
                self._say(_short(item.act), "interrupted", plain(item.text), loud=True)
            case EventsDropped():
                self._aside("recording", f"{item.count} events left out: {item.why}")
            case _:
                pass

    def measuring(self, server: str, text: str) -> None:
        """A benchmark goes on."""
        self._say(self._step, f"bench {server}", text)
        if self.as_json:
            self._line({"event": "progress", "step": self._step, "server": server, "text": text})

    def step_started(self, step: Step, server: str) -> None:
        """Only waits are announced: they take time."""
        self._step = step.id
        if step.verb == "wait":
            self._say(step.id, f"wait {server} until {step.arguments.get('until')}", "")

    def progress(self, step: Step, server: str, text: str) -> None:
        """A wait goes on."""
        self._say(step.id, f"{step.verb} {server}", text)
        if self.as_json:
            self._line({"event": "progress", "step": step.id, "server": server, "text": text})

    def step_finished(self, step: Step, server: str, outcome: Outcome) -> None:
        """A step ended: its result to standard output, its verdict to standard error."""
        if outcome.ok:
            self.passed += 1
        else:
            self.failed += 1
        word = _WORDS.get(outcome.exit, f"FAILED ({outcome.exit.value})")
        what = f"{step.verb} {server}".rstrip()
        self._say(step.id, f"{what}: {word}", plain(outcome.text), loud=not outcome.ok)
        if self.as_json:
            self._line(_as_json(step, server, outcome))
        else:
            self._results(step, server, outcome)

    def step_left_out(self, step: Step, why: str) -> None:
        """A step did not run."""
        self.left_out += 1
        self._say(step.id, f"{step.verb}: left out", why)
        if self.as_json:
            self._line({"event": "left_out", "step": step.id, "verb": step.verb, "why": why})

    def notice(self, text: str) -> None:
        """Something a person should know, once."""
        self.err.write(f"{text}\n")
        self.err.flush()

    def ended(self, name: str, code: Exit, session: str = "") -> None:
        """The last words."""
        parts = [f"{self.passed} passed", f"{self.failed} failed"]
        if self.left_out:
            parts.append(f"{self.left_out} left out")
        meaning = "" if code is Exit.OK else f": {MEANINGS[code]}"
        if not self.quiet or code is not Exit.OK:
            self._say(name, ", ".join(parts), f"exit {code.value}{meaning}", loud=True)
        if session and not self.quiet:
            self.notice(f"session: {session}")
        if self.as_json:
            counts = {"passed": self.passed, "failed": self.failed, "left_out": self.left_out}
            self._line({"event": "end", "exit": code.value, **counts, "session": session})

    def _aside(
        self, where: str, text: str, detail: Sequence[str] = (), *, loud: bool = True
    ) -> None:
        told = (text, *detail)
        if told == self._last_aside:
            return
        self._last_aside = told
        self._say(plain(Clean(where)), plain(Clean(text)), "", loud=loud)
        for line in detail:
            self.notice(f"    {plain(Clean(line))}")

    def _results(self, step: Step, server: str, outcome: Outcome) -> None:
        if step.verb == "health":
            self.out.write(f"{server} {plain(outcome.text)}\n")
        for line in outcome.lines:
            self.out.write((line if self.colour else plain(line)) + "\n")
        self.out.flush()

    def _say(self, where: str, what: str, text: str, *, loud: bool = False) -> None:
        if self.quiet and not loud:
            return
        moment = session_utc(self.timeline.state, self.timeline.now_us)
        shown = moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else "-"
        self.err.write(f"{shown}  {where:<10} {what}{'  ' + text if text else ''}\n")
        self.err.flush()

    def _line(self, record: Mapping[str, object]) -> None:
        moment = session_utc(self.timeline.state, self.timeline.now_us)
        stamp = {"t_us": self.timeline.now_us, "utc": moment.isoformat() if moment else None}
        self.out.write(json.dumps({**record, **stamp}, ensure_ascii=True) + "\n")
        self.out.flush()


def _short(act: str) -> str:
    return act.rpartition("-")[2]


def _told(what: str, why: str) -> str:
    return f"{what}: {why}" if why and why != what else what


def _as_json(step: Step, server: str, outcome: Outcome) -> dict[str, object]:
    lines: list[str] = [plain(line) for line in outcome.lines]
    results = {
        key: plain(Clean(value)) if isinstance(value, str) else value
        for key, value in outcome.results.items()
        if key != "lines"
    }
    return {
        "event": "step",
        "step": step.id,
        "verb": step.verb,
        "server": server,
        "exit": outcome.exit.value,
        "text": plain(outcome.text),
        "results": results,
        **({"lines": lines} if step.verb in _WITH_LINES else {}),
    }
