"""Every failure the lab can play: its marker in the log, in its phase, and the server's end."""

from __future__ import annotations

import re
import signal
from functools import partial
from pathlib import Path

import pytest

from console.lab.faults import FAULTS, PHASES, End
from tests.lab.simulated import Simulated, eventually, simulated

MARKERS = {
    "scheduler-exception": "Scheduler hit an exception: Traceback",
    "rank-dead": "Rank 3 scheduler is dead.",
    "node-terminated": "Scheduler or DataParallelController ",
    "cuda-oom": "CUDA out of memory. Tried to allocate",
    "no-kv-memory": "Not enough memory. Please try to increase --mem-fraction-static.",
    "unbalanced": "The memory capacity is unbalanced.",
    "rank-missing": (
        "TP rank 3 could finish the model loading, but there are other ranks that didn't"
    ),
    "graph-capture": "Capture cuda graph failed:",
    "nccl-error": "unhandled system error",
    "nccl-cuda-error": "unhandled cuda error",
    "nccl-warn": "NCCL WARN",
    "nccl-timeout": "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=",
    "watchdog": "watchdog timeout (",
    "watchdog-0.5.3": "Watchdog timeout (self.watchdog_timeout=300)",
    "prefill-oom": "Prefill out of memory.",
    "decode-oom": "Decode out of memory.",
    "request-slots": "alloc_req_slots runs out of memory",
    "kv-leak": "token_to_kv_pool_allocator memory leak detected!",
    "illegal-access": "an illegal memory access was encountered",
    "detokenizer-exception": "DetokenizerManager hit an exception:",
    "retraction": "KV cache pool is full. Retract requests. #retracted_reqs: 1",
    "port-in-use": "is already in use.",
    "helper-port": "Port 30003 is in use. Trying port 30004.",
    "port-wait": "port 30003 is in use. Waiting for",
    "warmup-failed": "Initialization failed. warmup error:",
}
STOPS = [name for name in MARKERS if FAULTS[name].end is not End.LIVES]
LIVES = [name for name in MARKERS if FAULTS[name].end is End.LIVES]
BEFORE = {
    "init": "server_args=",
    "weights": "Memory baseline taken",
    "kv": "Load weight end",
    "graphs": "Memory pool end",
    "bind": "Application startup complete",
    "warmup": "Uvicorn running on",
    "serving": "fired up and ready to roll",
}


def test_every_fault_has_a_marker_here() -> None:
    assert set(MARKERS) == set(FAULTS)
    assert {fault.phase for fault in FAULTS.values()} == set(PHASES)


@pytest.mark.parametrize("name", STOPS)
def test_a_fault_that_stops_a_server_leaves_its_marker(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    with simulated(tmp_path, fault=name, scale=200.0) as server:
        code = server.process.wait(60)
        log = server.log
    assert code == (1 if fault.end is End.EXITS else -signal.SIGKILL)
    before, marker, _ = log.partition(MARKERS[name])
    assert marker
    later = PHASES[PHASES.index(fault.phase) + 1 :]
    assert BEFORE[fault.phase] in before
    assert not [phase for phase in later if BEFORE[phase] in log]
    if fault.end is End.KILLED:
        caller = "SIGQUIT received." if fault.phase == "serving" else "kill_process_tree called"
        assert caller in log
    assert "{pid}" not in log
    assert "{port}" not in log


@pytest.mark.parametrize("name", [name for name in LIVES if FAULTS[name].phase != "serving"])
def test_a_fault_at_launch_that_only_speaks_does_not_stop_it(tmp_path: Path, name: str) -> None:
    with simulated(tmp_path, fault=name, scale=200.0) as server:
        assert MARKERS[name] in server.ready().log


def _found(marker: re.Pattern[str], server: Simulated) -> bool:
    return marker.search(server.log) is not None


def test_a_fault_strikes_a_running_server_when_it_is_switched_on(tmp_path: Path) -> None:
    with simulated(tmp_path, scale=200.0) as server:
        server.ready()
        for name in ("nccl-warn", "retraction"):
            assert MARKERS[name] not in server.log
            server.switch(fault=name)
            marker = re.compile(re.escape(MARKERS[name]))
            eventually(partial(_found, marker, server), name)
            assert server.code() == 200
        server.switch(fault="kv-leak")
        assert server.process.wait(60) == -signal.SIGKILL
        assert MARKERS["kv-leak"] in server.log
