"""What /proc shows of a simulated server: names, whole and partly zeroed environments."""

from __future__ import annotations

import re
from pathlib import Path

from tests.lab.simulated import CAPTURES, simulated

USER = {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring", "NCCL_P2P_LEVEL": "SYS"}
ADDED = {"NCCL_CUMEM_ENABLE": "0", "NCCL_NVLS_ENABLE": "0", "CUDA_DEVICE_MAX_CONNECTIONS": "8"}


def _block(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def _variables(pid: int) -> dict[str, str]:
    pairs = [entry.decode().partition("=") for entry in _block(pid).split(b"\0") if entry]
    return {name: value for name, _, value in pairs}


def _captured(title: str) -> dict[str, str]:
    """The variables that the real server's process of that name showed."""
    text = (CAPTURES / "environ.txt").read_text()
    part = next(p for p in text.split("=== pid ")[1:] if title in p.split("\n")[0])
    return dict(re.findall(r"^(\w+)=(.*)$", part, re.M))


def test_ranks_show_what_the_launcher_added_and_nothing_inherited(tmp_path: Path) -> None:
    real = _captured("sglang::scheduler")
    assert {name: real.get(name) for name in (*USER, *ADDED)} == dict.fromkeys(USER) | ADDED
    with simulated(tmp_path, tp=8, env=USER) as server:
        children = server.ready().children()
        titles = [f"sglang::scheduler_TP{rank}" for rank in range(8)] + ["sglang::detokenizer"]
        for title in titles:
            pid = children[title]
            shown = _variables(pid)
            assert {name: shown.get(name) for name in (*USER, *ADDED)} == (
                dict.fromkeys(USER) | ADDED
            )
            assert "PATH" not in shown
            block = _block(pid)
            assert block.lstrip(b"\0") != block
            assert Path(f"/proc/{pid}/comm").read_text().strip() == title[:15]


def test_ranks_told_to_leave_their_environment_alone_show_it_whole(tmp_path: Path) -> None:
    env = {**USER, "SPT_NOENV": "1"}
    with simulated(tmp_path, tp=2, env=env) as server:
        children = server.ready().children()
        for title in ("sglang::scheduler_TP0", "sglang::scheduler_TP1", "sglang::detokenizer"):
            shown = _variables(children[title])
            assert {name: shown.get(name) for name in (*env, *ADDED)} == env | ADDED
            assert Path(f"/proc/{children[title]}/comm").read_text().strip() == title[:15]


def test_nccl_tells_what_it_read_in_a_file_of_each_rank_or_in_the_log(tmp_path: Path) -> None:
    env = {**USER, "NCCL_DEBUG": "INFO", "NCCL_BUFFSIZE": "16M"}
    file = {"NCCL_DEBUG_FILE": f"{tmp_path}/said/nccl.%h.%p"}
    with simulated(tmp_path / "a", tp=2, env=env | file) as server:
        children = server.ready().children()
        for rank in range(2):
            pid = children[f"sglang::scheduler_TP{rank}"]
            (one,) = (tmp_path / "said").glob(f"nccl.*.{pid}")
            rows = one.read_text().splitlines()
            told = [row.partition(f":{pid}:{pid} [{rank}] NCCL INFO ")[2] for row in rows]
            assert "NCCL_PROTO set by environment to LL" in told
            assert "NCCL_BUFFSIZE set by environment to 16." in told
        assert "NCCL INFO" not in server.log
    with simulated(tmp_path / "b", tp=2, env=env) as server:
        server.ready()
        assert server.log.count("NCCL_PROTO set by environment to LL") == 2


def test_the_resource_tracker_shows_everything(tmp_path: Path) -> None:
    real = _captured("resource_tracker")
    assert {name: real[name] for name in (*USER, *ADDED)} == USER | ADDED
    with simulated(tmp_path, tp=2, env=USER) as server:
        children = server.ready().children()
        (pid,) = (pid for title, pid in children.items() if "resource_tracker import main" in title)
        shown = _variables(pid)
        assert {name: shown[name] for name in (*USER, *ADDED)} == USER | ADDED


def test_the_launcher_shows_what_it_was_started_with(tmp_path: Path) -> None:
    with simulated(tmp_path, tp=2, env=USER) as server:
        shown = _variables(server.ready().process.pid)
    assert {name: shown.get(name) for name in (*USER, *ADDED)} == USER | dict.fromkeys(ADDED)


def test_a_choice_of_the_user_is_kept_and_vanishes_from_the_ranks(tmp_path: Path) -> None:
    with simulated(tmp_path, tp=2, env={"NCCL_CUMEM_ENABLE": "1"}) as server:
        children = server.ready().children()
        assert "NCCL_CUMEM_ENABLE" not in _variables(children["sglang::scheduler_TP0"])
        (pid,) = (pid for title, pid in children.items() if "resource_tracker" in title)
        assert _variables(pid)["NCCL_CUMEM_ENABLE"] == "1"


def test_one_gpu_has_a_scheduler_without_a_rank(tmp_path: Path) -> None:
    with simulated(tmp_path, tp=1) as server:
        assert "sglang::scheduler" in server.ready().children()
        assert " TP0]" in server.log
