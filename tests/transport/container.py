"""A stand-in for a container: a root of BusyBox's, a process namespace, and a way in.

No Docker engine runs here. What docker does is done with unshare and chroot; `docker`, `kubectl`
and `srun` are scripts that take exactly `docker exec -i NAME COMMAND…`, `kubectl exec -i NAME --
COMMAND…` and `srun --jobid 7 --overlap COMMAND…` and refuse anything else; what `docker inspect`
says of the container lies beside the script, in `docker.inspect`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.rig.process import Child, parent_and_name
from tests.rig.waiting import until

BUSYBOX = Path("/usr/bin/busybox")
NAME = "kimi"

_INIT = """\
mount -t proc proc {root}/proc && mount --bind /dev {root}/dev &&
exec chroot {root} /bin/sh -c 'echo up; trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done'
"""
_WAY_IN = """\
#!/bin/sh
case "$*" in {words}\\ *) ;; "inspect --type container --format "*" {name}")
cat "$0.inspect"; exit ;; *) echo "Error response from daemon: {refusal}" >&2; exit 1 ;; esac
shift {count}
exec nsenter --target {pid} --mount --pid --root --wd "$@"
"""
WAYS_IN = {
    "docker": ("exec", "-i", NAME),
    "kubectl": ("exec", "-i", NAME, "--"),
    "srun": ("--jobid", "7", "--overlap"),
}


class Container:
    """One that runs.

    Attributes:
        root: its files, as this machine sees them.
        enter: the argv that gets into it.
        ways_in: the same by the program's name.
    """

    def __init__(self, folder: Path, pid: int) -> None:
        self.root = folder / "root"
        self.ways_in: dict[str, tuple[str, ...]] = {}
        for program, words in WAYS_IN.items():
            path = folder / program
            told = "No such container: $3"
            path.write_text(
                _WAY_IN.format(
                    words="\\ ".join(words), refusal=told, count=len(words), pid=pid, name=NAME
                )
            )
            path.chmod(0o755)
            self.ways_in[program] = (str(path), *words)
        self.enter = self.ways_in["docker"]

    def configure(self, told: str) -> None:
        """What `docker inspect` prints of it from now on."""
        Path(f"{self.enter[0]}.inspect").write_text(told)

    def run(self, *argv: str) -> str:
        """What a command in it prints."""
        done = subprocess.run([*self.enter, *argv], capture_output=True, text=True, check=True)
        return done.stdout


@contextmanager
def container(folder: Path) -> Iterator[Container]:
    """One as long as the body runs.

    Raises:
        RuntimeError: this machine makes no namespaces for us.
    """
    root = folder / "root"
    _fill(root)
    log = folder / "init.log"
    argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    init = Child([*argv, "sh", "-c", _INIT.format(root=root)], log)
    try:
        until(lambda: b"up" in log.read_bytes() or init.returncode is not None, 5)
        if init.returncode is not None:
            raise RuntimeError(f"no namespaces on this machine: {log.read_text().strip()}")
        yield Container(folder, until(lambda: _child_of(init.pid), 5))
    finally:
        init.kill()


def _fill(root: Path) -> None:
    """BusyBox alone, with the libraries it needs."""
    for name in ("bin", "proc", "dev", "tmp", "etc"):
        (root / name).mkdir(parents=True)
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    shutil.copy(BUSYBOX, root / "bin" / "busybox")
    needed = subprocess.run(["ldd", BUSYBOX], capture_output=True, text=True, check=False).stdout
    for library in map(Path, re.findall(r"(/\S+) \(0x", needed)):
        place = root / library.relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)
    listed = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True)
    for applet in listed.stdout.split():
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")


def _child_of(pid: int) -> int:
    """The first process of the namespace: the child of unshare; 0 while there is none."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            known = parent_and_name(int(name))
            if known is not None and known[0] == pid:
                return int(name)
    return 0


if sys.platform != "linux":
    raise RuntimeError("namespaces are Linux's")
