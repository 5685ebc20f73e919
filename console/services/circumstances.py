"""Under which circumstances a server runs now: host, launch, environment, GPUs, arguments.

Owns turning one look at the host and the server's own words into the groups that two arms are
held against. What could not be read stays unread with its reason; it is never unset.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from console.bench.provenance import (
    SECRET_WORDS,
    Group,
    Unread,
    Unset,
    Value,
    allowed_environment,
)
from console.model.failure import WireError
from console.model.fleet import Server
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.model.text import clean
from console.nccl.truth import Extent
from console.services.arguments import args_seen
from console.services.engine import Found
from console.services.probe_script import probe_argv, probe_script
from console.stream.environment import basis, effective
from console.stream.state import Server as ServerCell
from console.transport.wire import Wire

Groups = dict[str, Group]
_RANDOM = frozenset({"media_marker"})
"""What a server makes up at every start."""
_GPU_KEYS = ("uuids", "names", "power_limit_w", "mig_mode", "ecc_mode", "persistence_mode")


async def look_at_host(server: Server, wire: Wire, deadline_s: float, utc: str) -> Groups:
    """Host, launch, configuration files, GPUs and libraries, in one round trip."""
    try:
        argv = probe_argv(_port(server))
        done = await wire.run(argv, stdin=probe_script(), deadline_s=deadline_s)
    except WireError as error:
        why = f"{error.kind.value}: {error.why}"
        unread = {name: Group({}, why) for name in ("launch", "conf", "gpu", "versions")}
        return {**unread, "host": Group({"name": _host_name(server, wire)}, why)}
    told = _rows(done.out.decode("utf-8", "replace"))
    if "probe.end" not in told:
        why = "the host's shell did not run the probe to its end"
        unread = {name: Group({}, why) for name in ("launch", "conf", "gpu", "versions")}
        return {**unread, "host": Group({"name": _host_name(server, wire)}, why)}
    return {
        "host": _host(told, _host_name(server, wire)),
        "launch": _launch(told, server, utc),
        "conf": _conf(told),
        "gpu": _gpu(told),
        "versions": _versions(told),
        "args": _argv(told),
    }


def _port(server: Server) -> int:
    url = urlsplit(server.url)
    return url.port or (443 if url.scheme == "https" else 80)


def _host_name(server: Server, wire: Wire) -> str:
    """`local` for this machine; else the fleet's name: addresses say nothing after a tunnel."""
    del server
    return "local" if wire.host.wire is Way.LOCAL else wire.host.name


def _rows(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        name, tab, value = line.partition("\t")
        if tab:
            found.setdefault(name, []).append(value.strip("\r"))
    return found


def _one(told: Mapping[str, list[str]], name: str) -> Value:
    values = told.get(name, [""])
    return values[0] or Unread("not told")


def _host(told: Mapping[str, list[str]], name: str) -> Group:
    values: dict[str, Value] = {"name": name}
    for key in ("boot_id", "kernel"):
        values[key] = _one(told, f"host.{key}")
    governor = told.get("host.cpu_governor", [""])[0]
    values["cpu_governor"] = governor or Unset()
    try:
        load, cores = float(told["host.load"][0]), int(told["host.cores"][0])
        values["load_average"] = "calm" if load <= max(1.0, cores / 4) else "busy"
    except (KeyError, ValueError):
        values["load_average"] = Unread("not told")
    return Group(values)


def _launch(told: Mapping[str, list[str]], server: Server, utc: str) -> Group:
    values: dict[str, Value] = {"url": server.url, "taken_utc": utc}
    pid, start = _one(told, "launch.pid"), _one(told, "launch.start_ticks")
    if isinstance(pid, Unread) or isinstance(start, Unread):
        return Group(values, "no process found that listens on the server's port")
    container = told.get("launch.container_id", [""])[0]
    boot = told.get("host.boot_id", [""])[0]
    launch = {"pid": pid, "start_time": start, "launch_id": f"{boot[:8]}-{pid}-{start}"}
    return Group({**values, **launch, "container_id": container or Unset()})


def _argv(told: Mapping[str, list[str]]) -> Group:
    """The command line's options, for engines that tell no resolved ones; secrets left out."""
    words = told.get("launch.argv", [""])[0].split()
    if not words:
        return Group({}, "no command line readable")
    values: dict[str, Value] = {}
    for word, after in zip(words, [*words[1:], "--"], strict=True):
        if word.startswith("--"):
            name, equals, value = word.removeprefix("--").partition("=")
            given = value if equals else "yes" if after.startswith("--") else after
            key = name.replace("-", "_")
            if name and not any(part in SECRET_WORDS for part in key.upper().split("_")):
                values[key] = given
    return Group(values)


def _conf(told: Mapping[str, list[str]]) -> Group:
    if "conf.etc" in told:
        return Group({"/etc/nccl.conf": told["conf.etc"][0]})
    if "conf.etc_absent" in told:
        return Group({"/etc/nccl.conf": Unset()})
    return Group({"/etc/nccl.conf": Unread("the server's root was not readable")})


def _gpu(told: Mapping[str, list[str]]) -> Group:
    if "gpu.none" in told:
        return Group({"uuids": "no GPU"})
    uuids = told.get("gpu.uuids", [])
    if not uuids or not all(uuid.startswith(("GPU-", "MIG-")) for uuid in uuids):
        said = uuids[0] if uuids else "nothing"
        return Group({}, f"nvidia-smi says: {said[:80]}")
    values: dict[str, Value] = {"count": str(len(uuids))}
    for key in _GPU_KEYS:
        rows = told.get(f"gpu.{key}", [])
        same = " ".join(rows) if key == "uuids" else ", ".join(dict.fromkeys(rows))
        values[key] = same or Unread("not told")
    return Group(values)


def _versions(told: Mapping[str, list[str]]) -> Group:
    values: dict[str, Value] = {}
    if "nccl.lib" in told:
        values["libnccl"] = told["nccl.lib"][0]
    elif "nccl.readable" in told:
        values["libnccl"] = "no libnccl mapped"
    else:
        values["libnccl"] = Unread("no memory map was readable")
    drivers = ", ".join(dict.fromkeys(told.get("gpu.drivers", [])))
    values["driver"] = "no GPU" if "gpu.none" in told else drivers or Unread("not told")
    return Group(values)


def environment_of(cell: ServerCell) -> Group:
    """What is in effect in a server's processes by all that was read of them; what is not named
    there is unset only where somebody's block was read whole."""
    values, extent = effective(cell)
    kept = allowed_environment(values)
    if extent is Extent.WHOLE:
        return Group(kept)
    read, lack = basis(cell)
    process = cell.process
    why = lack or (read.why if read is not None else "")
    why = why or (process.why if process is not None else "") or "no process could be read"
    return Group(kept, f"environment: {why}")


def server_says(server: Server, found: Found, masks: Masks) -> Groups:
    """Arguments and model as the server itself tells them; no arguments where its engine tells
    none, so that those of its command line stand."""
    name: Value = clean(found.model, masks) if found.model else Unread("not told")
    model = {"model": Group({"name": name})}
    if found.info is None or not found.info.args:
        return model
    seen = args_seen(clean(server.name, masks), found.info.args, masks)
    args: dict[str, Value] = {
        str(name): str(text) for name, text in seen.args if name not in _RANDOM
    }
    return {"args": Group(args), **model}
