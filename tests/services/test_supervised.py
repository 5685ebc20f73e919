"""What keeps a process running: its container told by the engine, with no variable of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from console.model.fleet import Host
from console.services.supervised import supervised
from console.transport.local import LocalWire
from tests.rig.waiting import until
from tests.services.launching import Box, cmdline

pytestmark = pytest.mark.rig

ANOTHER_ROOT = (
    'mount -t tmpfs none "$1"; for d in bin lib lib64 usr; do if [ -d /$d ]; then mkdir "$1/$d"; '
    'mount --rbind /$d "$1/$d"; fi; done; exec /usr/sbin/chroot "$1" sleep 600'
)
SAID = """@name /kimi
@image lmsysorg/sglang:v0.5.23
@Entrypoint null
@ShmSize 34359738368
@Binds ["/srv/models:/srv/models:ro"]
@Ulimits not json
"""


async def test_the_engine_is_asked_about_a_container_and_its_words_are_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = tmp_path / "docker"
    docker.write_text(
        '#!/bin/sh\n[ "$1 $2 $4" = "inspect -f abc" ] || exit 1\n'
        'case $3 in *Config.Env*) exit 1 ;; "{{range .Config.Cmd}}"*) '
        "printf '%s\\n' serve --api-key very-secret --port 8000 ;;\n"
        f"@name*) cat <<'END'\n{SAID}END\n;; esac\n"
    )
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    wire = LocalWire(Host("box"))
    box = Box(wire, tmp_path, tmp_path)
    root = tmp_path / "root"
    root.mkdir()
    with subprocess.Popen(["unshare", "-m", "/bin/sh", "-c", ANOTHER_ROOT, "sh", root]) as other:  # noqa: ASYNC220
        try:
            until(lambda: cmdline(other.pid) == ["sleep", "600"], 10, "in its own root")
            seen = (await box.commands.look([other.pid]))[other.pid]
            found = await supervised(box.commands, seen, "abc")
            assert (found.engine, found.container, found.image) == (
                "docker", "kimi", "lmsysorg/sglang:v0.5.23",
            )  # fmt: skip
            assert found.words == ("serve", "--api-key", "<masked>", "--port", "8000")
            assert found.settings["ShmSize"] == 34359738368
            assert found.settings["Binds"] == ["/srv/models:/srv/models:ro"]
            assert "Ulimits" not in found.settings
            assert found.by_hand
            unknown = await supervised(box.commands, seen, "another")
            assert (unknown.container, unknown.elsewhere, unknown.by_hand) == ("", True, True)
        finally:
            other.kill()
    await wire.close()
