"""Lays the lab out on disk: hosts with homes and stand-ins, fleet and SSH configuration.

Everything lies below the private directory and goes with it; nothing else on the machine is
touched.
"""

from __future__ import annotations

import getpass
import os
import shlex
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from console.lab.site import Site

_ROOT = Path(__file__).resolve().parents[2]
BASELINE, SPECULATIVE = "kimi-base", "kimi-eagle3"
MODEL = "/srv/models/Kimi-K2.5"
_EAGLE = (
    "--speculative-algorithm",
    "EAGLE3",
    "--speculative-draft-model-path",
    "/srv/models/Kimi-K2.5-Eagle3",
    "--speculative-num-steps",
    "3",
    "--speculative-eagle-topk",
    "1",
    "--speculative-num-draft-tokens",
    "4",
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A launch as fleet.toml has it; paths are on the host."""

    name: str
    arm: str
    argv: tuple[str, ...]
    cwd: str
    env_file: str
    env: dict[str, str]
    log: str


def make_private(directory: Path) -> None:
    """Create the directory, or accept an empty one of ours; OSError says what is wrong with it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.stat().st_uid != os.getuid() or any(directory.iterdir()):
        raise OSError(f"{directory} is not an empty directory of this user")
    directory.chmod(0o700)


def free_port() -> int:
    """A port of loopback that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


_ENDS_WITH_ITS_PIPE = "import signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
"""For a command only: a server has to outlive a client that leaves in the middle of an answer."""


def _stand_in(path: Path, module: str, host_dir: Path, call: str, first: str = "") -> None:
    # The shell line lets the interpreter's path be long or hold spaces, as pip does it.
    path.write_text(
        "#!/bin/sh\n"
        f"'''exec' {shlex.quote(sys.executable)} \"$0\" \"$@\"\n"
        "' '''\n"
        "import sys\n"
        "from pathlib import Path\n"
        f"{first}"
        f"sys.path.insert(0, {str(_ROOT)!r})\n"
        f"from {module} import main\n"
        f"sys.exit({call.format(host=f'Path({str(host_dir)!r})')})\n"
    )
    path.chmod(0o755)


def lay_host(site: Site) -> Path:
    """One host: home, run directory, stand-ins in its PATH; its directory."""
    host_dir = Path(site.directory)
    (host_dir / "home").mkdir(parents=True)
    (host_dir / "bin").mkdir()
    site.save(host_dir)
    _stand_in(
        host_dir / "bin" / "sglang", "console.lab.server", host_dir, "main(sys.argv[1:], {host})"
    )
    _stand_in(
        host_dir / "bin" / "nvidia-smi",
        "console.lab.nvidia_smi",
        host_dir,
        "main(sys.argv[1:], {host})",
        _ENDS_WITH_ITS_PIPE,
    )
    return host_dir


def host_env(site: Site) -> dict[str, str]:
    """What a session on the host has, and no variable of the person's own."""
    user = getpass.getuser()
    return {
        "HOME": f"{site.directory}/home",
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/sh",
        "PATH": f"{site.directory}/bin:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
    }


def recipes(site: Site, port: int) -> list[Recipe]:
    """Both arms of the host's slot, with their environment files and log directory made."""
    home = Path(site.directory) / "home"
    work = home / "kimi"
    (work / "logs").mkdir(parents=True)
    found = []
    for name, arm, extra, log in (
        (BASELINE, "baseline", (), "sglang_baseline.log"),
        (SPECULATIVE, "speculative", _EAGLE, "sglang_eagle3.log"),
    ):
        env_file = work / f"{name}.env"
        env = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "16"}
        env_file.write_text("".join(f"{key}={value}\n" for key, value in env.items()))
        program = f"{site.directory}/bin/sglang"
        words = f"serve --model-path {MODEL} --served-model-name kimi-k2.5-simulated --tp-size 8"
        words += f" --host 127.0.0.1 --port {port} --enable-metrics"
        argv = (program, *words.split(), *extra)
        log_path = str(work / "logs" / log)
        found.append(Recipe(name, arm, argv, str(work), str(env_file), env, log_path))
    return found


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def fleet_text(hosts: list[str], ssh_config: str, port: int, launches: list[Recipe]) -> str:
    """The lab's fleet.toml; the first host has the only slot."""
    out = ["# The lab: everything here is simulated.", 'schema = "fleet/1"', ""]
    for host in hosts:
        out += ["[[host]]", f'name = "{host}"', f'ssh = "{host}"']
        out += [f"ssh_config = {_quoted(ssh_config)}", ""]
    slot = f"{hosts[0]}-a"
    out += ["[[slot]]", f'name = "{slot}"', f'host = "{hosts[0]}"']
    out += ["gpus = [0, 1, 2, 3, 4, 5, 6, 7]", f"port = {port}", ""]
    for launch in launches:
        argv = ", ".join(_quoted(word) for word in launch.argv)
        out += [
            "[[server]]",
            f'name = "{launch.name}"',
            f'slot = "{slot}"',
            f'arm = "{launch.arm}"',
            'engine = "sglang"',
            f'url = "http://127.0.0.1:{port}"',
            f"log = {_quoted(launch.log)}",
            "[server.recipe]",
            f"argv = [{argv}]",
            f"cwd = {_quoted(launch.cwd)}",
            f"env_file = {_quoted(launch.env_file)}",
            "",
        ]
    return "\n".join(out)


def ssh_config_text(directory: Path, ports: dict[str, int]) -> str:
    """An ssh_config with one alias per host, for `ssh -F` and asyncssh alike."""
    out = ["# The lab's hosts, all on this machine."]
    for host, port in ports.items():
        out += [
            f"Host {host}",
            "    HostName 127.0.0.1",
            f"    Port {port}",
            "    User simulated",
            f'    IdentityFile "{directory}/client_key"',
            "    IdentitiesOnly yes",
            "    PreferredAuthentications publickey",
            f'    UserKnownHostsFile "{directory}/known_hosts"',
            "    GlobalKnownHostsFile /dev/null",
            "",
        ]
    return "\n".join(out)
