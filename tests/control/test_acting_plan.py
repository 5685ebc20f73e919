"""Commands for a person where a unit or a container keeps a server running: exact, and nothing is
removed before its successor is confirmed."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from console.control.acting_plan import planned
from console.control.acting_request import Request
from console.model.text import Clean
from console.services.supervised import Supervised

WANTED = {"NCCL_PROTO": "LL", "A": 'one "two" 100%', "NCCL_ALGO": None}
SETTINGS: Mapping[str, object] = {
    "NetworkMode": "host", "IpcMode": "host", "ShmSize": 34359738368, "Runtime": "runc",
    "Binds": ["/srv/my models:/m:ro"], "RestartPolicy": {"Name": "unless-stopped"},
    "DeviceRequests": [{"Count": -1, "DeviceIDs": None}], "Privileged": False, "User": "",
    "Ulimits": [{"Name": "memlock", "Soft": -1, "Hard": -1}], "Entrypoint": ["python3"],
    "PortBindings": {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8000"}]},
}  # fmt: skip
BOX = Supervised(
    Clean(""), "docker", Clean("kimi"), Clean("sglang:v1"),
    tuple(map(Clean, ("serve", "--api-key", "<masked>"))), True, False, SETTINGS,
)  # fmt: skip


def plan(kept: Supervised, verb: str, wanted: Mapping[str, str | None] | None = None) -> list[str]:
    return list(planned(kept, Request(verb, "base", wanted or {}), "base", "20261129t1"))


def test_a_container_is_renamed_and_kept_until_its_successor_is_confirmed() -> None:
    lines = plan(BOX, "restart", WANTED)
    options = (
        "--network host --ipc host --shm-size 34359738368 --volume '/srv/my models:/m:ro' "
        "--ulimit memlock=-1:-1 --publish 127.0.0.1:8000:8000/tcp --restart unless-stopped "
        "--gpus all --entrypoint python3"
    )
    assert lines == [
        "umask 077",
        (
            "docker inspect -f '{{range .Config.Env}}{{println .}}{{end}}' kimi | "
            "grep -vE '^(NCCL_PROTO|A|NCCL_ALGO)=|^$' >~/kimi-20261129t1.env"
        ),
        "printf '%s\\n' NCCL_PROTO=LL 'A=one \"two\" 100%' >>~/kimi-20261129t1.env",
        "docker stop -t 60 kimi",
        "docker rename kimi kimi-before-20261129t1",
        (
            "docker run -d --name kimi --env-file ~/kimi-20261129t1.env "
            f"{options} sglang:v1 serve --api-key <masked>"
        ),
        "# <masked>: as docker inspect kimi-before-20261129t1 shows it",
        (
            "# compare with docker inspect kimi-before-20261129t1: options beside these are yours "
            "to add"
        ),
        "# once it is as it should be: docker rm kimi-before-20261129t1",
        (
            "# to undo: docker rm -f kimi; docker rename kimi-before-20261129t1 kimi; "
            "docker start kimi"
        ),
    ]
    commands = [line for line in lines if not line.startswith("#")]
    assert not any(" rm " in line for line in commands)


def test_without_other_variables_a_container_is_stopped_and_started() -> None:
    assert plan(BOX, "restart") == ["docker stop -t 60 kimi", "docker start kimi"]
    assert plan(BOX, "stop") == ["docker stop -t 60 kimi", "# to undo: docker start kimi"]


def test_a_unit_gets_a_file_of_its_own_and_says_how_it_goes_again(tmp_path: Path) -> None:
    unit = Supervised(Clean("kimi.service"))
    folder = "/etc/systemd/system/kimi.service.d"
    lines = plan(unit, "restart", WANTED)
    assert [lines[0], *lines[2:4]] == [
        f"sudo mkdir -p {folder}",
        "sudo systemctl daemon-reload",
        "sudo systemctl restart kimi.service",
    ]
    assert lines[4].startswith(f"# to undo: sudo rm {folder}/60-spec-console.conf; ")
    written = tmp_path / "conf"
    line = lines[1].replace(
        f"sudo tee {folder}/60-spec-console.conf", f"tee {shlex.quote(str(written))}"
    )
    subprocess.run(["/bin/sh", "-c", line], check=True, stdout=subprocess.DEVNULL)
    assert written.read_text() == (
        '[Service]\nEnvironment="NCCL_PROTO=LL"\nEnvironment="A=one \\"two\\" 100%%"\n'
        "UnsetEnvironment=NCCL_ALGO\n"
    )
    assert plan(unit, "restart") == ["sudo systemctl restart kimi.service"]
    assert plan(unit, "stop")[0] == "sudo systemctl stop kimi.service"


def test_what_could_not_be_asked_is_said_to_be_so() -> None:
    assert all(line.startswith("#") for line in plan(Supervised(elsewhere=True), "restart"))
    assert "ends the container" in plan(Supervised(first=True), "stop")[0]
    assert not Supervised().by_hand
