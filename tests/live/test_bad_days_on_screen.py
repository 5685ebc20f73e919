"""Bad days on the screen: a word for each, and recovery when the cause goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.fleets import fleet_file
from tests.live.screens import shown
from tests.rig.http import (
    BROKEN,
    OK,
    SSH_BANNER,
    TEN_MEGABYTES,
    UNAUTHORIZED,
    Behaviour,
    Endless,
    NoHeaders,
    ScriptedHttp,
)
from tests.rig.sshd import Sshd

pytestmark = pytest.mark.rig


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (BROKEN, ("reachable", "500")),
        (UNAUTHORIZED, ("reachable", "needs the AP")),
        (SSH_BANNER, ("not HTTP",)),
        (Endless(every_s=0.1), ("degraded", "200, but its body")),
        (NoHeaders(), ("degraded",)),
        (TEN_MEGABYTES, ("alive",)),
    ],
    ids=["500", "401", "not-http", "endless", "no-headers", "ten-megabytes"],
)
async def test_what_a_server_answers_is_a_word_and_passes(
    scripted_http: ScriptedHttp, tmp_path: Path, behaviour: Behaviour, words: tuple[str, ...]
) -> None:
    scripted_http.default = behaviour
    fleet = fleet_file(tmp_path, scripted_http.url, None)
    async with shown(fleet, tmp_path / "s.toml") as screen:
        await screen.wait_for(*words)
        scripted_http.default = OK
        await screen.wait_for("alive")
        assert screen.app.defect is None


async def test_host_keys_unknown_and_changed_are_told_apart_and_recover(
    sshd: Sshd, scripted_http: ScriptedHttp, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    log.write_text("first line\n")
    fleet = fleet_file(tmp_path, scripted_http.url, log, sshd)
    sshd.forget_host()
    async with shown(fleet, tmp_path / "s.toml") as screen:
        await screen.wait_for("host key unknown", sshd.fingerprint)
        sshd.trust_host()
        await screen.wait_for("alive", "first line")
    known = sshd.fingerprint
    sshd.new_host_key()
    async with shown(fleet, tmp_path / "s2.toml") as screen:
        await screen.wait_for("host key changed", known, sshd.fingerprint)
        assert screen.app.defect is None


async def test_sshd_killed_mid_tail_and_a_log_that_comes_late(
    sshd: Sshd, scripted_http: ScriptedHttp, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    fleet = fleet_file(tmp_path, scripted_http.url, log, sshd)
    async with shown(fleet, tmp_path / "s.toml") as screen:
        await screen.wait_for("the log does not exist")
        log.write_text("first line\n")
        await screen.wait_for("first line")
        sshd.stop()
        await screen.wait_for("link lost")
        with log.open("a") as more:
            more.write("second line\n")
        sshd.start()
        await screen.wait_for("second line", "0 lost")
        assert screen.app.defect is None
