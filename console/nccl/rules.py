"""Combinations of variables that contradict, cancel or cost. Each rule is a function of the
readings in force; it yields findings and never looks at a value's spelling (check does)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from console.nccl.catalogue import lookup
from console.nccl.finding import Finding, Severity
from console.nccl.parse import leading_integer
from console.nccl.version import Version

LL_BYTES = 524_288
LL128_BYTES = 4_915_200
SIMPLE_BYTES = 4_194_304
CONNECTION_BYTES = 4_096
"""Buffers of one channel and one peer; together the 9637888 bytes NCCL asks for by default."""
MEMORY_WARNING_MIB = 1024

NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR
_ONLY_RING = ("broadcast", "reduce")


@dataclass(frozen=True, slots=True)
class Machine:
    """What is known of the box; None is unknown. `local_gpus` counts those of one host."""

    pcie_only: bool | None = None
    local_gpus: int | None = None


UNKNOWN_MACHINE = Machine()


@dataclass(frozen=True, slots=True)
class Setting:
    """The variables a library of `version` would look at."""

    env: Mapping[str, str]
    version: Version
    machine: Machine

    def number(self, name: str) -> int | None:
        """The number in NCCL_`name`, None if unset or not a number."""
        return leading_integer(self.env.get("NCCL_" + name, ""))[0]

    def words(self, name: str, function: str = "") -> frozenset[str] | None:
        """Lower-case words left by NCCL_`name` for `function`, None if it does not speak of it."""
        value = self.env.get("NCCL_" + name, "").lower()
        variable = lookup("NCCL_" + name)
        if not value or variable is None:
            return None
        answer = None
        for entry in value.split(";"):
            prefix, colon, rest = entry.partition(":")
            if colon and prefix != function:
                continue
            listed = (rest if colon else entry).strip("\"' ")
            words = frozenset(filter(None, listed.removeprefix("^").split(",")))
            known = frozenset(word.lower() for word in variable.values)
            answer = known - words if listed.startswith("^") else words
        return answer


def _say(
    rule: str, severity: Severity, setting: Setting, names: Iterable[str], why: str
) -> Finding:
    full = tuple("NCCL_" + name for name in names)
    written = " ".join(f"{n}={setting.env[n]}" for n in full if n in setting.env)
    return Finding(rule, severity, full, why, written, version=str(setting.version))


def _simple_buffer(s: Setting) -> Iterator[Finding]:
    left = s.words("PROTO", "allreduce")
    if left and "simple" not in left and "NCCL_BUFFSIZE" in s.env:
        why = (
            "BUFFSIZE sizes the Simple protocol only: with this PROTO collectives use "
            f"LL_BUFFSIZE ({LL_BYTES}) or LL128_BUFFSIZE, and it costs memory all the same"
        )
        yield _say("buffsize-unused", NOTE, s, ("BUFFSIZE", "PROTO"), why)
    if left == frozenset({"ll"}):
        why = (
            "LL sends 4 bytes of data in 8: fine for small decode messages, at most half the "
            "bandwidth for large ones such as prefill"
        )
        yield _say("ll-bandwidth", NOTE, s, ("PROTO",), why)


def _ll128(s: Setting) -> Iterator[Finding]:
    left = s.words("PROTO", "allreduce")
    value = s.env.get("NCCL_PROTO", "").lower()
    if not left or "ll128" not in left:
        return
    far = s.env.get("NCCL_P2P_LEVEL", "") in ("SYS", "PHB")
    severity = ERROR if s.machine.pcie_only else WARNING if far or "^" in value else NOTE
    why = "forced LL128 can corrupt data silently where a path does not keep 128-byte stores whole"
    if severity is ERROR:
        why += ", as PCIe paths do not"
    yield _say("ll128-forced", severity, s, ("PROTO",), why)


def _peer_access(s: Setting) -> Iterator[Finding]:
    disabled = s.number("P2P_DISABLE") == 1
    level = s.env.get("NCCL_P2P_LEVEL", "")
    if disabled and level:
        why = "P2P_DISABLE=1 wins, the level is not even read"
        yield _say("p2p-disabled", WARNING, s, ("P2P_DISABLE", "P2P_LEVEL"), why)
    if disabled and s.number("SHM_DISABLE") not in (None, 0):
        why = "neither peer access nor host memory: GPUs of one host talk through sockets"
        yield _say("sockets-only", WARNING, s, ("P2P_DISABLE", "SHM_DISABLE"), why)
    if level in ("SYS", "PHB", "3", "4", "5") and not disabled:
        why = (
            "peer access across host bridges hangs or corrupts data where ACS or the IOMMU is in "
            "the way; see `nvidia-smi topo -p2p r` and try a two-rank all-reduce first"
        )
        yield _say("p2p-far", NOTE, s, ("P2P_LEVEL",), why)


def _channels(s: Setting) -> Iterator[Finding]:
    for low, high, why in (
        ("MIN_NCHANNELS", "MAX_NCHANNELS", "the cap comes first, then the floor: the floor wins"),
        ("MIN_CTAS", "MAX_CTAS", "floor above cap: NCCL makes both equal"),
        ("MIN_P2P_NCHANNELS", "MAX_P2P_NCHANNELS", "floor above cap"),
    ):
        floor, cap = s.number(low), s.number(high)
        if floor is not None and cap is not None and floor > cap > 0:
            yield _say("floor-above-cap", WARNING, s, (low, high), why)
    for old, new in (("MAX_NCHANNELS", "MAX_CTAS"), ("MIN_NCHANNELS", "MIN_CTAS")):
        if s.number(old) is not None and s.number(new) is not None:
            which = "lower" if old.startswith("MAX") else "higher"
            yield _say("both-limits", NOTE, s, (old, new), f"the {which} of the two wins")
    for alias, name in (("MAX_NRINGS", "MAX_NCHANNELS"), ("MIN_NRINGS", "MIN_NCHANNELS")):
        if s.number(alias) is not None and s.number(name) is not None:
            yield _say("alias-loses", NOTE, s, (alias, name), f"{name} wins over its old name")


def _memory(s: Setting) -> Iterator[Finding]:
    sizes = (("BUFFSIZE", SIMPLE_BYTES), ("LL_BUFFSIZE", LL_BYTES), ("LL128_BUFFSIZE", LL128_BYTES))
    raised = tuple(name for name, usual in sizes if (s.number(name) or 0) > usual)
    counts = ("MAX_NCHANNELS", "MAX_CTAS", "MIN_NCHANNELS", "MIN_CTAS")
    named = tuple(name for name in counts if (s.number(name) or 0) > 0)
    if not raised:
        return
    one = CONNECTION_BYTES + sum(max(s.number(name) or usual, 0) for name, usual in sizes)
    caps = [s.number(name) or 0 for name in named]
    floor = max((c for n, c in zip(named, caps, strict=True) if n.startswith("MIN")), default=0)
    cap = min((c for n, c in zip(named, caps, strict=True) if n.startswith("MAX")), default=0)
    channels = min(max(floor, cap), 64)
    mib = one / 2**20
    why = f"{mib:.1f} MiB for each channel and neighbour of each communicator"
    if channels:
        total = mib * channels
        why = f"{channels} channels x {mib:.1f} MiB = {total:.0f} MiB per neighbour, communicator"
    why += "; through host memory it is /dev/shm that must hold it (64 MiB in a plain container)"
    heavy = mib * max(channels, 1) > MEMORY_WARNING_MIB
    yield _say("memory", WARNING if heavy else NOTE, s, raised + named, why)


def _alignment(s: Setting) -> Iterator[Finding]:
    size = s.number("LL128_BUFFSIZE")
    if size and size > 0 and size % 120:
        why = "not made of 120-byte lines: hangs and wrong results were reported"
        yield _say("ll128-lines", ERROR, s, ("LL128_BUFFSIZE",), why)
    for name in ("BUFFSIZE", "LL_BUFFSIZE", "P2P_NET_CHUNKSIZE", "P2P_PCI_CHUNKSIZE"):
        size = s.number(name)
        if size and size > 0 and size & (size - 1):
            why = "no power of two, which the maintainers advise"
            yield _say("power-of-two", NOTE, s, (name,), why)


def _algorithms(s: Setting) -> Iterator[Finding]:
    without = [f for f in _ONLY_RING if "ring" not in (s.words("ALGO", f) or {"ring"})]
    if without and s.version >= (2, 24):
        why = f"{' and '.join(without)} exist as Ring only and fail from 2.24"
        yield _say("no-ring", WARNING, s, ("ALGO",), why)
    left = s.words("ALGO", "allreduce") or frozenset()
    if left and left <= {"nvls", "nvlstree"}:
        if s.number("NVLS_ENABLE") == 0:
            why = "NVLS is the only algorithm left and switched off: start fails"
            yield _say("nvls-off", ERROR, s, ("ALGO", "NVLS_ENABLE"), why)
        protocols = s.words("PROTO", "allreduce")
        if protocols and "simple" not in protocols:
            why = "NVLS exists with Simple only: start fails"
            yield _say("nvls-simple", ERROR, s, ("ALGO", "PROTO"), why)
    if left and left <= {"collnetdirect", "collnetchain"} and s.number("COLLNET_ENABLE") != 1:
        why = "CollNet is the only algorithm left and switched off: start fails"
        severity = ERROR if s.number("COLLNET_ENABLE") == 0 else WARNING
        yield _say("collnet-off", severity, s, ("ALGO", "COLLNET_ENABLE"), why)
    algo, proto = s.env.get("NCCL_ALGO", ""), s.env.get("NCCL_PROTO", "")
    if s.version >= (2, 31) and algo:
        if ":" in algo.partition(";")[0] and proto and ":" not in proto:
            why = (
                "from 2.31 functions that ALGO does not name are left without an algorithm once "
                "PROTO forces them: start fails; put a list for all first: ring,tree;allreduce:tree"
            )
            yield _say("algo-per-function", ERROR, s, ("ALGO", "PROTO"), why)
        yield _say("no-symmetric", NOTE, s, ("ALGO",), "any ALGO switches symmetric kernels off")


def _dependencies(s: Setting) -> Iterator[Finding]:
    threads, sockets = s.number("SOCKET_NTHREADS"), s.number("NSOCKS_PERTHREAD")
    if threads and sockets and threads * sockets > 64:
        why = f"product {threads * sockets}, the limit is 64"
        yield _say("too-many-sockets", ERROR, s, ("SOCKET_NTHREADS", "NSOCKS_PERTHREAD"), why)
    if s.number("CUMEM_ENABLE") == 0:
        if s.number("MNNVL_ENABLE") == 1:
            why = "NVLink across hosts needs cuMem: start fails"
            yield _say("mnnvl-cumem", ERROR, s, ("MNNVL_ENABLE", "CUMEM_ENABLE"), why)
        if s.number("LOCAL_REGISTER") == 1:
            why = "without cuMem buffers are not registered and symmetric memory stays off"
            yield _say("register-cumem", NOTE, s, ("LOCAL_REGISTER", "CUMEM_ENABLE"), why)
    if s.number("GRAPH_STREAM_ORDERING") == 0 and s.number("GRAPH_MIXING_SUPPORT") == 1:
        why = "documented as unsupported together"
        yield _say("graph-order", ERROR, s, ("GRAPH_STREAM_ORDERING", "GRAPH_MIXING_SUPPORT"), why)
    tuner = s.env.get("NCCL_TUNER_PLUGIN", "none")
    pinned = tuple(n for n in ("ALGO", "PROTO") if s.env.get("NCCL_" + n))
    if tuner not in ("", "none") and pinned:
        why = "the environment wins over the tuner, and some tuners then refuse to load"
        yield _say("tuner-pinned", NOTE, s, ("TUNER_PLUGIN", *pinned), why)


def _engines(s: Setting) -> Iterator[Finding]:
    nvls = s.number("NVLS_ENABLE")
    if nvls and s.machine.local_gpus is not None and s.machine.local_gpus <= 2:
        why = "skipped with two or fewer GPUs in a host"
        yield _say("nvls-few-gpus", NOTE, s, ("NVLS_ENABLE",), why)
    for name in ("CUMEM_ENABLE", "NVLS_ENABLE"):
        if "NCCL_" + name in s.env:
            why = "SGLang may overwrite it: always before 0.5.6, later with its own flags only"
            yield _say("engine-sets", NOTE, s, (name,), why)


RULES: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _simple_buffer,
    _ll128,
    _peer_access,
    _channels,
    _memory,
    _alignment,
    _algorithms,
    _dependencies,
    _engines,
)


def combinations(env: Mapping[str, str], version: Version, machine: Machine) -> Iterator[Finding]:
    """Findings of all rules over the names that a library of `version` reads."""
    live = {}
    for name, value in env.items():
        variable = lookup(name)
        if variable is not None and variable.lives_in(version):
            live[name] = value
    setting = Setting(live, version, machine)
    for rule in RULES:
        yield from rule(setting)
