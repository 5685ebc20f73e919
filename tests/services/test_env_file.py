"""An environment file on a host: written whole or not at all, the old one kept, other lines never
touched; through the guard, with what the box says of peer access before a first P2P_LEVEL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from console.services.env_file import Unwritten, fabric_lines, file_text
from console.services.env_file_script import write_argv
from tests.live.fleets import ROOT
from tests.rig.disk import SmallDisk

OLD = "HF_HOME=/data\nNCCL_PROTO=Simple\nexport NCCL_NTHREADS=256\n# NCCL_ALGO=Tree\n"
NEW = b"NCCL_PROTO=LL\n"


def write(path: Path, data: bytes, size: int | None = None, enter: Sequence[str] = ()) -> str:
    argv = write_argv(str(path), f"{path}.old", len(data) if size is None else size)
    done = subprocess.run([*enter, *argv], input=data, capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode().removesuffix("@end\n")


def test_only_the_lines_of_nccl_change_and_the_old_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "serve.env"
    file.write_text(OLD)
    file.chmod(0o644)
    assert write(file, NEW) == f"@kept {file}.old\n@written {file}\n"
    assert file.read_text() == "HF_HOME=/data\n# NCCL_ALGO=Tree\nNCCL_PROTO=LL\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert Path(f"{file}.old").read_text() == OLD
    assert sorted(os.listdir(tmp_path)) == ["serve.env", "serve.env.old"]


def test_a_command_given_again_does_not_lose_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "serve.env"
    file.write_text(OLD)
    for _ in range(2):
        write(file, NEW)
    assert Path(f"{file}.old").read_text() == OLD
    assert file.read_text().count("NCCL_") == 2


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "new.env"
    assert write(file, NEW) == f"@written {file}\n"
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (NEW, 0o600)


def test_what_was_cut_on_the_way_is_not_taken(tmp_path: Path) -> None:
    file = tmp_path / "serve.env"
    file.write_text(OLD)
    assert "did not arrive whole" in write(file, NEW[:5], len(NEW))
    assert file.read_text() == OLD
    assert os.listdir(tmp_path) == ["serve.env"]


@pytest.mark.parametrize(("old", "what"), [(OLD, "copied"), ("", "written"), (None, "written")])
def test_a_full_disk_leaves_the_old_file_and_no_half_of_a_new_one(
    old: str | None, what: str, tmp_path: Path
) -> None:
    with SmallDisk(tmp_path) as disk:
        if old is not None:
            (disk.seen / "serve.env").write_text(old)
        disk.fill()
        file = tmp_path / "serve.env"
        told = write(file, NEW, enter=disk.enter)
        assert told == f"@refused {file} could not be {what}: No space left on device\n"
        assert sorted(os.listdir(disk.seen)) == ["filled"] + ["serve.env"] * (old is not None)
        assert old is None or (disk.seen / "serve.env").read_text() == old
        disk.empty()
        assert f"@written {file}" in write(file, NEW, enter=disk.enter)


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_is_no_regular_file_is_refused(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "serve.env"
    if kind == "link":
        (tmp_path / "real").write_text(OLD)
        file.symlink_to("real")
    else:
        file.mkdir()
    assert write(file, NEW) == f"@refused {file} is no regular file\n"


def test_values_that_readers_take_differently_are_refused() -> None:
    assert file_text({"NCCL_IB_HCA": "=mlx5_0:1,mlx5_1"}) == "NCCL_IB_HCA==mlx5_0:1,mlx5_1\n"
    with pytest.raises(Unwritten) as caught:
        file_text({"NCCL_TOPO_FILE": "/a b"})
    assert "needs quotes" in str(caught.value)


def test_what_is_told_of_a_box() -> None:
    matrix = [" \tGPU0\tGPU1", " GPU0\tX\tOK", " GPU1\tCNS\tX", "  Legend:", " OK = ok"]
    rows = ["@boot iommu=pt", "@groups 12 DMA-FQ ", "@acs 3 14", "@peers r", *matrix, "@peers w"]
    assert fabric_lines([*rows, "@end"]) == [
        "IOMMU: on, 12 groups (DMA-FQ); booted with iommu=pt",
        "ACS: active on 3 of 14 bridges: peer traffic takes the way through the host, or hangs",
        "peer reads: CNS between some GPUs",
        "GPU0\tGPU1",
        "GPU0\tX\tOK",
        "GPU1\tCNS\tX",
        "peer writes: unknown: nvidia-smi topo -p2p w says nothing",
    ]
    assert fabric_lines(["@boot ", "@groups 0 ", "@noacs this host has no lspci", "@end"]) == [
        "IOMMU: off",
        "ACS: unknown: this host has no lspci",
        "peer reads: unknown: nvidia-smi topo -p2p r says nothing",
        "peer writes: unknown: nvidia-smi topo -p2p w says nothing",
    ]


class Console:
    """A script of one `envfile` step on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "serve.env"
        self.file.write_text(OLD)
        (folder / "fleet.toml").write_text(
            'schema = "fleet/1"\n[[host]]\nname = "box"\nlocal = true\n'
            '[[slot]]\nname = "s"\nhost = "box"\nport = 1\n'
            '[[server]]\nname = "base"\nslot = "s"\narm = "baseline"\nengine = "sglang"\n'
            'url = "http://127.0.0.1:1"\n'
            f'recipe = {{ argv = ["x"], cwd = "{folder}", env_file = "serve.env" }}\n'
        )
        (folder / "profiles.toml").write_text(
            'schema = "profiles/1"\n[[profile]]\nname = "six"\n[profile.env]\n'
            'NCCL_PROTO = "LL"\nNCCL_P2P_LEVEL = "SYS"\n[wanted]\nbase = "six"\n'
        )
        (folder / "s.toml").write_text(
            'schema = "script/1"\nname = "e"\ntargets = ["base"]\n[[step]]\nenvfile = {}\n'
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "console", "--script", str(self.folder / "s.toml")]
        return subprocess.run(
            [*argv, "--fleet", str(self.folder / "fleet.toml"), "--no-record", *arguments],
            cwd=ROOT,
            env={**os.environ, "SPEC_CONSOLE_STATE": str(self.folder / "state")},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


def test_a_script_writes_it_only_when_permitted(tmp_path: Path) -> None:
    console = Console(tmp_path)
    refused = console.run()
    assert (refused.returncode, console.file.read_text()) == (6, OLD)
    unnamed = console.run("--apply")
    assert (unnamed.returncode, console.file.read_text()) == (6, OLD)
    dry = console.run("--dry-run")
    assert (dry.returncode, console.file.read_text()) == (0, OLD)
    assert "NCCL_P2P_LEVEL is new here" in dry.stdout + dry.stderr
    assert "ACS: " in dry.stdout + dry.stderr
    done = console.run("--apply", "--yes-target", "base")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = console.file.read_text().splitlines()
    assert lines == ["HF_HOME=/data", "# NCCL_ALGO=Tree", "NCCL_PROTO=LL", "NCCL_P2P_LEVEL=SYS"]
    (old,) = [one for one in tmp_path.iterdir() if one.name.startswith("serve.env.")]
    assert old.read_text() == OLD
    audit = (tmp_path / "state" / "audit.jsonl").read_text().splitlines()
    results = [json.loads(line)["result"] for line in audit]
    assert [result.partition(":")[0] for result in results[-2:]] == ["requested", "done"]
