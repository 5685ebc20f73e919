"""The stand-in nvidia-smi: the calls a console makes, the refusals of the real one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from console.lab.nvidia_smi import FIELDS
from console.lab.premises import lay_host
from console.lab.site import Site
from console.lab.switches import set_switches
from tests.lab.simulated import SERVERS, eventually, simulated

CSV = "--format=csv,noheader,nounits"


def _ask(program: Path, *argv: str) -> tuple[int, str]:
    done = subprocess.run([program, *argv], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture
def program(tmp_path: Path) -> Path:
    site = Site("gpu8", str(tmp_path), 1.0, "x", "sober", SERVERS, str(tmp_path / "gpu8"))
    return lay_host(site) / "bin" / "nvidia-smi"


def test_eight_idle_gpus_that_say_simulated(program: Path) -> None:
    code, text = _ask(program, "--query-gpu=index,name,memory.used,utilization.gpu", "--format=csv")
    lines = text.splitlines()
    assert code == 0
    assert lines[0] == "index, name, memory.used [MiB], utilization.gpu [%]"
    assert lines[4] == "3, NVIDIA RTX PRO 6000 Blackwell (simulated), 4 MiB, 0 %"
    assert len(lines) == 9


def test_every_field_it_lists_can_be_asked_for_at_once(program: Path) -> None:
    code, text = _ask(program, "--help-query-gpu")
    listed = [line.strip('"') for line in text.splitlines() if line.startswith('"')]
    assert (code, listed) == (0, list(FIELDS))
    code, text = _ask(program, f"--query-gpu={','.join(listed)}", CSV)
    assert code == 0
    assert [len(line.split(", ")) for line in text.splitlines()] == [len(listed)] * 8


def test_one_unknown_field_fails_the_whole_query(program: Path) -> None:
    code, text = _ask(program, "--query-gpu=index,colour", CSV)
    assert (code, text) == (2, 'Field "colour" is not a valid field to query.\n\n')


def test_another_users_process_holds_memory_on_gpu_3(program: Path, tmp_path: Path) -> None:
    apps = "--query-compute-apps=gpu_uuid,pid,process_name,used_memory"
    assert _ask(program, apps, CSV) == (0, "")
    set_switches(tmp_path, "kimi-base", other_process=True)
    _, text = _ask(program, apps, CSV)
    assert text.splitlines() == [
        "GPU-51311a7e-d000-4000-8000-000000000003, 91022, [Not Found], 11674"
    ]
    _, used = _ask(program, "--query-gpu=memory.used", CSV)
    assert used.splitlines() == ["4", "4", "4", "11678", "4", "4", "4", "4"]


def test_topology_and_peer_matrix(program: Path) -> None:
    _, topology = _ask(program, "topo", "-m")
    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in topology.splitlines()}
    assert rows["GPU0"] == ["X", "NODE", "NODE", "NODE", "SYS", "SYS", "SYS", "SYS"]
    _, peers = _ask(program, "topo", "-p2p", "r")
    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in peers.splitlines()}
    assert rows["GPU7"] == ["OK"] * 7 + ["X"]


def test_rows_and_who_is_at_work(program: Path, tmp_path: Path) -> None:
    rows = "--query-remapped-rows=gpu_uuid,remapped_rows.pending,remapped_rows.failure"
    code, text = _ask(program, rows, CSV)
    assert (code, len(text.splitlines())) == (0, 8)
    assert text.splitlines()[3] == "GPU-51311a7e-d000-4000-8000-000000000003, 0, 0"
    set_switches(tmp_path, "kimi-base", other_process=True)
    code, text = _ask(program, "pmon", "-c", "1", "-s", "u")
    head, _, *lines = text.splitlines()
    assert (code, head.split()[1:5]) == (0, ["gpu", "pid", "type", "sm"])
    assert lines[3].split()[:4] == ["3", "91022", "C", "-"]
    assert lines[4].split()[:4] == ["4", "-", "-", "-"]


def test_it_repeats_every_so_many_milliseconds(program: Path) -> None:
    argv = [str(program), "--query-gpu=index", "--format=csv", "-lms", "20"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as loop:
        assert loop.stdout
        lines = [loop.stdout.readline().strip() for _ in range(17)]
        loop.kill()
    assert lines == ["index", *map(str, range(8)), *map(str, range(8))]


def test_gpus_follow_the_server_that_runs_on_them(tmp_path: Path) -> None:
    with simulated(tmp_path, tp=2) as server:
        server.ready()
        script = (
            "import sys; from pathlib import Path; from console.lab.nvidia_smi import main; "
            "sys.exit(main(sys.argv[2:], Path(sys.argv[1])))"
        )

        def ask(*argv: str) -> list[str]:
            call = [sys.executable, "-c", script, str(server.host_dir), *argv]
            return subprocess.run(call, capture_output=True, text=True).stdout.splitlines()

        eventually(lambda: int(ask("--query-gpu=memory.used", CSV)[1]) > 80_000, "loaded GPUs")
        assert int(ask("--query-gpu=memory.used", CSV)[2]) == 4
        apps = ask("--query-compute-apps=pid,process_name", CSV)
        ranks = {title: pid for title, pid in server.children().items() if "_TP" in title}
        assert apps == [f"{pid}, {title}" for title, pid in sorted(ranks.items())]
