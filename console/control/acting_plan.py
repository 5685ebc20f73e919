"""What a person does by hand where something else keeps a server running: exact commands.

Pure. A container is renamed and kept until its successor is confirmed; no command here removes
anything but in the line that says when. No value of the container's own variables is shown: they
go from the engine into a file on the host.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from console.control.acting_request import Request
from console.model.mask import MASKED
from console.services.supervised import Supervised


def planned(kept: Supervised, request: Request, name: str, at: str) -> Iterator[str]:
    """The commands, comments in `#`; `at` tells this act's files from others, `name` is the slot's
    server."""
    if kept.unit:
        yield from _unit(kept.unit, request)
    elif kept.container:
        yield from _container(kept, request, at)
    elif kept.first:
        yield f"# {name} is the first process of its container: ending it ends the container"
        yield "# on the machine that runs it: docker restart NAME"
    else:
        yield f"# {name} runs in another container or chroot, whose engine could not be asked"
        yield "# on its host: docker ps; docker restart NAME"


def _unit(unit: str, request: Request) -> Iterator[str]:
    if not request.starts:
        yield f"sudo systemctl stop {unit}"
        yield f"# to undo: sudo systemctl start {unit}"
        return
    if not request.wanted:
        yield f"sudo systemctl restart {unit}"
        return
    folder = f"/etc/systemd/system/{unit}.d"
    file = f"{folder}/60-spec-console.conf"
    lines = ["[Service]"]
    for name, value in request.wanted.items():
        quoted = (value or "").replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
        lines.append(
            f"UnsetEnvironment={name}" if value is None else f'Environment="{name}={quoted}"'
        )
    yield f"sudo mkdir -p {folder}"
    yield f"printf '%s\\n' {shlex.join(lines)} | sudo tee {file}"
    yield "sudo systemctl daemon-reload"
    yield f"sudo systemctl restart {unit}"
    yield f"# to undo: sudo rm {file}; sudo systemctl daemon-reload; sudo systemctl restart {unit}"


def _container(kept: Supervised, request: Request, at: str) -> Iterator[str]:
    engine, name = kept.engine, shlex.quote(kept.container)
    stop = f"{engine} stop -t {max(1, round(request.grace_s))} {name}"
    if not request.starts or not request.wanted:
        yield stop
        if request.starts:
            yield f"{engine} start {name}"
        else:
            yield f"# to undo: {engine} start {name}"
        return
    old, file = f"{name}-before-{at}", f"~/{name}-{at}.env"
    form = shlex.quote("{{range .Config.Env}}{{println .}}{{end}}")
    names = "|".join(map(re.escape, request.wanted))
    yield "umask 077"
    yield f"{engine} inspect -f {form} {name} | grep -vE '^({names})=|^$' >{file}"
    sets = [f"{key}={value}" for key, value in request.wanted.items() if value is not None]
    if sets:
        yield f"printf '%s\\n' {shlex.join(sets)} >>{file}"
    yield stop
    yield f"{engine} rename {name} {old}"
    run = shlex.join(_options(kept.settings))
    words = " ".join(word if word == MASKED else shlex.quote(word) for word in kept.words)
    yield " ".join(
        filter(None, (f"{engine} run -d --name {name} --env-file {file}", run, kept.image, words))
    )
    if MASKED in kept.words:
        yield f"# {MASKED}: as {engine} inspect {old} shows it"
    yield f"# compare with {engine} inspect {old}: options beside these are yours to add"
    yield f"# once it is as it should be: {engine} rm {old}"
    yield f"# to undo: {engine} rm -f {name}; {engine} rename {old} {name}; {engine} start {name}"


def _options(said: Mapping[str, object]) -> Iterator[str]:
    """The options of a run that gives the same settings."""
    for option, key in (
        ("--network", "NetworkMode"), ("--ipc", "IpcMode"), ("--pid", "PidMode"),
        ("--user", "User"), ("--workdir", "WorkingDir"), ("--runtime", "Runtime"),
    ):  # fmt: skip
        value = said.get(key)
        if isinstance(value, str) and value and value not in ("default", "runc"):
            yield from (option, value)
    shm = said.get("ShmSize")
    if isinstance(shm, int) and shm:
        yield from ("--shm-size", str(shm))
    if said.get("Privileged") is True:
        yield "--privileged"
    for option, key in (("--volume", "Binds"), ("--cap-add", "CapAdd")):
        for one in _list(said.get(key)):
            yield from (option, str(one))
    for one in _list(said.get("Ulimits")):
        if isinstance(one, Mapping):
            yield from ("--ulimit", f"{one.get('Name')}={one.get('Soft')}:{one.get('Hard')}")
    ports = said.get("PortBindings")
    for inside, outside in ports.items() if isinstance(ports, Mapping) else ():
        for one in _list(outside):
            if isinstance(one, Mapping):
                address = f"{one['HostIp']}:" if one.get("HostIp") else ""
                yield from ("--publish", f"{address}{one.get('HostPort')}:{inside}")
    yield from _restart_and_gpus(said)


def _restart_and_gpus(said: Mapping[str, object]) -> Iterator[str]:
    policy = said.get("RestartPolicy")
    if isinstance(policy, Mapping) and policy.get("Name") not in (None, "", "no"):
        yield from ("--restart", str(policy["Name"]))
    for one in _list(said.get("DeviceRequests")):
        if isinstance(one, Mapping):
            ids = ",".join(map(str, _list(one.get("DeviceIDs"))))
            yield from ("--gpus", f'"device={ids}"' if ids else "all")
    entry = _list(said.get("Entrypoint"))
    if entry:
        yield from ("--entrypoint", str(entry[0]))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
