"""Every way a simulated server can fail: which phase, which lines, how it ends.

The texts are literals of facts about SGLang, PyTorch and NCCL; they are shared with no parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

PHASES = ("init", "weights", "kv", "graphs", "bind", "warmup", "serving")


class End(Enum):
    """What becomes of the server."""

    LIVES = "lives"
    KILLED = "killed"
    EXITS = "exits"


@dataclass(frozen=True, slots=True)
class Line:
    """One line, `{pid}` and `{port}` filled; `rank` -1 is the launcher's, None has no head."""

    text: str
    rank: int | None = -1


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure."""

    phase: str
    lines: tuple[Line, ...]
    end: End = End.KILLED


_CHILD_FAILED = Line("Received sigquit from a child process. It usually means the child failed.")
_SIGQUIT = Line("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
_OOM = (
    "CUDA out of memory. Tried to allocate 738.00 MiB. GPU 3 has a total capacity of 94.97 GiB "
    "of which 402.81 MiB is free. Process {pid} has 11.40 GiB memory in use."
)


def _raised(error: str, where: str = "run_scheduler_process", rank: int = 3) -> Line:
    return Line(
        "Scheduler hit an exception: Traceback (most recent call last):\n"
        f'  File "/opt/simulated/sglang/srt/managers/scheduler.py", line 2701, in {where}\n'
        "    scheduler = Scheduler(server_args, port_args, gpu_id, tp_rank, dp_rank)\n"
        f"{error}\n",
        rank,
    )


def _loading(phase: str, error: str) -> Fault:
    return Fault(phase, (_raised(error), _CHILD_FAILED))


def _serving(error: str) -> Fault:
    return Fault("serving", (_raised(error, "event_loop_overlap"), _SIGQUIT))


_NCCL_HEAD = "[rank3]:[E1129 13:10:02.118204551 ProcessGroupNCCL.cpp:683] [Rank 3] "

FAULTS: dict[str, Fault] = {
    "scheduler-exception": _loading("weights", "RuntimeError: simulated"),
    "rank-dead": Fault(
        "weights",
        (
            Line("Rank 3 scheduler is dead. Please check if there are relevant logs."),
            Line("Exit code: -9"),
            Line("Killed", None),
        ),
    ),
    "node-terminated": Fault(
        "weights", (Line("Scheduler or DataParallelController {pid} terminated with -9"),)
    ),
    "cuda-oom": _loading("weights", f"torch.OutOfMemoryError: {_OOM}"),
    "no-kv-memory": _loading(
        "kv", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    ),
    "unbalanced": _loading(
        "init",
        "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other "
        "processes. pre_model_load_memory=78.11, local_gpu_memory=94.31",
    ),
    "rank-missing": _loading(
        "weights",
        "ValueError: TP rank 3 could finish the model loading, but there are other ranks that "
        "didn't finish loading. It is likely due to unexpected failures (e.g., OOM) or "
        "a slow node.",
    ),
    "graph-capture": _loading(
        "graphs",
        f"Exception: Capture cuda graph failed: {_OOM}\n"
        "Possible solutions:\n"
        "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
        "2. set --cuda-graph-max-bs to a smaller value (e.g., 16)",
    ),
    "nccl-error": Fault(
        "init",
        (
            Line("gpu8:{pid}:{pid} [3] misc/socket.cc:550 NCCL WARN Call to bind failed", None),
            _raised(
                "torch.distributed.DistBackendError: NCCL error in: "
                "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, unhandled system error "
                "(run with NCCL_DEBUG=INFO for details), NCCL version 2.27.7"
            ),
            _CHILD_FAILED,
        ),
    ),
    "nccl-cuda-error": _serving(
        "torch.distributed.DistBackendError: NCCL error in: "
        "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, unhandled cuda error "
        "(run with NCCL_DEBUG=INFO for details), NCCL version 2.27.7"
    ),
    "nccl-warn": Fault(
        "serving",
        (Line("gpu8:{pid}:{pid} [3] NCCL WARN Call to ibv_create_qp failed", None),),
        End.LIVES,
    ),
    "nccl-timeout": Fault(
        "serving",
        (
            Line(
                f"{_NCCL_HEAD}Watchdog caught collective operation timeout: WorkNCCL(SeqNum=48211, "
                "OpType=ALLREDUCE, NumelIn=7168, NumelOut=7168, Timeout(ms)=600000) ran for 600021 "
                "milliseconds before timing out.",
                None,
            ),
            Line("terminate called after throwing an instance of 'c10::DistBackendError'", None),
            _SIGQUIT,
        ),
    ),
    "watchdog": Fault(
        "serving",
        (
            Line("Scheduler watchdog timeout (self.watchdog_timeout=300.0, self.soft=False)", 3),
            Line("Pyspy dump for PID {pid}:\nProcess {pid}: sglang::scheduler_TP3\n", 3),
            _SIGQUIT,
        ),
    ),
    "watchdog-0.5.3": Fault(
        "serving", (Line("Watchdog timeout (self.watchdog_timeout=300)", 3), _SIGQUIT)
    ),
    "prefill-oom": _serving(
        "RuntimeError: Prefill out of memory. Try to lower your batch size.\n"
        "Try to allocate 512 tokens."
    ),
    "decode-oom": _serving(
        "RuntimeError: Decode out of memory. Try to lower your batch size.\n"
        "Try to allocate 1 tokens."
    ),
    "request-slots": _serving(
        "RuntimeError: alloc_req_slots runs out of memory. "
        "Please set a smaller number for `--max-running-requests`."
    ),
    "kv-leak": _serving("ValueError: token_to_kv_pool_allocator memory leak detected!"),
    "illegal-access": _serving(
        "RuntimeError: CUDA error: an illegal memory access was encountered"
    ),
    "detokenizer-exception": Fault(
        "serving",
        (
            Line(
                "DetokenizerManager hit an exception: Traceback (most recent call last):\n"
                "RuntimeError: simulated\n"
            ),
            _SIGQUIT,
        ),
    ),
    "retraction": Fault(
        "serving",
        (
            Line(
                "KV cache pool is full. Retract requests. #retracted_reqs: 1, "
                "#new_tokens_gained: 225113, #new_token_ratio: 0.0712 -> 1.0000",
                0,
            ),
        ),
        End.LIVES,
    ),
    "port-in-use": Fault(
        "bind",
        (Line("Port {port} is already in use. Please choose another port, or stop what uses it."),),
        End.EXITS,
    ),
    "helper-port": Fault("init", (Line("Port 30003 is in use. Trying port 30004."),), End.LIVES),
    "port-wait": Fault(
        "init", (Line("port 30003 is in use. Waiting for 1 seconds..."),), End.LIVES
    ),
    "warmup-failed": Fault(
        "warmup",
        (
            Line(
                "Initialization failed. warmup error: Traceback (most recent call last):\n"
                "AssertionError: res.status_code=500, res.text='simulated'\n"
            ),
        ),
    ),
}
