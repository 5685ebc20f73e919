"""What keeps a server's process running on its host: a unit, a container, or nothing but itself.

Owns the one command that asks, and what its answers mean. Of a container's variables it asks
nothing; words that follow a secret's name are masked on the host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from console.model.text import Clean
from console.services.process import HostCommands, Seen
from console.services.process_script import HIDE, command
from console.stream.fact import NOTHING

_ASKED = (
    "Binds", "NetworkMode", "IpcMode", "PidMode", "ShmSize", "Privileged", "CapAdd", "Ulimits",
    "PortBindings", "RestartPolicy", "DeviceRequests", "Runtime",
)  # fmt: skip
_FORM = (
    "@name {{.Name}}{{println}}@image {{.Config.Image}}{{println}}"
    "@Entrypoint {{json .Config.Entrypoint}}{{println}}@User {{json .Config.User}}{{println}}"
    "@WorkingDir {{json .Config.WorkingDir}}{{println}}"
    + "".join(f"@{name} {{{{json .HostConfig.{name}}}}}{{{{println}}}}" for name in _ASKED)
)
_WORDS = "{{range .Config.Cmd}}{{println .}}{{end}}"

# Only a unit whose main process it is, or its parent, would start it again: one that a person
# began from a terminal of a unit belongs to that person. Another root is what makes a container
# another place: a mount namespace of its own has many a session, too.
_LOOK = (
    r"""
export LC_ALL=C; p=$1 i=$2 form=$3 words=$4;
u=$(sed -nE "s/.*\/([A-Za-z0-9@_.:-]*\.service).*/\1/p" "/proc/$p/cgroup" 2>/dev/null | head -n 1);
q=$(sed -nE "s/^PPid:[[:space:]]*//p" "/proc/$p/status" 2>/dev/null);
if [ -n "$u" ]; then m=$(systemctl show -p MainPID "$u" 2>/dev/null | sed -n "s/^MainPID=//p");
case $m in ""|0|1) ;; "$p"|"$q") echo "@unit $u";; esac; fi;
if [ "$p" = 1 ]; then echo "@first"; fi;
r=$(stat -Lc %d:%i "/proc/$p/root/" 2>/dev/null);
if [ -n "$r" ] && [ "$r" != "$(stat -Lc %d:%i /)" ]; then echo "@elsewhere";
for e in docker podman; do
if [ -n "$i" ] && s=$("$e" inspect -f "$form" "$i" 2>/dev/null) && [ -n "$s" ]; then
echo "@engine $e"; echo "$s"; echo "@words";
"$e" inspect -f "$words" "$i" 2>/dev/null | hide; break; fi; done; fi;
echo "@end"
""",
    HIDE,
)


@dataclass(frozen=True, slots=True)
class Supervised:
    """What starts a process again, or ends with it.

    Attributes:
        unit: of systemd; empty for none.
        container: its name; `engine` is docker or podman, `image` and `words` what it runs.
        elsewhere: it has another root, whether its container is known or not.
        first: it is the first process of the container this host is.
        settings: what the engine says beside that, by field.
    """

    unit: Clean = NOTHING
    engine: str = ""
    container: Clean = NOTHING
    image: Clean = NOTHING
    words: tuple[Clean, ...] = ()
    elsewhere: bool = False
    first: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def by_hand(self) -> bool:
        """Whether an act must be left to a person."""
        return bool(self.unit) or self.elsewhere or self.first


NOTHING_KEEPS_IT = Supervised()


def supervised_argv(pid: int, container: str) -> list[str]:
    """Ask what keeps a process running; `container` is its id, empty for none.

    Prints `@unit NAME`, `@first`, `@elsewhere`, `@engine NAME` with what that says, `@words`.
    """
    return command(_LOOK, [str(pid), container, _FORM, _WORDS])


async def supervised(host: HostCommands, seen: Seen, container: str) -> Supervised:
    """What keeps it running.

    Raises:
        WireError: the host was not reached.
    """
    return read_supervised(await host.run(supervised_argv(seen.identity.pid, container)), host)


def read_supervised(rows: list[str], host: HostCommands) -> Supervised:
    """The rows of one answer; a field whose text is no JSON is left out."""
    said = dict(row[1:].partition(" ")[::2] for row in rows if row.startswith("@"))
    settings: dict[str, object] = {}
    for name in ("Entrypoint", "User", "WorkingDir", *_ASKED):
        try:
            settings[name] = json.loads(said.get(name, "null"))
        except (ValueError, RecursionError):
            continue
    return Supervised(
        host.clean(said.get("unit", "")),
        said.get("engine", ""),
        host.clean(said.get("name", "").lstrip("/")),
        host.clean(said.get("image", "")),
        tuple(host.clean(row[1:]) for row in rows if row.startswith(" ")),
        "elsewhere" in said,
        "first" in said,
        settings,
    )
