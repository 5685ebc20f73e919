"""Whatever bytes a server sends, the terminal gets nothing the console did not mean."""

from __future__ import annotations

import asyncio
import re
from unicodedata import category

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot

from console.model.failure import Failure
from console.model.fleet import Wire
from console.stream.fact import FeedState, GapKind, Link, Standing
from console.stream.host_events import HostListed, LinkChanged
from console.stream.server_events import LogGap, LogListed
from console.stream.session_events import Noticed
from console.ui.theme import safe
from tests.ui.stage import Stage, c, look

MEANT = re.compile(
    r"\x1b\[[0-9;]*m"  # colours
    r"|\x1b\[\d+;\d+H"  # the cursor's place
    r"|\x1b\[\?25[hl]"  # the cursor seen or not
    r"|\x1b\[\?2026[hl]"  # synchronised output
    r"|\x1b\]22;[a-z-]*\x07"  # the pointer's shape
    r"|\x07"  # the bell
    r"|\r?\n"
)
ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}

FRAGMENTS = st.sampled_from(
    [
        *[b"\x1b[2K", b"\x1b[?1049l", b"\x1b]0;title\x07", b"\x1b]52;c;aGk=\x07", b"\x9b31m"],
        *[b"\x1bP+q\x1b\\", b"\x1b[31m", b"\x1b[0m", b"\x1b[", b"\x1b", b"\r", b"\x08", b"\x7f"],
        *[b"\xc2\x9b2J", b"\xe2\x80\xae", b"\xe2\x80\x8b", b"\xed\xa0\x80", b"\xff", b"\t", b"\0"],
        *[b"[bold red]x[/]", b"[@click=app.quit]q[/]", "界\u0301".encode(), b"\x1b[38;2;1;2;3mx"],
    ]
)
HOSTILE = st.lists(st.one_of(FRAGMENTS, st.binary(max_size=12)), max_size=8).map(
    lambda parts: b"".join(parts).replace(b"\n", b"")
)


class Recorder(HeadlessDriver):
    """A driver that keeps what is written for the terminal."""

    written: list[str]

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        if not hasattr(self, "written"):
            self.written = []
        self.written.append(data)


def stage_of(lines: list[bytes]) -> Stage:
    """A stage on which every text a remote side can choose is hostile."""
    stage = Stage()
    name, why = c(lines[0]) or c("server"), c(lines[-1])
    stage.opened()
    stage.emit(HostListed(c(lines[1]), Wire.ASYNCSSH, c(lines[2])))
    stage.emit(LinkChanged(c(lines[1]), Link.REFUSED, Failure.KEY_UNKNOWN, why, (c(lines[2]), why)))
    stage.server(name, c(lines[1]), standing=Standing.DEGRADED, why=why)
    stage.emit(LogListed(name, name, c(lines[3])))
    stage.feed(name, FeedState.FOLLOWING, why)
    stage.emit(Noticed(name, c("warning"), why, c(lines[2])))
    stage.lines(name, *lines)
    end = stage.timeline.state.logs[name].mark.end
    stage.emit(LogGap(name, end, 1, GapKind.LINK, why))
    stage.server("other", c(lines[1]))
    return stage


async def written_for(stage: Stage) -> str:
    """Everything written for the terminal while each server and its log is looked at."""
    app = stage.app()
    app.driver_class = Recorder
    seen: list[str] = []

    async def visit(pilot: Pilot[object]) -> None:
        while not app.is_open:
            await pilot.pause()
        await look(app, pilot)
        app.action_verb("logs.right")
        await look(app, pilot)
        app.action_verb("servers.down")
        await look(app, pilot)
        app.say(stage.control.outcome.text, True)
        await look(app, pilot)
        driver = app._driver
        assert isinstance(driver, Recorder)
        seen.extend(driver.written)
        app.exit()

    await app.run_async(headless=False, size=(160, 50), mouse=False, auto_pilot=visit)
    return "".join(seen)


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(st.lists(HOSTILE, min_size=4, max_size=36))
def test_the_driver_writes_only_what_is_meant(lines: list[bytes]) -> None:
    written = asyncio.run(written_for(stage_of(lines)))
    assert len(written) > 5000
    rest = MEANT.sub("", written)
    assert [char for char in rest if category(char) in ACTING] == []


def test_the_tokenizer_would_notice() -> None:
    for bad in ("\x1b[2K", "\x1b[?1049l", "\x1b]0;t\x07", "\x9b2J", "\u202e", "a\x08b"):
        rest = MEANT.sub("", bad)
        assert [char for char in rest if category(char) in ACTING]


@given(st.text())
def test_the_last_gate_lets_nothing_through(text: str) -> None:
    passed = safe(text)
    assert len(passed) == len(text)
    assert not [char for char in passed if category(char) in ACTING]


def test_markup_is_text() -> None:
    assert safe("[bold]x[/bold]") == "[bold]x[/bold]"
