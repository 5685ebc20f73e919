"""Both SSH wires against a real sshd: getting in, being refused, losing the link."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from console.model.ask import Ask, Nobody
from console.model.clock import Pace, SystemClock
from console.model.exits import Exit
from console.model.failure import Failure, WireError
from console.model.fleet import Host
from console.model.fleet import Wire as Way
from console.transport.wire import CHANNELS, LinkSeen, LinkState, Use, Wire
from console.transport.wires import wire_to
from tests.rig.ports import free_port
from tests.rig.process import runs
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.waiting import auntil
from tests.transport.person import Person

pytestmark = pytest.mark.rig

PACE = replace(Pace().scaled(20), connect_deadline_s=30.0)


class Wired(Protocol):
    """Makes wires of one kind."""

    def __call__(
        self,
        config: Path,
        alias: str = "rig",
        *,
        ask: Ask | None = None,
        pace: Pace = PACE,
        enter: tuple[str, ...] = (),
    ) -> AbstractAsyncContextManager[Wire]: ...


@pytest.fixture
def wired(way: Way) -> Wired:
    @asynccontextmanager
    async def made(
        config: Path,
        alias: str = "rig",
        *,
        ask: Ask | None = None,
        pace: Pace = PACE,
        enter: tuple[str, ...] = (),
    ) -> AsyncIterator[Wire]:
        host = Host("box", way, alias, str(config), enter)
        wire = wire_to(host, SystemClock(), pace, ask or Nobody())
        try:
            yield wire
        finally:
            await wire.close()

    return made


async def refusal(wire: Wire) -> WireError:
    with pytest.raises(WireError) as caught:
        await wire.run(["true"], deadline_s=30)
    return caught.value


async def until_state(wire: Wire, *states: LinkState) -> LinkSeen:
    async with asyncio.timeout(60):
        async for seen in wire.links():
            if seen.state in states:
                return seen
    raise AssertionError("the link was closed")


async def test_run_passes_arguments_input_and_code(sshd: Sshd, wired: Wired) -> None:
    async with wired(sshd.ssh_config) as wire:
        script = 'printf "%s|" "$@"; cat; echo err >&2; exit 7'
        argv = ["/bin/sh", "-c", script, "sh", "it's", "a\\b!", ""]
        done = await wire.run(argv, stdin=b"in", deadline_s=30)
        assert (done.code, done.out, done.err) == (7, b"it's|a\\b!||in", b"err\n")
        assert (await wire.run(["no-such-program"], deadline_s=30)).code == 127


async def test_enter_stands_before_the_command(sshd: Sshd, wired: Wired) -> None:
    async with wired(sshd.ssh_config, enter=("env", "INSIDE=yes")) as wire:
        done = await wire.run(["sh", "-c", "echo $INSIDE"], deadline_s=30)
        assert done.out == b"yes\n"


async def test_deadline_and_size_bound_a_command(sshd: Sshd, tmp_path: Path, wired: Wired) -> None:
    async with wired(sshd.ssh_config) as wire:
        await wire.up()
        pid = tmp_path / "pid"
        with pytest.raises(WireError) as late:
            await wire.run(["sh", "-c", f"echo $$ > {pid}; exec sleep 300"], deadline_s=0.5)
        await auntil(lambda: not runs(int(pid.read_text())))
        with pytest.raises(WireError) as large:
            await wire.run(["yes"], deadline_s=5, most_bytes=1000)
        assert (late.value.kind, large.value.kind) == (Failure.TIMEOUT, Failure.TOO_LARGE)


async def test_channels_of_a_class_wait_for_each_other_only(sshd: Sshd, wired: Wired) -> None:
    async with wired(sshd.ssh_config) as wire:
        tails = [await wire.open(["cat"]) for _ in range(CHANNELS[Use.TAIL])]
        waiting = asyncio.create_task(wire.open(["echo", "mine"]))
        assert (await wire.run(["echo", "read"], deadline_s=30)).out == b"read\n"
        assert not waiting.done()
        await tails[0].close()
        assert await (await asyncio.wait_for(waiting, 60)).read() == b"mine\n"


async def test_closing_a_stream_lets_go_of_its_input(sshd: Sshd, wired: Wired) -> None:
    async with wired(sshd.ssh_config) as wire:
        stream = await wire.open(["sh", "-c", "echo $$; exec cat"])
        pid = int(await stream.read())
        assert runs(pid)
        await stream.close()
        await auntil(lambda: not runs(pid))


async def test_link_comes_up_with_its_time_and_ends_closed(sshd: Sshd, wired: Wired) -> None:
    async with wired(sshd.ssh_config) as wire:
        up = await until_state(wire, LinkState.UP)
        assert up.rtt_us is not None
        assert 0 < up.rtt_us < 1_000_000
        ended = asyncio.create_task(until_state(wire, LinkState.CLOSED))
        await asyncio.sleep(0)
        await wire.close()
        assert (await ended).state is LinkState.CLOSED


async def test_unknown_key_is_told_with_its_fingerprint(sshd: Sshd, wired: Wired) -> None:
    sshd.forget_host()
    async with wired(sshd.ssh_config) as wire:
        error = await refusal(wire)
        assert error.kind is Failure.KEY_UNKNOWN
        assert error.detail[0] == f"offered  ssh-ed25519 {sshd.fingerprint}"


async def test_changed_key_is_told_with_both_fingerprints_and_recovers(
    sshd: Sshd, wired: Wired
) -> None:
    known = sshd.fingerprint
    sshd.new_host_key()
    async with wired(sshd.ssh_config) as wire:
        error = await refusal(wire)
        assert error.kind is Failure.KEY_CHANGED
        assert error.detail[:2] == (
            f"known    ssh-ed25519 {known}",
            f"offered  ssh-ed25519 {sshd.fingerprint}",
        )
        sshd.trust_host()
        wire.retry()
        await asyncio.wait_for(wire.up(), 60)


async def test_changed_key_has_no_way_around_it(sshd: Sshd, wired: Wired) -> None:
    sshd.new_host_key()
    person = Person()
    async with wired(sshd.ssh_config, ask=person) as wire:
        assert (await refusal(wire)).kind is Failure.KEY_CHANGED
        assert person.asked == []


async def test_a_person_may_accept_an_unknown_key_once_for_all(sshd: Sshd, wired: Wired) -> None:
    sshd.forget_host()
    person = Person("yes")
    async with wired(sshd.ssh_config, ask=person) as wire:
        assert (await wire.run(["echo", "in"], deadline_s=30)).out == b"in\n"
    assert person.asked[0].choices == ("no", "yes")
    assert any(sshd.fingerprint in line for line in person.asked[0].detail)
    async with wired(sshd.ssh_config) as wire:
        assert (await wire.run(["echo", "again"], deadline_s=30)).out == b"again\n"


async def test_no_is_no(sshd: Sshd, wired: Wired) -> None:
    sshd.forget_host()
    async with wired(sshd.ssh_config, ask=Person("no")) as wire:
        assert (await refusal(wire)).kind is Failure.KEY_UNKNOWN
    assert sshd.known_hosts.read_text() == ""


async def test_no_file_of_known_hosts_does_not_switch_the_check_off(
    sshd: Sshd, tmp_path: Path, wired: Wired
) -> None:
    config = tmp_path / "none"
    config.write_text(sshd.ssh_config.read_text().replace(str(sshd.known_hosts), "none"))
    async with wired(config) as wire:
        assert (await refusal(wire)).kind is Failure.KEY_UNKNOWN


async def test_a_refused_port_and_an_unknown_name(sshd: Sshd, tmp_path: Path, wired: Wired) -> None:
    config = tmp_path / "closed"
    text = sshd.ssh_config.read_text()
    config.write_text(text.replace(f"Port {sshd.port}", f"Port {free_port()}"))
    async with wired(config) as wire:
        error = await refusal(wire)
        assert (error.kind, error.why) == (Failure.NO_LINK, "ssh rig: connection refused")
        assert "is sshd up" in error.detail[0]
    config.write_text(text.replace("127.0.0.1", "no-such-host.invalid"))
    async with wired(config) as wire:
        error = await refusal(wire)
        assert error.kind is Failure.NO_LINK
        assert "no-such-host.invalid" in error.why


async def test_who_hangs_up_or_stays_silent_is_named_in_time(
    sshd: Sshd, tmp_path: Path, wired: Wired
) -> None:
    closing = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    silent = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    config, text = tmp_path / "other", sshd.ssh_config.read_text()
    pace = replace(Pace(), connect_deadline_s=2.0)
    async with closing, silent:
        for server, why, seen in (
            (closing, "ssh rig: ", Failure.CLOSED),
            (silent, "ssh rig: no connection within 2 s", Failure.TIMEOUT),
        ):
            port = server.sockets[0].getsockname()[1]
            config.write_text(text.replace(f"Port {sshd.port}", f"Port {port}"))
            async with wired(config, pace=pace) as wire:
                error = await refusal(wire)
                assert (error.kind, error.kind.exit) == (Failure.NO_LINK, Exit.UNREACHABLE)
                assert error.why.startswith(why)
                # The link itself says which it was: the host is not to be taken for its server.
                assert (await until_state(wire, LinkState.REFUSED)).failure is seen


async def test_not_let_in_and_nobody_to_ask(sshd: Sshd, wired: Wired) -> None:
    (sshd.folder / "authorized_keys").write_text("")
    async with wired(sshd.ssh_config) as wire:
        error = await refusal(wire)
        assert (error.kind, error.why) == (Failure.AUTH, "rig accepted no key or password")


async def test_every_hop_is_checked(sshd: Sshd, tmp_path: Path, wired: Wired) -> None:
    with Sshd(tmp_path / "inner", alias="inner") as inner:
        config = tmp_path / "jump"
        config.write_text(sshd.client_block("rig") + inner.client_block("inner", "ProxyJump rig"))
        async with wired(config, "inner") as wire:
            done = await wire.run(["sh", "-c", "echo $SSH_CONNECTION"], deadline_s=30)
            assert done.out.split()[3] == str(inner.port).encode()
        sshd.new_host_key()
        async with wired(config, "inner") as wire:
            error = await refusal(wire)
            assert error.kind is Failure.KEY_CHANGED
            assert sshd.fingerprint in error.detail[1]
        sshd.trust_host()
        inner.forget_host()
        async with wired(config, "inner") as wire:
            error = await refusal(wire)
            assert error.kind is Failure.KEY_UNKNOWN
            assert inner.fingerprint in error.detail[0]


async def test_the_link_comes_back_by_itself(sshd: Sshd, wired: Wired) -> None:
    async with wired(sshd.ssh_config) as wire:
        await wire.up()
        lost = asyncio.create_task(until_state(wire, LinkState.LOST))
        await asyncio.sleep(0)
        sshd.kill_sessions()
        assert (await lost).failure is Failure.LINK_LOST
        await asyncio.wait_for(wire.up(), 60)
        assert (await wire.run(["echo", "back"], deadline_s=30)).out == b"back\n"


async def test_while_the_link_is_down_everything_fails_at_once(sshd: Sshd, wired: Wired) -> None:
    async with wired(sshd.ssh_config, pace=Pace()) as wire:
        await wire.up()
        lost = asyncio.create_task(until_state(wire, LinkState.LOST))
        await asyncio.sleep(0)
        await asyncio.to_thread(sshd.stop)
        await lost
        # What waited for the link would end with the deadline of the command.
        error = await refusal(wire)
        assert error.kind in (Failure.LINK_LOST, Failure.REFUSED)


async def test_a_silent_link_is_lost_by_keepalive(
    sshd: Sshd, tcp_proxy: Callable[[int], TcpProxy], tmp_path: Path, wired: Wired
) -> None:
    proxy = tcp_proxy(sshd.port)
    config = tmp_path / "proxied"
    text = sshd.ssh_config.read_text().replace(f"Port {sshd.port}", f"Port {proxy.port}")
    config.write_text(text + "    HostKeyAlias silent\n")
    key = sshd.known_hosts.read_text().split(" ", 1)[1]
    sshd.known_hosts.write_text(f"[silent]:{proxy.port},silent {key}")
    async with wired(config) as wire:
        await wire.up()
        running = asyncio.create_task(wire.run(["sleep", "300"], deadline_s=30))
        proxy.silence()
        lost = await until_state(wire, LinkState.LOST)
        assert "keepalive" in lost.why
        with pytest.raises(WireError) as caught:
            await running
        assert caught.value.kind is Failure.LINK_LOST
        proxy.resume()
        await asyncio.wait_for(wire.up(), 60)


async def test_a_locked_key_asks_once_and_only_when_needed(sshd: Sshd, wired: Wired) -> None:
    locked_key(sshd, "open sesame")
    async with wired(sshd.ssh_config) as wire:
        error = await refusal(wire)
        assert error.kind is Failure.AUTH
        assert error.why == f"Passphrase for {sshd.client_key}: needed, and nobody to ask"
    person = Person("wrong", "open sesame")
    async with wired(sshd.ssh_config, ask=person) as wire:
        assert (await wire.run(["echo", "in"], deadline_s=30)).out == b"in\n"
        sshd.kill_sessions()
        await until_state(wire, LinkState.LOST, LinkState.CONNECTING)
        await asyncio.wait_for(wire.up(), 60)
    assert [question.secret for question in person.asked] == [True, True]


async def test_a_port_nobody_listens_on_behind_the_link_is_refused(
    sshd: Sshd, wired: Wired
) -> None:
    async with wired(sshd.ssh_config) as wire:
        with pytest.raises(WireError) as caught:
            await wire.connect("127.0.0.1", free_port())
        assert (caught.value.kind, caught.value.why) == (Failure.REFUSED, "connection refused")


async def test_forwarding_that_sshd_forbids_is_named(tmp_path: Path, wired: Wired) -> None:
    with Sshd(tmp_path / "closed", directives=["AllowTcpForwarding no"]) as closed:
        async with wired(closed.ssh_config) as wire:
            with pytest.raises(WireError) as caught:
                await wire.connect("127.0.0.1", 80)
            error = caught.value
            assert (error.kind, error.why) == (
                Failure.NO_CHANNEL,
                "sshd of box forbids forwarding",
            )


async def test_noisy_start_up_files_are_parted_from_the_output(
    tmp_path: Path, wired: Wired
) -> None:
    noisy = tmp_path / "noisy"
    noisy.write_text('#!/bin/sh\necho Welcome; echo warning >&2\nexec /bin/sh "$@"\n')
    noisy.chmod(0o755)
    forced = f'ForceCommand {noisy} -c "$SSH_ORIGINAL_COMMAND"'
    with Sshd(tmp_path / "noise", directives=[forced]) as loud:
        async with wired(loud.ssh_config) as wire:
            done = await wire.run(["sh", "-c", "echo out; echo err >&2"], deadline_s=30)
            assert (done.out, done.err) == (b"out\n", b"err\n")


async def test_a_login_shell_that_runs_nothing_is_named(tmp_path: Path, wired: Wired) -> None:
    forced = "ForceCommand echo This account is not available."
    with Sshd(tmp_path / "nologin", directives=[forced]) as closed:
        async with wired(closed.ssh_config) as wire:
            error = await refusal(wire)
            assert error.kind is Failure.REMOTE
            assert error.why == "the login shell ran no command: This account is not available."


async def test_a_defect_ends_the_wait_and_comes_out_of_links(sshd: Sshd, wired: Wired) -> None:
    sshd.forget_host()
    async with wired(sshd.ssh_config, ask=Person()) as wire:  # a person who breaks when asked
        async with asyncio.timeout(60):
            with pytest.raises(WireError) as caught:
                await wire.run(["true"], deadline_s=30)
            assert caught.value.why.startswith("defect: IndexError")
            with pytest.raises(IndexError):
                await until_state(wire)


def locked_key(sshd: Sshd, passphrase: str) -> None:
    """Replace the client's key by one in the old form, which needs no bcrypt to be read."""
    public = sshd.client_key.with_suffix(".pub")
    sshd.client_key.unlink()
    public.unlink()
    argv = ["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", passphrase]
    subprocess.run([*argv, "-f", str(sshd.client_key)], check=True, stdin=subprocess.DEVNULL)
    (sshd.folder / "authorized_keys").write_text(public.read_text())
