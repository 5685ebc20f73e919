"""Timing all-reduces on a host: which GPUs are free, which Python has the server's torch, and one
run for each set of variables.

Owns when it is refused: while anything listens on a port of these GPUs or holds their memory. The
program ends itself at its limit; so does the command here, a little later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from console.bench.job import BOOTSTRAP, worker_argv
from console.model.clock import Clock, Pace
from console.model.failure import Failure, WireError
from console.model.fleet import Fleet, Server
from console.model.mask import Masks
from console.model.number import whole
from console.nccl.timing import Size, Timing
from console.services.allreduce_script import look_argv
from console.services.environ import port_of
from console.services.process import HostCommands
from console.services.stopper_gpu import GpuMemory, look_at_gpus
from console.transport.wire import Use, Wire

HIDDEN = 7_168
"""Assumed where the model's own config.json does not tell: the size of the largest models."""

SECONDS = 15.0
LIMIT_S = 60.0
"""For one set of variables: torch's start and NCCL's included."""

_GRACE_S = 10.0
_PYTHON_DEADLINE_S = 15.0
_RANKS_WITHOUT_GPU = 2


class Refused(Exception):
    """It was not started; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What it would run on. `gpus` is empty where the host has none; `hidden` is 0 unknown."""

    python: str
    gpus: tuple[int, ...]
    hidden: int = 0

    @property
    def ranks(self) -> int:
        """One for each GPU, two without any."""
        return len(self.gpus) or _RANKS_WITHOUT_GPU


@dataclass(frozen=True, slots=True)
class Ask:
    """One timing: numbers of tokens, the model's hidden size, seconds of measuring, limit."""

    tokens: tuple[int, ...]
    hidden: int
    seconds: float = SECONDS
    limit_s: float = LIMIT_S


class AllReduces:
    """All-reduces on the hosts of a fleet, with the Python that a server's recipe starts."""

    def __init__(
        self,
        fleet: Fleet,
        wire_of: Callable[[str], Wire],
        clock: Clock,
        pace: Pace,
        masks: Masks,
    ) -> None:
        self._fleet = fleet
        self._wire_of = wire_of
        self._clock = clock
        self._pace = pace
        self._masks = masks

    async def ground(self, name: str, python: str = "") -> Ground:
        """What is free, and who can time it; `python` in place of the recipe's program.

        Raises:
            Refused: a server uses the GPUs, or no Python is known.
            WireError: the host was not reached.
        """
        server = self._fleet.server(name)
        host = HostCommands(self._wire_of(name), self._clock, self._pace, self._masks)
        memory = await look_at_gpus(host)
        gpus = self._gpus(server, memory)
        for port in sorted(self._ports(server, gpus)):
            tree = await host.tree(port)
            if tree.listening:
                raise Refused(f"a server uses the GPUs: something listens on port {port}; stop it")
        for gpu in gpus:
            held = sorted((memory.holders or {}).get(gpu, ()))
            if held:
                raise Refused(f"GPU {gpu} is in use by process {held[0]}; all must be free")
        recipe = server.recipe
        words = recipe.argv if recipe is not None else ()
        cwd = recipe.cwd if recipe is not None else ""
        rows = await host.run(look_argv(words, python, cwd))
        said = dict(row.removeprefix("@").partition(" ")[::2] for row in rows if row[:1] == "@")
        found, hidden = said.get("python", ""), said.get("hidden", "")
        if not found:
            why = said.get("none") or "no program is known that starts it"
            raise Refused(f"no Python to time with: {host.clean(why)}; name it with --python")
        return Ground(found, gpus, whole(hidden) or 0)

    def _gpus(self, server: Server, memory: GpuMemory) -> tuple[int, ...]:
        if not memory.readable or not memory.used_mib:
            return ()
        return self._fleet.slot(server.slot).gpus or tuple(sorted(memory.used_mib))

    def _ports(self, server: Server, gpus: Iterable[int]) -> set[int]:
        """Ports of all servers of this host that share a GPU with this one, or its slot."""
        mine, host = {*gpus}, self._fleet.host_of(server).name
        return {
            port_of(self._fleet, one)
            for one in self._fleet.servers
            if (slot := self._fleet.slot(one.slot)).host == host
            and (slot.name == server.slot or not slot.gpus or mine & {*slot.gpus})
        }

    async def time(
        self, name: str, ground: Ground, ask: Ask, profile: str, env: Mapping[str, str]
    ) -> Timing:
        """One set of variables, timed; other NCCL_ names of the host's shell are left out.

        Raises:
            WireError: the link was lost.
        """
        program = files("console.services").joinpath("allreduce_timer.py").read_bytes()
        visible = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, ground.gpus))} if ground.gpus else {}
        # Gloo asks for an address of the host's name, which need not resolve.
        local = {} if ground.gpus else {"GLOO_SOCKET_IFNAME": "lo"}
        job = {
            "program": program.decode(),
            "boot": BOOTSTRAP,
            "backend": "nccl" if ground.gpus else "gloo",
            "ranks": ground.ranks,
            "tokens": list(ask.tokens),
            "hidden": ask.hidden,
            "seconds": ask.seconds,
            "limit_s": ask.limit_s,
            "env": {**local, **env, **visible},
        }
        given = b"%d\n" % len(program) + program + json.dumps(job).encode() + b"\n"
        blank = Timing(profile, bool(ground.gpus), ground.ranks)
        argv, deadline_s = list(worker_argv(ground.python)), ask.limit_s + _GRACE_S
        try:
            wire = self._wire_of(name)
            done = await wire.run(argv, stdin=given, deadline_s=deadline_s, use=Use.ACT)
        except WireError as error:
            if error.kind is not Failure.TIMEOUT:
                raise
            return read_timing(blank, b"", f"not within {deadline_s:g} s")
        said = done.err.decode("utf-8", "replace").strip().splitlines()
        return read_timing(blank, done.out, said[-1] if said else f"exit {done.code}")


def read_timing(blank: Timing, out: bytes, otherwise: str) -> Timing:
    """The records of one run; `otherwise` is why, where they have no end."""
    torch = nccl = ""
    sizes: list[Size] = []
    why = otherwise or "it ended without a word"
    for row in out.decode("utf-8", "replace").splitlines():
        try:
            record = json.loads(row)
            match record["kind"]:
                case "ready":
                    torch, nccl = str(record["torch"]), str(record["nccl"])
                case "size":
                    sizes.append(
                        Size(
                            int(record["tokens"]),
                            int(record["bytes"]),
                            float(record["median_us"]),
                            float(record["p10_us"]),
                            float(record["p90_us"]),
                            int(record["calls"]),
                        )
                    )
                case "failed":
                    why = f"rank {record['rank']} failed: {record['why'] or record['code']}"
                case "limit":
                    why = f"stopped at its limit of {record['limit_s']:g} s: a hang, or too slow"
                case "end":
                    why = "" if sizes else "no size was timed"
        except (ValueError, KeyError, TypeError, RecursionError):
            # A library may write to standard output as well; what is no record is not ours.
            continue
    return Timing(blank.profile, blank.gpu, blank.ranks, torch, nccl, tuple(sizes), why)
