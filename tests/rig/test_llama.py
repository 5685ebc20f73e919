"""The llama.cpp server loads in sight, generates, speculates for real and ends on demand."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.rig import llama
from tests.rig.llama import LlamaServer, Shape
from tests.rig.process import runs
from tests.rig.waiting import until

pytestmark = pytest.mark.rig

SMALL = Shape(layers=1, dim=60)


def generate(server: LlamaServer, tokens: int) -> dict[str, float]:
    """llama.cpp's own timings of one greedy completion of `tokens` tokens."""
    body = {"prompt": "one two", "n_predict": tokens, "temperature": 0, "ignore_eos": True}
    request = urllib.request.Request(f"{server.url}/completion", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        timings: dict[str, float] = json.load(answer)["timings"]
        return timings


def test_health_is_refused_then_503_then_200(llama_slow_folder: Path, tmp_path: Path) -> None:
    seen: list[tuple[float, int | None]] = []
    with LlamaServer(llama_slow_folder, tmp_path / "log") as server:
        start = time.monotonic()
        while not seen or (seen[-1][1] != 200 and time.monotonic() - start < 20):
            seen.append((time.monotonic() - start, server.health()))
            time.sleep(0.01)  # the poll interval under test, not a wait for a condition
    assert [code for code, _ in groupby(code for _, code in seen)] == [None, 503, 200]
    loading_s = [t for t, code in seen if code == 503]
    assert loading_s[-1] - loading_s[0] > 0.15


def test_log_holds_the_load_and_the_address(llama_folder: Path, tmp_path: Path) -> None:
    with LlamaServer(llama_folder, tmp_path / "log") as server:
        server.wait_ready()
        generate(server, 4)
        assert server.stop() == -signal.SIGTERM
    lines = server.log.read_text()
    assert lines.index("loading model") < lines.index("model loaded") < lines.index(server.url)


def test_speculation_drafts_and_metrics_count_it(llama_folder: Path, tmp_path: Path) -> None:
    with LlamaServer(llama_folder, tmp_path / "log", spec=True) as server:
        server.wait_ready()
        timings = generate(server, 64)
        with urllib.request.urlopen(f"{server.url}/metrics", timeout=5) as answer:
            metrics = answer.read().decode()
    assert timings["predicted_n"] == 64
    assert 32 < timings["draft_n_accepted"] <= timings["draft_n"]
    accepted = int(timings["draft_n_accepted"])
    assert f"llamacpp:spec_decode_num_accepted_tokens_total {accepted}\n" in metrics


async def test_kill_ends_it_and_start_brings_it_back(llama_folder: Path, tmp_path: Path) -> None:
    with LlamaServer(llama_folder, tmp_path / "log") as server:
        await server.ready()
        first = server.pid
        assert server.kill() == -signal.SIGKILL
        assert (server.health(), runs(first)) == (None, False)
        server.start()
        await server.ready()
        assert server.pid != first
    assert not runs(server.pid)


def test_a_server_that_cannot_load_fails_with_its_log(tmp_path: Path) -> None:
    missing = LlamaServer(tmp_path / "nothing", tmp_path / "log")
    with missing, pytest.raises(RuntimeError) as caught:
        missing.wait_ready()
    assert "failed to load model" in str(caught.value)


def test_several_processes_make_the_model_once(tmp_path: Path) -> None:
    with get_context("spawn").Pool(2) as pool:
        first, second = pool.starmap(_made_at, [(tmp_path,)] * 2, chunksize=1)
    assert first == second
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["llama-1-259-60", "llama-1-259-60.lock"]


def _made_at(root: Path) -> tuple[int, int]:
    made = (llama.made_once(root, SMALL) / "target.gguf").stat()
    return made.st_ino, made.st_mtime_ns


def test_command_line_makes_and_serves_into_a_log(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.rig.llama"]
    making = [*command, "make", str(tmp_path), "--layers", "2", "--dim", "60"]
    subprocess.run(making, check=True, cwd=llama.REPOSITORY, timeout=20)
    server = LlamaServer(tmp_path, tmp_path / "own.log")
    serving = [*server.argv, "--log", str(server.log)]
    with subprocess.Popen(serving, cwd=llama.REPOSITORY, stdout=subprocess.PIPE) as process:
        until(lambda: server.health() == 200, 20)
        # Its log is written by a thread of its own: the answer may come first.
        until(lambda: "model loaded" in server.log.read_text(), 10)
        process.terminate()
        assert process.communicate(timeout=5)[0] == b""
