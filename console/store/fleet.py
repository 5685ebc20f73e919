"""fleet.toml, `schema = "fleet/1"`: found, read and checked whole.

A wrong file is refused with every mistake in it; nothing is guessed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from console.model.fleet import (
    Arm,
    Command,
    Engine,
    Fleet,
    Host,
    LogSource,
    Recipe,
    Server,
    Slot,
    Wire,
)
from console.store.folders import config_folder
from console.store.toml import Document, Table, load, nearest, one_of

SCHEMA = "fleet/1"
FILE = "fleet.toml"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,62}")


def find_fleet(named: str | None) -> Path | None:
    """The fleet file: the one named, else in the working directory, else the configuration's."""
    if named is not None:
        return Path(named)
    for folder in (Path.cwd(), config_folder()):
        if (folder / FILE).is_file():
            return folder / FILE
    return None


def load_fleet(path: str | Path) -> Fleet:
    """Read a fleet file.

    Raises:
        BadFile: with every mistake's place.
    """
    return read_fleet(load(path))


def read_fleet(document: Document) -> Fleet:
    """The fleet a parsed document describes.

    Raises:
        BadFile: with every mistake's place.
    """
    top = document.top_of(SCHEMA)
    name = top.text("name", Path(document.file).name)
    hosts = tuple(map(_host, top.tables("host")))
    slots = tuple(_slot(table, [host.name for host in hosts]) for table in top.tables("slot"))
    servers = tuple(_server(table, [slot.name for slot in slots]) for table in top.tables("server"))
    commands = tuple(
        _command(table, [host.name for host in hosts]) for table in top.tables("command")
    )
    top.finish()
    if not servers and not document.problems:
        top.complain("", "no [[server]]: at least one was expected")
    for kind, names in (
        ("host", [host.name for host in hosts]),
        ("slot", [slot.name for slot in slots]),
        ("server", [server.name for server in servers]),
        ("command", [command.name for command in commands]),
    ):
        _unique(document, kind, names)
    document.refuse()
    return Fleet(name, hosts, slots, servers, document.file, commands)


def _unique(document: Document, kind: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name and name in seen:
            document.complain((kind, place, "name"), f'a second {kind} is named "{name}"')
        seen.add(name)


def _name(table: Table) -> str:
    name = table.text("name", required=True)
    if name and not _NAME.fullmatch(name):
        table.complain(
            "name", "name: letters, digits, dot, colon, dash and underscore were expected"
        )
    return name


def _known(table: Table, key: str, valid: Collection[str]) -> str:
    """A reference to something named elsewhere in the file."""
    name = table.text(key, required=True)
    if name and name not in valid:
        hint = nearest(name, valid) or f" (known: {one_of(valid) or 'none'})"
        table.complain(key, f'{key}: no {key} is named "{name}"{hint}')
    return name


def _host(table: Table) -> Host:
    name = _name(table)
    alias = table.text("ssh")
    local = table.flag("local")
    if alias.startswith("-"):
        table.complain("ssh", "ssh: an alias cannot begin with a dash")
    if bool(alias) == local:
        table.complain("", 'either ssh = "ALIAS" or local = true was expected')
    wire = table.choice("transport", Wire, Wire.LOCAL if local else Wire.ASYNCSSH)
    if wire is not None and (wire is Wire.LOCAL) != local and "transport" in table.names():
        table.complain("transport", f'transport: "{wire}" does not fit this host')
    host = Host(
        name,
        wire or Wire.LOCAL,
        alias,
        _home(table.text("ssh_config")),
        table.texts("enter"),
        table.flag("read_only"),
    )
    table.finish()
    return host


def _slot(table: Table, hosts: Collection[str]) -> Slot:
    slot = Slot(
        _name(table),
        _known(table, "host", hosts),
        table.numbers("gpus"),
        table.number("port", least=1, most=65535),
    )
    table.finish()
    return slot


def _command(table: Table, hosts: Collection[str]) -> Command:
    command = Command(
        _name(table), _known(table, "host", hosts), table.texts("argv"), table.flag("read_only")
    )
    if not command.argv or not all(command.argv[:1]):
        table.complain("argv", 'argv = ["nvidia-smi", "topo", "-m"] or the like was expected')
    table.finish()
    return command


def _server(table: Table, slots: Collection[str]) -> Server:
    name = _name(table)
    slot = _known(table, "slot", slots)
    arm = table.choice("arm", Arm)
    engine = table.choice("engine", Engine, Engine.AUTO)
    server = Server(
        name,
        slot,
        arm or Arm.BASELINE,
        _url(table),
        engine or Engine.AUTO,
        _log(table),
        _recipe(table),
        table.text("api_key_env"),
        _home(table.text("api_key_file")),
        table.flag("read_only"),
        _home(table.text("ca_file")),
    )
    if server.ca_file and server.url.startswith("http:"):
        table.complain("ca_file", "ca_file: its url is no https url, so nothing would be checked")
    if "api_key" in table.names():
        table.raw("api_key")
        table.complain("api_key", "a key has no place in this file: api_key_env or api_key_file")
    table.finish()
    return server


def _url(table: Table) -> str:
    url = table.text("url", required=True)
    if not url:
        return url
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        table.complain("url", f'url: "http://127.0.0.1:8000" or the like was expected, not "{url}"')
    elif parts.username or parts.password:
        table.complain("url", "url: a user or password has no place in this file")
    return url.rstrip("/")


def _log(table: Table) -> LogSource | None:
    value = table.raw("log")
    if value is None:
        return None
    if isinstance(value, str) and value:
        return LogSource(path=value)
    below = table.table("log") if isinstance(value, dict) else None
    if below is None:
        table.complain("log", 'log: "PATH" or { argv = ["docker", "logs", "-f", …] } was expected')
        return None
    argv = below.texts("argv")
    if not argv:
        below.complain("argv", 'log: argv = ["docker", "logs", "-f", …] was expected')
    resume = below.texts("resume")
    if "resume" in below.names() and not re.search(r"\{(rfc3339|epoch)\}", " ".join(resume)):
        below.complain("resume", 'resume: ["--since", "{rfc3339}"] or "{epoch}" was expected')
    below.finish()
    return LogSource(argv=argv, resume=resume)


def _recipe(table: Table) -> Recipe | None:
    below = table.table("recipe")
    if below is None:
        return None
    recipe = Recipe(below.texts("argv"), below.text("cwd"), below.text("env_file"))
    if not recipe.argv:
        below.complain("argv", "recipe: argv = [ … ] was expected")
    below.finish()
    return recipe


def _home(path: str) -> str:
    return os.path.expanduser(path) if path.startswith("~") else path
