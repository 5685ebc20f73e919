"""Under which circumstances a server runs now: host, launch, environment, GPUs, arguments.

Owns turning one look at the host and the server's own words into the groups that two arms are
held against. What could not be read stays unread with its reason; it is never unset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from console.bench.provenance import (
    SECRET_WORDS,
    Group,
    Unread,
    Unset,
    Value,
    allowed_environment,
)
from console.engines.nvidia import reported
from console.model.failure import WireError
from console.model.fleet import Server
from console.model.fleet import Wire as Way
from console.model.mask import Masks
from console.model.number import whole
from console.model.text import clean
from console.nccl.truth import Extent
from console.services.arguments import args_seen
from console.services.circumstances_software import Rows, model, topology, versions
from console.services.engine import Found
from console.services.probe_script import probe_argv, probe_script
from console.services.timing import elsewhere
from console.stream.environment import basis, effective
from console.stream.state import Server as ServerCell
from console.transport.wire import Wire

Groups = dict[str, Group]
_RANDOM = frozenset({"media_marker"})
"""What a server makes up at every start."""
_PROBED = ("launch", "conf", "gpu", "versions", "model", "topology")
_HOST_KEYS = ("machine_id", "bios", "numa", "affinity", "transparent_hugepage", "virtualisation")
_GPU_KEYS = {
    "uuid": "uuids",
    "name": "names",
    "power.limit": "power_limit_w",
    "mig.mode.current": "mig_mode",
    "ecc.mode.current": "ecc_mode",
    "persistence_mode": "persistence_mode",
    "vbios_version": "vbios",
    "clocks.applications.graphics": "application_clocks",
    "ecc.errors.corrected.volatile.total": "ecc_errors",
    "ecc.errors.uncorrected.volatile.total": "ecc_errors_uncorrected",
}
"""nvidia-smi's fields and what they are called here."""
_MAY_LACK = frozenset({"application_clocks"})
"""What drivers stopped telling: then it is unknown, not a setting of that name."""
_UNTOLD = "the driver does not tell"
_REMAPPED = ("{} correctable", "{} uncorrectable", "pending", "failed")


async def look_at_host(
    server: Server, wire: Wire, deadline_s: float, utc: str, said: Groups | None = None
) -> Groups:
    """Host, launch, configuration files, GPUs, model and software, in one round trip. `said`: what
    the server tells of itself, None to look again only at what can change while it runs."""
    far = elsewhere(server.url, wire)
    if far:
        return _unread(far, f"{far} is another machine: name it as a host of a fleet, by SSH")
    name = _host_name(wire)
    try:
        argv = probe_argv(_port(server), *(_models(said) if said is not None else ()))
        script = probe_script(again=said is None)
        done = await wire.run(argv, stdin=script, deadline_s=deadline_s)
    except WireError as error:
        return _unread(name, f"{error.kind.value}: {error.why}")
    told = _rows(done.out.decode("utf-8", "replace"))
    if "probe.end" not in told:
        return _unread(name, "the host's shell did not run the probe to its end")
    groups = {
        "host": _host(told, name),
        "launch": _launch(told, server, utc),
        "conf": _conf(told),
        "gpu": _gpu(told),
    }
    if said is None:
        return groups
    software = {"versions": versions(told), "model": model(told), "topology": topology(told)}
    return {**groups, **software, "args": _argv(told)}


def _unread(name: str, why: str) -> Groups:
    groups = {group: Group({}, why) for group in _PROBED}
    return {**groups, "host": Group({"name": name}, why)}


def _models(said: Groups) -> tuple[str, str, str]:
    """Model, draft and revision as the server's own arguments have them, "" where they do not."""
    args = said["args"].values if "args" in said else {}

    def first(*names: str) -> str:
        found = (args.get(name) for name in names)
        return next((one for one in found if isinstance(one, str) and one != "None"), "")

    draft = first("speculative_draft_model_path", "speculative_model")
    return first("model_path", "model"), draft, first("revision")


def _port(server: Server) -> int:
    url = urlsplit(server.url)
    return url.port or (443 if url.scheme == "https" else 80)


def _host_name(wire: Wire) -> str:
    """`local` for this machine; else the fleet's name: addresses say nothing after a tunnel."""
    return "local" if wire.host.wire is Way.LOCAL else wire.host.name


def _rows(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        name, tab, value = line.partition("\t")
        if tab:
            found.setdefault(name, []).append(value.strip("\r"))
    return found


def _one(told: Rows, name: str) -> Value:
    values = told.get(name, [""])
    return values[0] or Unread("not told")


def _host(told: Rows, name: str) -> Group:
    values: dict[str, Value] = {"name": name}
    for key in ("boot_id", "kernel"):
        values[key] = _one(told, f"host.{key}")
    for key in _HOST_KEYS:
        if f"host.{key}" in told:
            values[key] = told[f"host.{key}"][0]
    governor = told.get("host.cpu_governor", [""])[0]
    values["cpu_governor"] = governor or Unset()
    try:
        load, cores = float(told["host.load"][0]), int(told["host.cores"][0])
        values["load_average"] = "calm" if load <= max(1.0, cores / 4) else "busy"
    except (KeyError, ValueError):
        values["load_average"] = Unread("not told")
    return Group(values)


def _launch(told: Rows, server: Server, utc: str) -> Group:
    values: dict[str, Value] = {"url": server.url, "taken_utc": utc}
    pid, start = _one(told, "launch.pid"), _one(told, "launch.start_ticks")
    if isinstance(pid, Unread) or isinstance(start, Unread):
        return Group(values, "no process found that listens on the server's port")
    container = told.get("launch.container_id", [""])[0]
    boot = told.get("host.boot_id", [""])[0]
    launch = {"pid": pid, "start_time": start, "launch_id": f"{boot[:8]}-{pid}-{start}"}
    values |= {**launch, "container_id": container or Unset()}
    if container:
        values["image_digest"] = _one(told, "launch.image_digest")
    return Group(values)


def _argv(told: Rows) -> Group:
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


def _conf(told: Rows) -> Group:
    """The files NCCL reads, by checksum; those of the process's own environment only where that
    could be read."""
    values: dict[str, Value] = {}
    if "conf.etc" in told:
        values["/etc/nccl.conf"] = _one(told, "conf.etc")
    elif "conf.etc_absent" in told:
        values["/etc/nccl.conf"] = Unset()
    else:
        values["/etc/nccl.conf"] = Unread("the server's root was not readable")
    for key, name in (("named", "NCCL_CONF_FILE"), ("home", "~/.nccl.conf")):
        if "conf.readable" not in told:
            values[name] = Unread("the server's environment was not readable")
        elif f"conf.{key}" in told:
            values[name] = told[f"conf.{key}"][0] or Unread("it names a file that is not readable")
        else:
            values[name] = Unset()
    return Group(values)


def _gpu(told: Rows) -> Group:
    if "gpu.none" in told:
        return Group({"uuids": "no GPU"})
    columns = _gpu_columns(told)
    uuids = columns.get("uuid", [])
    if not uuids or not all(uuid.startswith(("GPU-", "MIG-")) for uuid in uuids):
        said = (uuids or told.get("gpu.refused.uuid", []) or ["nothing"])[0]
        return Group({}, f"nvidia-smi says: {said[:80]}")
    values: dict[str, Value] = {"count": str(len(uuids))}
    for field, key in _GPU_KEYS.items():
        rows = columns.get(field, [])
        if f"gpu.refused.{field}" in told:
            values[key] = "no such field in this driver"
        else:
            same = " ".join(rows) if key == "uuids" else ", ".join(dict.fromkeys(rows))
            untold = key in _MAY_LACK and not any(map(reported, rows))
            values[key] = Unread(_UNTOLD) if untold else same or Unread("not told")
    values["remapped_rows"] = _remapped(told, uuids)
    busy = told.get("gpu.busy_tenants", [""])[0]
    if busy != "0":
        at_work = whole(busy) is not None
        values["busy_tenants"] = "active" if at_work else Unread(busy or "no nvidia-smi pmon")
    if "gpu.idle_tenants" in told:
        values["idle_tenants"] = f"{told['gpu.idle_tenants'][0]} other processes"
    return Group(values)


def _remapped(told: Rows, uuids: Sequence[str]) -> Value:
    """Rows of memory that were replaced, by GPU; `none` where the driver tells of none."""
    found, known = [], False
    for row in told.get("gpu.remapped", []):
        uuid, *cells = (cell.strip() for cell in row.split(","))
        if uuid not in uuids or len(cells) != len(_REMAPPED) or not any(map(reported, cells)):
            continue
        known = True
        words = [
            form.format(cell)
            for form, cell in zip(_REMAPPED, cells, strict=True)
            if reported(cell) and cell not in ("0", "No")
        ]
        found += [f"GPU {uuids.index(uuid)}: {', '.join(words)}"] if words else []
    if not known:
        return Unread(told.get("gpu.remapped_refused", [_UNTOLD])[0][:80])
    return "; ".join(found) or "none"


def _gpu_columns(told: Rows) -> Mapping[str, Sequence[str]]:
    """Each field's values, one a GPU."""
    if "gpu.fields" in told:
        names = told["gpu.fields"][0].split(",")
        rows = [row.split(", ") for row in told.get("gpu.row", [])]
        return {
            name: [row[place] for row in rows if len(row) == len(names)]
            for place, name in enumerate(names)
        }
    start = "gpu.one."
    return {name.removeprefix(start): rows for name, rows in told.items() if name.startswith(start)}


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
    served = {"model": Group({"name": name})}
    if found.info is None or not found.info.args:
        return served
    seen = args_seen(clean(server.name, masks), found.info.args, masks)
    args: dict[str, Value] = {
        str(name): str(text) for name, text in seen.args if name not in _RANDOM
    }
    return {"args": Group(args), **served}


def joined(probed: Groups, said: Groups) -> Groups:
    """What was probed with what the server says over it, its model's name beside the files."""
    found = {**probed, **said}
    files, served = probed.get("model"), said.get("model")
    if files is not None and served is not None:
        found["model"] = Group({**files.values, **served.values}, files.unread)
    return found
