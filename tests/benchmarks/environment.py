"""What the environment costs: a check, an import, a truth table of a TP-8 server over a far link.

The server is a real process tree: a launcher that listens, a resource tracker, eight ranks that
renamed themselves. A ratio is to the cheapest thing of its kind: one command over the same link.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Arm, Host, Server
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.nccl.catalogue import catalogue
from console.nccl.check import check
from console.nccl.importing.read import import_source
from console.nccl.version import NEWEST
from console.services.environ import Reader
from console.stream.events import Event
from console.stream.server_events import EnvRead
from console.transport.wires import wire_to
from tests.rig.ports import free_port
from tests.rig.process import Child
from tests.rig.proxy import TcpProxy
from tests.rig.sshd import Sshd
from tests.rig.waiting import until
from tests.rig.wire import Recorded
from tests.services.many_hosts import config_of

ROUNDS = 7
VARIABLES = 300
MARKDOWN_BYTES = 10_000_000
EACH_WAY_MS = 25.0
RANKS = 8

_SERVER = """
    import multiprocessing, os, socket, sys, time
    import tp_rank
    if __name__ == "__main__":
        held = socket.create_server(("127.0.0.1", int(sys.argv[1])))
        os.environ["NCCL_CUMEM_ENABLE"] = "0"
        spawned = multiprocessing.get_context("spawn")
        near, far = spawned.Pipe()
        for rank in range(8):
            spawned.Process(target=tp_rank.work, args=(rank, far), daemon=True).start()
        for _ in range(8):
            near.recv()
        print("ready", flush=True)
        time.sleep(600)
"""
_RANK = """
    import time
    import setproctitle
    def work(rank, parent):
        setproctitle.setproctitle(f"sglang::scheduler_TP{rank}")
        parent.send(rank)
        time.sleep(600)
"""


def best_cpu_ms(work: Callable[[], object]) -> float:
    """The least CPU time of several runs, in milliseconds: what else runs here does not count."""
    took = []
    for _ in range(ROUNDS):
        start_s = time.process_time()
        work()
        took.append((time.process_time() - start_s) * 1e3)
    return round(min(took), 2)


async def far_truth(sshd: Sshd, port: int) -> dict[str, float]:
    """One reading of a TP-8 server with 50 ms there and back, beside the command `true`."""
    with TcpProxy(sshd.port, delay_ms=EACH_WAY_MS) as proxy:
        host = Host("rig", Way.ASYNCSSH, "rig", str(config_of(sshd, {"rig": proxy.port})))
        wire = Recorded(wire_to(host, SystemClock(), Pace(), Nobody()))
        server = Server("s", "slot", Arm.BASELINE, f"http://127.0.0.1:{port}")
        reader = Reader(server, port, wire, SystemClock(), Pace(), Masks())  # type: ignore[arg-type]
        events: list[Event] = await reader.read()
        bare, took = [], []
        for _ in range(ROUNDS):
            start_s = time.perf_counter()
            await wire.run(["true"], deadline_s=20)
            middle_s = time.perf_counter()
            wire.commands = 0
            await reader.read()
            bare.append((middle_s - start_s) * 1e3)
            took.append((time.perf_counter() - middle_s) * 1e3)
        await wire.close()  # type: ignore[operator]
    sources = {event.source for event in events if isinstance(event, EnvRead)}
    assert {f"rank {n}" for n in range(RANKS)} | {"launcher", "tracker"} <= sources, sources
    return {
        "truth_tp8_commands": wire.commands,
        "truth_tp8_50ms_best_ms": round(min(took)),
        "truth_tp8_50ms_median_ms": round(statistics.median(took)),
        "true_50ms_best_ms": round(min(bare)),
        "truth_tp8_over_true": round(min(took) / min(bare), 2),
    }


def truth() -> dict[str, float]:
    """The reading of a real process tree behind a real sshd."""
    with tempfile.TemporaryDirectory() as made:
        folder, port = Path(made), free_port()
        (folder / "tp_rank.py").write_text(textwrap.dedent(_RANK))
        (folder / "serve.py").write_text(textwrap.dedent(_SERVER))
        log = folder / "log"
        child = Child([sys.executable, str(folder / "serve.py"), str(port)], log)
        try:
            until(lambda: b"ready" in log.read_bytes() or child.returncode is not None, 60)
            assert child.returncode is None, log.read_text()
            with Sshd(folder / "sshd") as sshd:
                return asyncio.run(far_truth(sshd, port))
        finally:
            child.kill()


def figures() -> dict[str, float]:
    """Milliseconds, commands and ratios."""
    known = [one for one in catalogue().values() if one.lives_in(NEWEST)]
    env = {one.name: one.default_in(NEWEST) for one in known}
    env |= {f"NCCL_MADE_UP_{n}": "16M" for n in range(VARIABLES - len(env))}
    text = "Some words on tuning, none of them a setting, but there is NCCL in it.\n" * 18
    text += "```sh\nexport NCCL_PROTO=LL NCCL_BUFFSIZE=16M\n```\n- `NCCL_ALGO=Ring` did it\n"
    plan = text * (MARKDOWN_BYTES // len(text) + 1)
    lines_ms = best_cpu_ms(lambda: sum("NCCL_" in line for line in plan.split("\n")))
    import_ms = best_cpu_ms(lambda: import_source(plan, "plan.md"))
    check(env)
    return {
        "variables": len(env),
        "check_cpu_ms": best_cpu_ms(lambda: check(env)),
        "markdown_mb": round(len(plan) / 1e6, 1),
        "import_markdown_cpu_ms": import_ms,
        "look_at_its_lines_cpu_ms": lines_ms,
        "import_over_look": round(import_ms / lines_ms, 1),
        **truth(),
    }
