"""A simulated server's life: refused, 503, 200, stuck, drained, killed, and each switch."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from console.lab.site import load_site
from tests.lab.running import lab
from tests.lab.simulated import CAPTURES, EAGLE, alive, eventually, simulated
from tests.rig.waiting import until
from tests.services.launching import cmdline

SCALE = 40.0


def test_health_is_refused_then_503_then_200_in_that_order(tmp_path: Path) -> None:
    seen: list[int] = []
    with simulated(tmp_path, scale=20.0) as server:

        def poll() -> bool:
            code = server.code()
            if seen[-1:] != [code]:
                seen.append(code)
            return code == 200

        eventually(poll, "200")
    assert seen == [0, 503, 200]


def test_an_idle_probe_takes_its_second_and_leaves_a_prefill_and_an_access_line(
    tmp_path: Path,
) -> None:
    with simulated(tmp_path, scale=5.0, past=True) as server:
        before = len(server.ready().log)
        reply = server.call("/health")
        added = server.log[before:]
    assert reply.status == 200
    assert reply.took_s >= 0.2
    prefill, access = added.splitlines()
    assert "#new-seq: 1, #new-token: 1, #cached-token: 0" in prefill
    assert access.endswith('"GET /health HTTP/1.1" 200 OK')


def test_a_busy_probe_is_200_without_a_prefill_line(tmp_path: Path) -> None:
    with simulated(tmp_path) as server:
        server.ready()
        body = {"text": "x", "sampling_params": {"max_new_tokens": 4000, "ignore_eos": True}}

        def ask() -> None:
            with contextlib.suppress(http.client.HTTPException, OSError):
                server.call("/generate", body)

        worker = threading.Thread(target=ask)
        worker.start()
        eventually(lambda: "Decode batch" in server.log, "a decode line")
        before = server.log.count("#new-token: 1,")
        assert server.call("/health").status == 200
        assert server.log.count("#new-token: 1,") == before
        server.process.kill()
        worker.join()


@pytest.mark.parametrize("how", ["switch", "SIGSTOP"])
def test_a_stuck_scheduler_is_503_after_twenty_seconds_and_recovers(
    tmp_path: Path, how: str
) -> None:
    with simulated(tmp_path) as server:
        pid = server.ready().children()["sglang::scheduler_TP0"]
        if how == "switch":
            server.switch(stuck=True)
        else:
            os.kill(pid, signal.SIGSTOP)
        eventually(lambda: server.code() == 503, "503")
        stuck = server.call("/health")
        assert stuck.status == 503
        assert stuck.took_s >= 20 / SCALE
        real = (CAPTURES / "log_sigstop_scheduler.txt").read_text()
        form = r"Health check failed\. Server couldn't get .* 20 seconds\. tic start time: "
        assert re.search(form, real)
        assert re.search(form, server.log)
        codes = [server.code(path) for path in ("/ready", "/ping", "/model_info", "/v1/models")]
        assert codes == [503, 503, 200, 200]
        assert [server.code(path) for path in ("/v1/loads", "/metrics")] == [200, 200]
        with pytest.raises(TimeoutError):
            server.call("/server_info", limit=0.3)
        server.switch(stuck=False)
        os.kill(pid, signal.SIGCONT)
        eventually(lambda: server.code() == 200, "recovery")
        assert server.code("/ping") == 200


def test_sigterm_drains_answers_503_and_leaves_with_0(tmp_path: Path) -> None:
    with simulated(tmp_path, scale=10.0, past=True) as server:
        children = server.ready().children()
        server.process.send_signal(signal.SIGTERM)
        eventually(lambda: "SIGTERM received" in server.log, "the drain")
        assert server.code("/health") == 503
        assert server.code("/v1/models") == 200
        assert server.process.wait(60) == 0
        assert "Health check request received during shutdown. Returning 503." in server.log
        assert "Remaining number of requests 0." in server.log
        assert not any(alive(pid) for title, pid in children.items() if "sglang" in title)


def test_a_killed_rank_takes_the_server_down_with_137_after_its_pause(tmp_path: Path) -> None:
    with simulated(tmp_path) as server:
        pid = server.ready().children()["sglang::scheduler_TP0"]
        os.kill(pid, signal.SIGKILL)
        assert server.process.wait(60) == -signal.SIGKILL
        real = (CAPTURES / "log_kill9.txt").read_text()
        said = [re.sub(r"\d+", "0", line[22:]) for line in real.splitlines()[1:]]
        ours = [re.sub(r"\d+", "0", line[22:]) for line in server.log.splitlines()[-5:]]
        assert ours == said


def test_a_stop_of_the_whole_group_looks_like_a_crash(tmp_path: Path) -> None:
    with simulated(tmp_path, scale=1.0, past=True) as server:
        server.ready()
        os.killpg(server.process.pid, signal.SIGTERM)
        assert server.process.wait(60) == -signal.SIGKILL
        assert "crashed with exit code -15." in server.log


def test_children_die_with_a_killed_launcher(tmp_path: Path) -> None:
    with simulated(tmp_path) as server:
        pids = server.ready().children().values()
        server.process.kill()
        eventually(lambda: not any(map(alive, pids)), "the children's end")
        assert server.process.wait(10) == -signal.SIGKILL


def test_orphans_outlive_a_killed_launcher_and_hold_its_port(tmp_path: Path) -> None:
    with simulated(tmp_path, orphans=True, tp=2) as server:
        ranks = [pid for title, pid in server.ready().children().items() if "sglang" in title]
        server.process.kill()
        server.process.wait()
        try:
            assert len(ranks) == 3
            assert all(map(alive, ranks))
            with socket.create_connection(("127.0.0.1", server.port), 2) as held:
                held.sendall(b"GET /health HTTP/1.1\r\n\r\n")
                held.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    held.recv(1)
            (tmp_path / "next").mkdir()
            with simulated(tmp_path / "next", tp=1, port=server.port) as second:
                assert second.process.wait(60) == 1
                assert "address already in use" in second.log
        finally:
            for pid in ranks:
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: server.code() == 0, "the port free")


def test_a_taken_port_is_found_out_after_the_whole_load(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with simulated(tmp_path, port=taken.getsockname()[1], tp=1) as server:
            assert server.process.wait(60) == 1
            tail = server.log.splitlines()[-3:]
    assert "ERROR:    [Errno 98] error while attempting to bind on address" in tail[0]
    assert "Engine startup timings" in server.log


def _load_s(log: str) -> float:
    found = re.search(r"load_weight=([\d.]+)", log)
    assert found
    return float(found[1]) * SCALE


def test_a_cold_load_reads_its_weights_three_times_slower(tmp_path: Path) -> None:
    for name, seconds in (("warm", 11.52), ("cold", 34.56)):
        (tmp_path / name).mkdir()
        with simulated(tmp_path / name, tp=1, load=name) as server:
            assert _load_s(server.ready().log) == pytest.approx(seconds, rel=0.05)


def test_a_slowed_server_takes_longer_for_every_step(tmp_path: Path) -> None:
    body = {"text": "x", "sampling_params": {"max_new_tokens": 200, "ignore_eos": True}}
    with simulated(tmp_path, tp=1, scale=20.0, past=True) as server:
        server.ready()

        def rate() -> float:
            return float(server.call("/generate", body).json()["meta_info"]["decode_throughput"])

        before = rate()
        server.switch(slowdown=4.0)
        eventually(lambda: rate() < before / 3, "a quarter of the speed")
        server.switch(slowdown=1.0)
        eventually(lambda: rate() > before / 2, "its own speed again")
        assert not server.ended


def test_a_slow_rank_ends_its_load_last(tmp_path: Path) -> None:
    with simulated(tmp_path, slow_rank=1) as server:
        ends = re.findall(r" TP(\d)\] Load weight end\. elapsed=([\d.]+)", server.ready().log)
    assert [rank for rank, _ in ends] == ["0", "2", "3", "1"]
    assert float(ends[-1][1]) == pytest.approx(4 * float(ends[0][1]), rel=0.1)


@pytest.mark.parametrize(
    ("phase", "last"), [("weights", "Memory baseline taken"), ("graphs", "Memory pool end")]
)
def test_a_server_that_is_never_ready_stays_in_its_phase(
    tmp_path: Path, phase: str, last: str
) -> None:
    with simulated(tmp_path, never_ready=phase, tp=1, scale=100.0) as server:
        eventually(lambda: last in server.log, last)
        begun = time.monotonic()
        eventually(lambda: time.monotonic() - begun > 0.3, "longer than a load at this scale")
        assert last in server.log.splitlines()[-1]
        assert not server.ended
        assert server.code() == 0


def test_a_server_may_die_after_it_was_ready(tmp_path: Path) -> None:
    with simulated(tmp_path, dies_after_s=4.0, tp=1) as server:
        assert server.process.wait(60) == -signal.SIGKILL
    assert "The server is fired up and ready to roll!" in server.log
    assert "crashed with exit code -9" in server.log


def test_somebody_elses_probe_shows_in_the_log(tmp_path: Path) -> None:
    with simulated(tmp_path, foreign_probe_s=2.0, tp=1) as server:
        form = r'INFO:     10\.0\.0\.7:\d+ - "GET /health HTTP/1\.1" 200 OK'
        eventually(lambda: len(re.findall(form, server.log)) >= 2, "two foreign probes")
        ports = re.findall(form.replace(r"\d+", r"(\d+)"), server.log)
        assert len(set(ports)) == len(ports) >= 2


def test_an_old_static_health_answers_at_once(tmp_path: Path) -> None:
    with simulated(tmp_path, static_health=True, tp=1, scale=0.1, past=True) as server:
        eventually(lambda: server.code() == 200, "200")
        reply = server.call("/health")
        server.switch(stuck=True)
        assert reply.took_s < 5.0  # one that generates would take 10 s at this scale
        assert server.call("/health").status == 200


def test_a_key_is_asked_for_as_the_real_server_does(tmp_path: Path) -> None:
    with simulated(tmp_path, "--api-key", "sekret-of-the-lab", tp=1) as server:
        server.ready()
        open_paths = ("/health", "/metrics", "/ready")
        assert [server.code(path) for path in open_paths] == [200, 200, 200]
        closed = server.call("/v1/models")
        assert (closed.status, closed.body) == (401, b'{"error":"Unauthorized"}')
        assert server.call("/v1/models", key="wrong").status == 401
        assert server.call("/v1/models", key="sekret-of-the-lab").status == 200
        info = server.call("/server_info", key="sekret-of-the-lab").json()
    assert info["api_key"] == "sekret-of-the-lab"


def test_a_repeated_prompt_is_cached_until_it_is_flushed(tmp_path: Path) -> None:
    body = {"text": "Words that come again and again", "sampling_params": {"max_new_tokens": 4}}
    with simulated(tmp_path, tp=1) as server:
        server.ready()

        def cached() -> int:
            meta = server.call("/generate", body).json()
            return int(meta["meta_info"]["cached_tokens"])

        first, second = cached(), cached()
        assert server.call("/flush_cache", method="POST").body.startswith(b"Cache flushed.")
        assert (first, second > 0, cached()) == (0, True, 0)


def test_decode_lines_come_every_forty_steps_with_their_acceptance(tmp_path: Path) -> None:
    with simulated(tmp_path, *EAGLE, tp=1) as server:
        body = {"text": "x", "sampling_params": {"max_new_tokens": 500, "ignore_eos": True}}
        before = len(server.ready().log)
        server.call("/generate", body)
        lines = re.findall(r"accept len: ([\d.]+), accept rate: ([\d.]+)", server.log[before:])
        metrics = server.call("/metrics").body.decode()
    assert 5 <= len(lines) <= 6
    for length, rate in lines:
        assert float(rate) == pytest.approx((float(length) - 1) / 3, abs=0.01)
    counted = re.search(r"^sglang:spec_verify_calls_total\{.*\} ([\d.]+)$", metrics, re.M)
    tokens = re.findall(r"^sglang:generation_tokens_total\{.*\} ([\d.]+)$", metrics, re.M)
    assert counted
    assert sum(map(float, tokens)) / float(counted[1]) == pytest.approx(2.325, rel=0.03)


def test_an_unreadable_control_file_is_said_and_the_old_switches_stay(tmp_path: Path) -> None:
    with simulated(tmp_path, tp=1, past=True) as server:
        server.ready()
        (tmp_path / "control.json").write_text('{"kimi-base": {"stuk": true}}')
        eventually(lambda: "lab: control.json: 'stuk' is no switch" in server.log, "the complaint")
        assert server.code() == 200
    (tmp_path / "control.json").write_text("{")
    site = load_site(tmp_path / "host")
    with pytest.raises(ValueError):
        site.switches("kimi-base")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--no-such-thing",), "unrecognized arguments: --no-such-thing"),
        (("--context-length",), "expected one argument"),
        (("--decode-log-interval", "many"), "invalid int value: 'many'"),
    ],
)
def test_wrong_arguments_are_refused_as_argparse_does(
    tmp_path: Path, argv: tuple[str, ...], says: str
) -> None:
    with simulated(tmp_path, *argv) as server:
        assert server.process.wait(60) == 2
        assert says in server.log
        assert "Traceback" not in server.log


def test_a_client_that_leaves_in_the_middle_of_an_answer_ends_no_server(tmp_path: Path) -> None:
    def ignores_a_broken_pipe(pid: int) -> bool:
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text()
            ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
            return "serve" in cmdline(pid) and bool(ignored >> (signal.SIGPIPE - 1) & 1)
        return False

    with lab(tmp_path / "lab") as running:
        until(lambda: any(map(ignores_a_broken_pipe, running.processes())), what="the server")
        assert any(map(ignores_a_broken_pipe, running.processes()))
