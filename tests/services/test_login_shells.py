"""Every template that is run on a host reaches its /bin/sh unchanged, whatever the login shell."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

import pytest

from console.services.environ_script import environ_argv
from console.services.launcher_script import (
    capture_argv,
    launch_argv,
    lock_argv,
    record_argv,
    show_argv,
    unlock_argv,
)
from console.services.probe_script import probe_argv
from console.services.process_script import look_argv, members_argv, signal_argv
from console.services.settings_files import Bounds, find_argv
from console.services.tail_script import Place, follow_argv, print_argv
from console.transport.words import guarded, remote_line
from tests.transport.test_words import SHELLS

ODD = "/data/it's a \\ log!/$(x) `y` *.log"
TEMPLATES: dict[str, Sequence[str]] = {
    "environ": environ_argv(8000, ODD),
    "follow": follow_argv(ODD, Place("1:2", 3), 1.0),
    "print": print_argv(("docker", "logs", ODD)),
    "probe": probe_argv(8000),
    "find": find_argv(ODD, Bounds()),
    "look": look_argv([1, 2]),
    "signal": signal_argv("TERM", True, "boot", ["1:2:3"]),
    "members": members_argv(1),
    "capture": capture_argv(1, 2, ODD),
    "launch": launch_argv("act", "kimi-base", 8000, ODD, base=ODD, env_file=ODD),
    "record": record_argv(8000, "kimi-base"),
    "show": show_argv(ODD),
    "lock": lock_argv("act", "me@here, it's mine!", 120),
    "unlock": unlock_argv("act"),
    "guarded": guarded(["nvidia-smi", "--query-gpu=name"]),
}


@pytest.mark.rig
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_passes_a_login_shell_unchanged(name: str, shell: str) -> None:
    argv = SHELLS[shell]
    assert shutil.which(argv[0]), f"{argv[0]} is missing: apt-get install {argv[0]}"
    words = list(TEMPLATES[name])
    line = remote_line(["printf", "%s\\0", *words], "MARK")
    done = subprocess.run([*argv, line], capture_output=True, timeout=20, check=False)
    mark, _, out = done.stdout.partition(b"\n")
    assert mark == b"MARK"
    assert out.decode().split("\0")[:-1] == words
