"""Every command that the console runs on a host, each run for real and held to what it gives.

`CASES` is keyed by the function that makes the command, so that one without a case is found. A
case gets a wire to a host and what lies there; it raises AssertionError where the host answers
anything else than what every host must.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from console.bench.job import worker_argv, worker_preamble
from console.model.failure import Failure, WireError
from console.services import allreduce_script, container_script, env_file_script
from console.services import checking_script as checking
from console.services import gpu_script as gpu
from console.services import launcher_script as launcher
from console.services import process_script as process
from console.services.environ_said import read_said
from console.services.environ_script import environ_argv
from console.services.nccl_file import nccl_file_argv
from console.services.probe_script import probe_argv, probe_script
from console.services.settings_files import Bounds, find_argv, find_settings, head_argv
from console.services.supervised import supervised_argv
from console.services.tail_script import Place as LogPlace
from console.services.tail_script import follow_argv, print_argv
from console.services.timing import version_argv
from console.transport.wire import Done, Stream, Use, Wire
from tests.rig.waiting import auntil
from tests.services.host_boxes import Place

DEADLINE_S = 20.0
ODD = "it's a \\ log! $(x) `y` *.md"
"""A file's name that a shell would make something of."""
TEXT = "one\nexport NCCL_PROTO=LL\n"

Case = Callable[[Wire, Place], Awaitable[None]]


async def ran(wire: Wire, argv: Sequence[str], stdin: bytes = b"") -> Done:
    """Its end, with nothing on standard error."""
    done = await wire.run(argv, stdin=stdin, deadline_s=DEADLINE_S)
    assert done.err == b"", done
    return done


async def rows(wire: Wire, argv: Sequence[str], stdin: bytes = b"") -> list[str]:
    """The lines of a command that says when it has said everything."""
    done = await ran(wire, argv, stdin)
    lines = done.out.decode().splitlines()
    assert (done.code, lines[-1:]) == (0, ["@end"]), done
    return lines[:-1]


async def heard(stream: Stream, wanted: bytes) -> bytes:
    """What it has printed once that is in it."""
    said = b""
    async with asyncio.timeout(DEADLINE_S):
        while wanted not in said:
            part = await stream.read()
            assert part, (said, await stream.read_err())
            said += part
    return said


@contextlib.asynccontextmanager
async def opened(wire: Wire, argv: Sequence[str]) -> AsyncIterator[Stream]:
    stream = await wire.open(argv, use=Use.TAIL)
    try:
        yield stream
    finally:
        await stream.close()


async def environ(wire: Wire, place: Place) -> None:
    done = await ran(wire, environ_argv(place.port))
    said = read_said(done.out)
    assert said.launcher is not None, done
    assert b"NCCL_PROTO=LL" in done.out
    assert b"hidden" not in done.out


async def follow(wire: Wire, place: Place) -> None:
    log = place.here / "odd.log"
    log.write_text("one\n")
    argv = follow_argv(f"{place.there}/odd.log", LogPlace(), 0.2)
    async with opened(wire, argv) as stream:
        head, _, rest = (await heard(stream, b"one\n")).partition(b"\n")
        stat = log.stat()
        assert head.decode().split()[1:] == ["4", "0"]
        assert head.decode().split(":")[1].split()[0] == str(stat.st_ino)
        assert rest == b"one\n"
        with log.open("a") as file:
            file.write("two\n")
        assert await heard(stream, b"two\n") == b"two\n"


async def printed(wire: Wire, place: Place) -> None:
    async with opened(wire, print_argv(("cat", f"{place.there}/{ODD}"))) as stream:
        assert await heard(stream, TEXT.encode()) == TEXT.encode()
        assert await stream.read() == b""


async def probe(wire: Wire, place: Place) -> None:
    done = await ran(wire, probe_argv(place.port), probe_script())
    told = dict(line.partition("\t")[::2] for line in done.out.decode().splitlines())
    assert told["probe.end"] == "1"
    assert told["launch.pid"].isdecimal()
    assert f"127.0.0.1:{place.port}" in told["launch.argv"]
    assert told["launch.start_ticks"].isdecimal()
    assert told["gpu.row"].startswith("--query-gpu=uuid,name,driver_version,")
    assert told["gpu.row"].endswith("|--format=csv,noheader|")
    assert int(told["host.cores"] or 1) > 0


async def find(wire: Wire, place: Place) -> None:
    async with opened(wire, print_argv(find_argv(place.there, Bounds()))) as stream:
        wanted = f"{place.there}/{ODD}\n".encode()
        assert (await heard(stream, wanted)) == wanted
    nowhere = f"{place.there}/it's not there"
    try:
        found = await find_settings(wire, nowhere, Bounds())
    except WireError as error:
        assert error.kind is Failure.MISSING, error
    else:
        raise AssertionError(f"found {found} in {nowhere}")


async def head(wire: Wire, place: Place) -> None:
    assert (await ran(wire, head_argv(f"{place.there}/{ODD}", 3))).out == b"one"


async def last_lines(wire: Wire, place: Place) -> None:
    done = await ran(wire, process.last_lines_argv(f"{place.there}/{ODD}", 1))
    assert done.out == b"export NCCL_PROTO=LL\n"


async def size(wire: Wire, place: Place) -> None:
    done = await ran(wire, process.size_argv(f"{place.there}/{ODD}"))
    assert done.out.split()[0] == str(len(TEXT)).encode()


@contextlib.asynccontextmanager
async def sleeping(wire: Wire) -> AsyncIterator[tuple[int, Stream]]:
    """A process of the host that sleeps, with its number there."""
    argv = ["sh", "-c", "sleep 600 & echo $!; wait", "sh"]
    async with opened(wire, print_argv(tuple(argv))) as stream:
        yield int(await heard(stream, b"\n")), stream


async def looked(wire: Wire, pid: int) -> list[str]:
    """BOOT, then PID START STATE PARENT GROUP SESSION SUM."""

    async def asleep() -> list[str]:
        told = await rows(wire, process.look_argv([pid]))
        return told if told[-2:] == [" sleep", " 600"] else []

    # Its number is told before it is that program.
    boot, seen, *_ = await auntil(asleep, what="a process that sleeps")
    return [boot.removeprefix("@boot "), *seen.removeprefix("@process ").split()]


async def allreduce(wire: Wire, place: Place) -> None:
    model = place.here / "model it's"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text('{"hidden_size": 64, "text": {"hidden_size":512}}')
    recipe = ["env", "A=b", "sh", "--model", f"{place.there}/{model.name}"]
    none, hidden = await rows(wire, allreduce_script.look_argv(recipe, "", "/"))
    assert none.startswith("@none /")
    assert none.endswith("/sh is no Python program")
    assert hidden == "@hidden 512"
    python = place.here / "python it's"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    script = place.here / "serve it"
    script.write_text(f"#!{place.there}/python3 -s\n")
    script.chmod(0o755)
    shutil.copy(python, place.here / "python3")
    found = await rows(wire, allreduce_script.look_argv(["./serve it"], "", place.there))
    assert found == [f"@python {place.there}/python3"]
    found = await rows(wire, allreduce_script.look_argv([], "./python it's", place.there))
    assert found == [f"@python {place.there}/./python it's"]


async def written(wire: Wire, place: Place) -> None:
    file = place.here / "env it's"
    file.write_text("A=$x `y`\nexport NCCL_PROTO=LL\n NCCL_ALGO = Ring\nHF_TOKEN=hidden")
    there, new = f"{place.there}/{file.name}", b"NCCL_PROTO=Simple\n"
    argv = env_file_script.write_argv(there, f"{there}.old", len(new))
    assert await rows(wire, argv, new) == [f"@kept {there}.old", f"@written {there}"]
    assert file.read_text() == "A=$x `y`\nHF_TOKEN=hidden\nNCCL_PROTO=Simple\n"
    assert file.stat().st_mode & 0o777 == 0o600
    (shut,) = await rows(wire, env_file_script.write_argv("/no-such/x", "/no-such/y", 0))
    assert shut == "@refused there is no folder /no-such"
    old = place.here / f"{file.name}.old"
    assert "NCCL_PROTO=LL" in old.read_text()
    for one in (old, file):
        one.unlink()  # the search must find what it is to find, and nothing more


async def fabric(wire: Wire, place: Place) -> None:
    del place
    told = await rows(wire, env_file_script.fabric_argv())
    words = [row.split(" ")[0] for row in told]
    assert words[:2] == ["@boot", "@groups"]
    assert words[2] in ("@acs", "@noacs")
    assert told[3:] == ["@peers r", " topo|-p2p|r|", "@peers w", " topo|-p2p|w|"]


async def inspect(wire: Wire, place: Place) -> None:
    engine = place.here / "docker it's"
    told = r'''"HF_TOKEN=hidden"\n"NCCL_PROTO=L L"\n"PATH=/"\n"SGLANG_API_KEY=hidden"'''
    engine.write_text(f"#!/bin/sh\nprintf \"%s\\n\" \"@id $1 $5 $6\"\nprintf '%b\\n' '{told}'\n")
    engine.chmod(0o755)
    asked = container_script.inspect_argv([f"{place.there}/{engine.name}"], "na'me")
    assert await rows(wire, asked) == [
        f"@id inspect {asked[-2]} na'me",
        ' "NCCL_PROTO=L L"',
    ]
    engine.unlink()  # a file that sets variables is one that the search must find
    (shut,) = await rows(wire, container_script.inspect_argv(["no-such-engine"], "x"))
    assert shut.startswith("@shut ")
    assert "not found" in shut


async def look(wire: Wire, place: Place) -> None:
    del place
    async with sleeping(wire) as (pid, _):
        boot, number, start, *_ = await looked(wire, pid)
        assert (len(boot), int(number), int(start) > 0) == (36, pid, True)


async def signal(wire: Wire, place: Place) -> None:
    del place
    async with sleeping(wire) as (pid, stream):
        boot, number, start, *_, summed = await looked(wire, pid)
        other = process.signal_argv("TERM", False, boot, [f"{number}:{int(start) + 1}:{summed}"])
        assert await rows(wire, other) == [f"@reused {pid}"]
        target = f"{number}:{start}:{summed}"
        assert await rows(wire, process.signal_argv("TERM", False, boot, [target])) == [
            f"@sent {pid}"
        ]
        async with asyncio.timeout(DEADLINE_S):
            assert await stream.read() in (b"", b"Terminated\n")


async def members(wire: Wire, place: Place) -> None:
    del place
    async with sleeping(wire) as (pid, _):
        group = (await looked(wire, pid))[5]
        assert f"@member {pid}" in await rows(wire, process.members_argv(int(group)))


async def nccl_file(wire: Wire, place: Place) -> None:
    said = "NCCL_PROTO set by environment to LL"
    async with sleeping(wire) as (pid, _):
        written = place.here / f"said.a-host.{pid}"
        written.write_text(f"HF_TOKEN=x\n{said}\n")
        told = await rows(wire, nccl_file_argv(f"{place.there}/said.%h.%p", [pid]))
        assert told == [f"@file {pid}", f" {said}"]


async def kept(wire: Wire, place: Place) -> None:
    del place
    async with sleeping(wire) as (pid, _):
        told = await rows(wire, supervised_argv(pid, ""))
        assert told == [], told


async def capture(wire: Wire, place: Place) -> None:
    async with sleeping(wire) as (pid, _):
        _, _, start, *_ = await looked(wire, pid)
        told = await rows(wire, launcher.capture_argv(pid, int(start), f"adopted/{place.port}"))
        (recipe,) = (row.removeprefix("@recipe ") for row in told if row.startswith("@recipe "))
        assert [row for row in told if row.startswith(" ")] == [" sleep", " 600"]
        shown = await rows(wire, launcher.show_argv(recipe))
        assert shown[1:4] == ["@words", " sleep", " 600"]


RECIPE = b"c /\na sh\na -c\na echo $WORD; exec sleep 600\n.\n"


async def launch(wire: Wire, place: Place) -> None:
    log = f"{place.there}/launched.log"
    file = place.here / "launched.env"
    file.write_text("# settings\nexport WORD='two words'\nNCCL_PROTO=LL\n")
    port = 1
    argv = launcher.launch_argv("act", "base", port, log, env_file=f"{place.there}/launched.env")
    told = await rows(wire, argv, RECIPE)
    assert told[0].startswith("@launched act "), told
    pid = int(told[0].split()[2])
    try:
        assert await rows(wire, argv, RECIPE) == told
        record = await rows(wire, launcher.record_argv(port, "base"))
        assert record[0] == told[0]
        assert await rows(wire, launcher.wedged_argv(port)) == []
        assert await rows(wire, launcher.record_argv(port, "base")) == [*record, "@wedged"]
        written = place.here / "launched.log"
        await auntil(lambda: written.read_text() == "two words\n", DEADLINE_S)
    finally:
        boot, seen = (await rows(wire, process.look_argv([pid])))[:2]
        number, start, *_, summed = seen.removeprefix("@process ").split()
        target = f"{number}:{start}:{summed}"
        sent = process.signal_argv("KILL", True, boot.removeprefix("@boot "), [target])
        assert await rows(wire, sent) == [f"@sent {pid}"]


async def lock(wire: Wire, place: Place) -> None:
    owner = f"me@here, it's {place.port}!"
    assert await rows(wire, launcher.lock_argv("one", owner, 120)) == ["@locked"]
    held, who, _ = await rows(wire, launcher.lock_argv("two", "you", 120))
    assert (held.split()[:2], who) == (["@held", "one"], f" {owner}")
    assert await rows(wire, launcher.unlock_argv("two")) == []
    assert await rows(wire, launcher.unlock_argv("one")) == ["@unlocked"]


async def name(wire: Wire, place: Place) -> None:
    del place
    assert (await ran(wire, checking.name_argv())).out.decode().strip() == os.uname().nodename


async def missing(wire: Wire, place: Place) -> None:
    del place
    assert (await ran(wire, checking.missing_argv(["sh", "no-such", "cat"]))).out == b"no-such\n"


async def readable(wire: Wire, place: Place) -> None:
    assert (await ran(wire, checking.readable_argv(f"{place.there}/{ODD}"))).out == b"ok\n"
    assert (await ran(wire, checking.readable_argv(f"{place.there}/no"))).out == b"missing\n"


async def listening(wire: Wire, place: Place) -> None:
    done = await ran(wire, checking.listening_argv(place.port), checking.listening_script())
    pid, cwd, *_ = done.out.decode().splitlines()
    assert cwd.startswith("/")
    told = (await ran(wire, checking.cmdline_argv(int(pid)))).out.split(b"\0")
    assert f"127.0.0.1:{place.port}".encode() in told


def asked(argv: Sequence[str]) -> Case:
    """A call of nvidia-smi's stand-in, which says what it was asked."""

    async def case(wire: Wire, place: Place) -> None:
        del place
        assert (await ran(wire, argv)).out.decode() == "|".join(argv[1:]) + "|\n"

    return case


async def query(wire: Wire, place: Place) -> None:
    await asked(gpu.query_argv(["index", "uuid"]))(wire, place)
    argv = gpu.query_argv(["index", "uuid"], 500)
    async with opened(wire, argv) as stream:
        assert (await heard(stream, b"\n")).decode() == "|".join(argv[1:]) + "|\n"


async def version(wire: Wire, place: Place) -> None:
    done = await wire.run(version_argv(), deadline_s=DEADLINE_S)
    assert (done.code, done.out) == ((0, b"True\n") if place.python else (127, b"")), done


async def worker(wire: Wire, place: Place) -> None:
    if not place.python:
        assert (await wire.run(worker_argv(), deadline_s=DEADLINE_S)).code == 127
        return
    async with opened(wire, worker_argv()) as stream:
        await stream.write(worker_preamble())
        assert b"ready" in await heard(stream, b"\n")


CASES: dict[str, Case] = {
    "environ_script.environ_argv": environ,
    "allreduce_script.look_argv": allreduce,
    "container_script.inspect_argv": inspect,
    "env_file_script.write_argv": written,
    "env_file_script.fabric_argv": fabric,
    "tail_script.follow_argv": follow,
    "tail_script.print_argv": printed,
    "probe_script.probe_argv": probe,
    "settings_files.find_argv": find,
    "settings_files.head_argv": head,
    "nccl_file.nccl_file_argv": nccl_file,
    "supervised.supervised_argv": kept,
    "process_script.look_argv": look,
    "process_script.signal_argv": signal,
    "process_script.members_argv": members,
    "process_script.last_lines_argv": last_lines,
    "process_script.size_argv": size,
    "launcher_script.capture_argv": capture,
    "launcher_script.show_argv": capture,
    "launcher_script.launch_argv": launch,
    "launcher_script.record_argv": launch,
    "launcher_script.wedged_argv": launch,
    "launcher_script.lock_argv": lock,
    "launcher_script.unlock_argv": lock,
    "checking_script.name_argv": name,
    "checking_script.missing_argv": missing,
    "checking_script.readable_argv": readable,
    "checking_script.listening_argv": listening,
    "checking_script.cmdline_argv": listening,
    "gpu_script.fields_argv": asked(gpu.fields_argv()),
    "gpu_script.query_argv": query,
    "gpu_script.apps_argv": asked(gpu.apps_argv()),
    "gpu_script.memory_argv": asked(gpu.memory_argv()),
    "gpu_script.links_argv": asked(gpu.links_argv()),
    "gpu_script.peers_argv": asked(gpu.peers_argv()),
    "timing.version_argv": version,
    "job.worker_argv": worker,
}
