"""What one look at a host tells of a server: its model's files, its software, its GPUs.

The servers are real processes with real files, read through the real script; GPUs are lines of it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import pytest

from console.bench.provenance import Group, Unread, Unset, Value
from console.model.ask import Nobody
from console.model.clock import Pace, SystemClock
from console.model.fleet import Arm, Host, Server
from console.services.circumstances import Groups, look_at_host
from console.services.circumstances_software import topology, versions
from console.services.timing import BESIDE, NETWORK, elsewhere, place_of
from console.transport.wires import wire_to
from tests.rig.ports import free_port
from tests.rig.waiting import until

# Two GPUs, each of whose values is the field's own name; one field may be refused.
GPU_TOOL = """#!/bin/sh
case $1 in
  *{refuses}*) echo 'Field "{refuses}" is not a valid field to query.'; exit 2 ;;
  --query-compute-apps=*) printf '999998\\n999999\\n' ;;
  --query-gpu=*)
    row=$(echo "${{1#*=}}" | sed 's/,/, /g; s/uuid/GPU-uuid/')
    printf '%s\\n%s\\n' "$row" "$row" ;;
esac
"""
UTC = "2026-02-24T17:00:00.000000Z"
MATRIX = """\tGPU0\tGPU1\tGPU2\tCPU Affinity
GPU0\t X \tNODE\tSYS\t0-63
GPU1\tNODE\t X \tSYS\t0-63
GPU2\tSYS\tSYS\t X \t64-127"""
PEERS = """\tGPU0\tGPU1\tGPU2
GPU0\tX\tOK\tCNS
GPU1\tOK\tX\tCNS
GPU2\tCNS\tCNS\tX"""
LISTEN = "import socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); s.accept()"


@contextmanager
def serving(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, program: str = LISTEN
) -> Iterator[Server]:
    """A process that listens on a port, with these words in its command line."""
    port = free_port()
    held = {"PATH": "/bin:/usr/bin", "HOME": str(folder), **(env or {})}
    argv = [sys.executable, "-c", program, str(port), *words]
    with subprocess.Popen(argv, cwd=folder, env=held) as child:
        listening = f"0100007F:{port:04X} 00000000:0000 0A"
        until(lambda: listening in Path("/proc/net/tcp").read_text(), 20)
        try:
            yield Server("s", "slot", Arm.BASELINE, f"http://127.0.0.1:{port}")
        finally:
            child.kill()


async def looked(server: Server, said: Groups | None = None) -> Groups:
    clock = SystemClock()
    wire = wire_to(Host("here"), clock, Pace(), Nobody())
    try:
        return await look_at_host(server, wire, 20.0, UTC, {} if said is None else said)
    finally:
        await wire.close()


def snapshot(hub: Path, name: str, sha: str, **files: str) -> None:
    """A model in the hub's cache, its files links to blobs as the hub's own client lays them."""
    folder = hub / f"models--{name.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(sha)
    (folder / "blobs").mkdir()
    (folder / "snapshots" / sha).mkdir(parents=True)
    for file, text in files.items():
        name = file.replace("_json", ".json")
        (folder / "blobs" / name).write_text(text)
        (folder / "snapshots" / sha / name).symlink_to(f"../../blobs/{name}")


async def test_a_name_on_the_hub_is_told_by_its_snapshot_and_its_files(tmp_path: Path) -> None:
    hub = tmp_path / "hf" / "hub"
    snapshot(hub, "moonshotai/Kimi-K2.5", "4d01e2", config_json="{}", tokenizer_json="[]")
    snapshot(hub, "someone/kimi-eagle3", "77aa10", config_json="{1}")
    draft = "--speculative-draft-model-path=someone/kimi-eagle3"
    words = ("--model-path", "moonshotai/Kimi-K2.5", draft)
    with serving(tmp_path, *words, env={"HF_HOME": str(tmp_path / "hf")}) as server:
        found = (await looked(server))["model"].values
    assert (found["path"], found["revision"]) == ("moonshotai/Kimi-K2.5", "4d01e2")
    assert found["config_hash"] == sha256(b"{}").hexdigest()[:16]
    assert found["tokenizer_hash"] != found["config_hash"]
    assert (found["draft_path"], found["draft_revision"]) == ("someone/kimi-eagle3", "77aa10")
    assert found["draft_config_hash"] != found["config_hash"]


async def test_what_the_server_says_goes_before_its_command_line(tmp_path: Path) -> None:
    said = {"args": Group({"model_path": "real", "revision": "None"})}
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "config.json").write_text("{}")
    with serving(tmp_path, "--model", "other") as server:
        found = (await looked(server, said))["model"].values
    assert found["path"] == "real"
    assert found["config_hash"] == sha256(b"{}").hexdigest()[:16]
    assert "revision" not in found


@pytest.mark.parametrize("words", [("-m", "models/tiny.gguf"), ("serve", "models/tiny.gguf")])
async def test_a_single_file_is_told_by_size_and_beginning(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "models").mkdir()
    file = tmp_path / "models" / "tiny.gguf"
    file.write_bytes(b"GGUF" + bytes(2_000_000))
    with serving(tmp_path, *words) as server:
        first = (await looked(server))["model"].values["file_hash"]
        file.write_bytes(b"GGUG" + bytes(2_000_000))
        second = (await looked(server))["model"].values["file_hash"]
    assert str(first).startswith("2000004-")
    assert first != second


async def test_a_model_nobody_names_or_finds_is_unread_not_absent(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        found = (await looked(server))["model"].values
    assert found == {"path": Unread("neither the server nor its command line names it")}
    with serving(tmp_path, "--model", "org/gone") as server:
        found = (await looked(server))["model"].values
    assert isinstance(found["revision"], Unread)


async def test_the_files_nccl_reads_for_this_process(tmp_path: Path) -> None:
    (tmp_path / ".nccl.conf").write_text("NCCL_PROTO=LL\n")
    with serving(tmp_path, env={"NCCL_CONF_FILE": str(tmp_path / "gone")}) as server:
        found = (await looked(server))["conf"].values
    assert found["~/.nccl.conf"] == sha256(b"NCCL_PROTO=LL\n").hexdigest()[:16]
    assert isinstance(found["NCCL_CONF_FILE"], Unread)
    (tmp_path / ".nccl.conf").unlink()
    with serving(tmp_path) as server:
        found = (await looked(server))["conf"].values
    assert (found["~/.nccl.conf"], found["NCCL_CONF_FILE"]) == (Unset(), Unset())


async def test_packages_come_from_where_their_libraries_are_mapped(tmp_path: Path) -> None:
    with serving(tmp_path, program=f"import numpy; {LISTEN}") as server:
        found = (await looked(server))["versions"].values
    assert found["llamacpp"] == version("xllamacpp")  # installed beside numpy, which is mapped
    assert found["libnccl"] == "no libnccl mapped"
    assert "torch" not in found


async def test_a_second_look_asks_for_less_and_says_the_same_of_it(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        clock = SystemClock()
        wire = wire_to(Host("here"), clock, Pace(), Nobody())
        first = await look_at_host(server, wire, 20.0, UTC, {})
        again = await look_at_host(server, wire, 20.0, UTC)
        await wire.close()
    assert set(again) == {"host", "launch", "conf", "gpu"}
    assert again["launch"] == first["launch"]
    assert again["conf"] == first["conf"]


def test_how_gpus_are_joined() -> None:
    told = {"topology.matrix": MATRIX.splitlines(), "topology.p2p": PEERS.splitlines()}
    assert topology(told).values == {
        "matrix": "NODE 0-1; SYS 0-2 1-2",
        "p2p": "CNS 0-2 1-2; OK 0-1",
    }
    assert topology({"gpu.none": ["1"]}).values == {"matrix": "no GPU", "p2p": "no GPU"}
    assert isinstance(topology({}).values["matrix"], Unread)


@pytest.mark.parametrize("refuses", ["", "ecc.errors.corrected.volatile.total"])
async def test_a_field_the_driver_has_not_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: str
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(GPU_TOOL.format(refuses=refuses or "nothing"))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with serving(tmp_path) as server:
        found = (await looked(server))["gpu"].values
    assert found["uuids"] == "GPU-uuid GPU-uuid"
    assert (found["count"], found["power_limit_w"]) == ("2", "power.limit")
    assert found["idle_tenants"] == "2 other processes"
    told = "no such field in this driver" if refuses else "ecc.errors.corrected.volatile.total"
    assert found["ecc_errors"] == told


HEAD = """# gpu        pid  type    sm   mem   enc   dec   command
# Idx          #   C/G     %     %     %     %   name
"""
NEW_HEAD = """# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
# Idx           #    C/G      %      %      %      %      %      %    name
"""
OWN = "    0       OWN     C    95    40     -     -   sglang::schedul\n"
IDLE = "    1      4242     G     -     -     -     -   Xorg\n"
AT_WORK = "    1    999999     C    40    12     -     -   python train.py\n"
NOBODY = "    0          -     -      -      -      -      -      -      -    -\n"
REMAPPED = "GPU-uuid, {}\n"


@pytest.mark.parametrize(
    ("rows", "code", "said"),
    [
        ("0, 0, 0, 0", 0, "none"),
        ("0, 0, No, No", 0, "none"),
        ("3, 1, 1, 0", 0, "GPU 0: 3 correctable, 1 uncorrectable, pending"),
        ("12, 0, No, Yes", 0, "GPU 0: 12 correctable, failed"),
        ("[N/A], [N/A], [N/A], [N/A]", 0, Unread("the driver does not tell")),
        ("[Not Supported]", 0, Unread("the driver does not tell")),
        ("unknown option", 2, Unread("GPU-uuid, unknown option")),
    ],
)
async def test_rows_of_memory_that_were_replaced(
    rows: str, code: int, said: Value, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await with_tool(tmp_path, monkeypatch, REMAPPED.format(rows), code, "")
    assert found["remapped_rows"] == said
    assert found["application_clocks"] == Unread("the driver does not tell")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (HEAD + OWN + IDLE, Unset()),
        (NEW_HEAD + NOBODY, Unset()),
        (HEAD + OWN + AT_WORK, "active"),
        (HEAD + OWN + AT_WORK.replace("40", "2"), Unset()),
        (HEAD + AT_WORK, Unread("which process is the server is not told")),
        ("Not supported on the device(s)\n", Unread("no nvidia-smi pmon")),
        ("", Unread("no nvidia-smi pmon")),
    ],
)
async def test_another_process_at_work_on_the_gpus(
    told: str, said: Value, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await with_tool(tmp_path, monkeypatch, "", 0, told)
    assert found.get("busy_tenants", Unset()) == said


async def with_tool(
    folder: Path, monkeypatch: pytest.MonkeyPatch, remapped: str, code: int, pmon: str
) -> Mapping[str, Value]:
    """What the second look finds of GPUs whose tool says this; OWN stands for the server."""
    tool = folder / "nvidia-smi"
    tool.write_text(f"""#!/bin/sh
case $1 in
  --query-remapped-rows=*) cat {folder}/remapped; exit {code} ;;
  --query-gpu=*)
    echo "$1" | sed 's/.*=//; s/,/, /g; s/uuid/GPU-uuid/; s/clocks.app[^,]*/[N\\/A]/' ;;
  pmon) sed "s/OWN/$(cat {folder}/own)/" {folder}/pmon ;;
esac
""")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    (folder / "remapped").write_text(remapped)
    (folder / "pmon").write_text(pmon)
    (folder / "own").write_text("0")
    with serving(folder) as server:
        pid = (await looked(server))["launch"].values["pid"]
        (folder / "own").write_text(str(pid))
        return (await looked(server))["gpu"].values


def test_versions_that_were_not_readable_are_unread() -> None:
    found = versions({"gpu.none": ["1"]}).values
    assert isinstance(found["packages"], Unread)
    assert isinstance(found["libnccl"], Unread)
    assert found["driver"] == "no GPU"
    told = {
        "versions.readable": ["1"],
        "versions.libnccl": ["/opt/nccl/libnccl.so.2"],
        "package.torch": ["torch-2.9.0+cu129"],
        "package.nvidia_nccl_cu12": ["nvidia_nccl_cu12-2.27.7"],
        "gpu.fields": ["uuid,driver_version"],
        "gpu.row": ["GPU-0, 590.48.01", "GPU-1, 590.48.01"],
    }
    assert versions(told).values == {
        "libnccl": "/opt/nccl/libnccl.so.2",
        "cuda": "no CUDA runtime mapped",
        "torch": "2.9.0+cu129",
        "nccl": "2.27.7",
        "driver": "590.48.01",
    }


@pytest.mark.parametrize(
    ("url", "far"),
    [
        ("http://127.0.0.1:8000", ""),
        ("http://localhost:8000", ""),
        ("http://[::1]:8000", ""),
        ("http://127.9.9.9:8000", ""),
        ("http://192.0.2.7:8000", "192.0.2.7"),
        ("https://gpu8.example:8000", "gpu8.example"),
    ],
)
async def test_another_machine_is_never_told_by_what_is_read_here(url: str, far: str) -> None:
    clock = SystemClock()
    wire = wire_to(Host("local"), clock, Pace(), Nobody())
    try:
        assert elsewhere(url, wire) == far
        place = await place_of(url, wire, 5.0)
        if far:
            found = await look_at_host(Server("s", "slot", Arm.BASELINE, url), wire, 5.0, UTC, {})
            assert found["host"].values == {"name": far}
            assert all(group.unread for group in found.values())
    finally:
        await wire.close()
    assert place is not None
    assert (place.way, far in place.text) == (NETWORK if far else BESIDE, True)
