"""Known failure markers: what their text means, whether it ends a start, and what helps.

A pure table. `weight` orders causes: of several markers of one crash the heaviest names it;
a signal or an exit code never outweighs the line that says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Marker:
    """`pattern` is searched in the message where a needle was found; named groups are details."""

    id: str
    needles: tuple[str, ...]  # cheap test: one of them is in every text that fits
    pattern: str
    meaning: str
    fatal: bool
    remedy: str
    weight: int
    severity: Literal["info", "warning", "error"] = "error"


# Order matters only where two patterns fit one line: the first wins.
MARKERS: tuple[Marker, ...] = (
    Marker(
        "kernel-oom",
        (
            "Killed process",
            "oom-kill",
            "OOM killer",
            "OOMKilled",
        ),
        r"(?:Memory cgroup out of memory|Out of memory): Killed process (?P<pid>\d+)"
        r" \((?P<process>[^)]*)\)(?:.*?anon-rss:(?P<rss_kb>\d+)kB)?"
        r"|oom-kill:constraint=(?P<constraint>\w+).*?task=(?P<process2>[^,]*),pid=(?P<pid2>\d+)"
        r"|killed by the OOM killer|Failed with result 'oom-kill'|\bOOMKilled\b",
        "the kernel's OOM killer ended a process: host memory (RAM or the cgroup's limit) ran out,"
        " not GPU memory",
        True,
        "Raise the cgroup's memory limit or free host memory; shard loading and pinned buffers"
        " are the usual eaters. --mem-fraction-static concerns GPU memory only.",
        100,
    ),
    Marker(
        "cuda-oom",
        (
            "CUDA out of memory",
            "CUDA_ERROR_OUT_OF_MEMORY",
            "cudaErrorMemoryAllocation",
            "cudaMalloc failed",
        ),
        r"CUDA out of memory\. Tried to allocate (?P<wanted2>[\d.]+ [KMG]iB) \(GPU (?P<gpu2>\d+);"
        r" (?P<total2>[\d.]+ [KMG]iB) total capacity;.*?(?P<free2>[\d.]+ [KMG]iB) free"
        r"|CUDA out of memory\.(?: Tried to allocate (?P<wanted>[\d.]+ [KMG]iB)\.)?"
        r"(?: GPU (?P<gpu>\d+) has a total capac\w+ of (?P<total>[\d.]+ [KMG]iB)"
        r" of which (?P<free>[\d.]+ [KMG]iB) is free\.)?"
        r"(?P<others>(?: Process \d+ has [\d.]+ [KMG]iB memory in use\.)*)"
        r"|allocating (?P<wanted3>[\d.]+ [KMG]iB) on device (?P<gpu3>\d+): cudaMalloc failed"
        r"|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|cudaMalloc failed: out of memory",
        "a GPU had no memory left for an allocation",
        True,
        "See who else holds memory on that GPU first; then lower --mem-fraction-static or the"
        " largest captured batch (--cuda-graph-max-bs).",
        90,
    ),
    Marker(
        "illegal-access",
        ("CUDA error: ",),
        r"CUDA error: (?P<what>an illegal memory access was encountered|unspecified launch failure"
        r"|misaligned address|device-side assert triggered|an illegal instruction was encountered)",
        "a GPU kernel touched memory it must not; CUDA reports it late and maybe elsewhere",
        True,
        "Start again with CUDA_LAUNCH_BLOCKING=1 to find the place; seen with speculative decoding"
        " under load. It is not out of memory.",
        85,
    ),
    Marker(
        "xid-fatal",
        ("NVRM: Xid",),
        r"NVRM: Xid \((?P<bus>[^)]*)\): (?P<xid>13|31|43|45|48|62|74|79|94|95|109|119|120|154)\b",
        "the NVIDIA driver reports a GPU fault that ends the processes on that GPU",
        True,
        "Look the Xid number up: 48, 74, 79, 94 and 95 mean hardware or link trouble, 13, 31 and"
        " 43 usually a kernel's fault.",
        92,
    ),
    Marker(
        "xid",
        ("NVRM: Xid",),
        r"NVRM: Xid \((?P<bus>[^)]*)\): (?P<xid>\d+)",
        "the NVIDIA driver notes trouble with a GPU",
        False,
        "Look the Xid number up.",
        20,
        "warning",
    ),
    Marker(
        "ecc",
        ("uncorrectable",),
        r"uncorrectable ECC error|CUDA error: (?:an )?uncorrectable",
        "a GPU memory cell failed",
        True,
        "Reset the GPU; if it comes back, take it out of service.",
        88,
    ),
    Marker(
        "cuda-error",
        ("CUDA error: ", "CUDA driver error: "),
        r"CUDA (?:driver )?error: (?P<what>[A-Za-z][\w ,'-]{3,90})",
        "a CUDA call failed",
        True,
        "",
        65,
    ),
    Marker(
        "nccl-timeout",
        ("collective operation timeout",),
        r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<seq>\d+),"
        r" OpType=(?P<op>\w+)(?:.*?Timeout\(ms\)=(?P<timeout_ms>\d+)\))?"
        r"(?: ran for (?P<ran_ms>\d+) milliseconds)?",
        "a collective did not finish in time: a rank never joined it, or the link hangs",
        True,
        "Look at the rank that does not report a timeout; on a load from slow storage raise"
        " --dist-timeout.",
        80,
    ),
    Marker(
        "nccl-position",
        ("last enqueued work",),
        r"last enqueued work: (?P<enqueued>\d+), last completed work: (?P<completed>\d+)",
        "where a rank stood in its sequence of collectives when the watchdog struck",
        False,
        "The rank with the smallest last enqueued work is the one that never joined.",
        10,
    ),
    Marker(
        "nccl-error",
        (
            "NCCL error",
            "unhandled ",
            "ncclRemoteError",
            "ncclInternalError",
            "ncclSystemError",
            "NCCL operations have",
            "DistBackendError",
        ),
        r"NCCL error|unhandled (?:cuda|system) error|ncclRemoteError|ncclInternalError"
        r"|ncclSystemError|NCCL operations have failed or timed out|DistBackendError",
        "NCCL failed inside a collective or while it was set up",
        True,
        "The first NCCL WARN line above says why; NCCL_DEBUG=INFO tells more.",
        60,
    ),
    Marker(
        "nccl-warn",
        ("NCCL WARN",),
        r"NCCL WARN (?P<what>.*)",
        "NCCL warns",
        False,
        "",
        40,
        "warning",
    ),
    Marker(
        "watchdog",
        ("atchdog timeout",),
        r"[Ww]atchdog timeout \((?:self\.)?(?:\w*_)?watchdog_timeout=(?P<timeout_s>[\d.]+)"
        r"|\w+ watchdog timeout \((?P<why>[^)]*)\)|Watchdog timeout",
        "a forward pass was stuck longer than --watchdog-timeout",
        True,
        "The stack dump below shows where it stood; compare ranks, the culprit may be another.",
        75,
    ),
    Marker(
        "pool-empty",
        ("Not enough memory", "No available memory", "maximum number of tokens that can be"),
        r"Not enough memory\. Please try to increase --mem-fraction-static"
        r"|No available memory for the cache blocks"
        r"|larger than the maximum number of tokens that can be stored in KV cache",
        "no GPU memory was left for the KV cache after the weights",
        True,
        "Raise --mem-fraction-static (vLLM: --gpu-memory-utilization), shorten the context, or"
        " spread over more GPUs.",
        88,
    ),
    Marker(
        "graph-capture",
        ("graph failed",),
        r"Capture (?:\w+ )*(?:cuda|CUDA) graph failed",
        "capturing CUDA graphs failed, usually for lack of GPU memory",
        True,
        "Lower --mem-fraction-static or --cuda-graph-max-bs.",
        70,
    ),
    Marker(
        "pool-oom",
        ("out of memory",),
        r"(?:Prefill|Decode) out of memory\.|alloc_req_slots runs out of memory",
        "the KV pool was exhausted in the middle of a batch",
        True,
        "Fewer requests at once (--max-running-requests) or a smaller --chunked-prefill-size.",
        70,
    ),
    Marker(
        "unbalanced",
        ("is unbalanced",),
        r"The memory capacity is unbalanced",
        "GPUs do not have the same free memory: another process holds one of them",
        False,
        "Find the process with nvidia-smi and stop it.",
        65,
        "warning",
    ),
    Marker(
        "rank-missing",
        ("could finish the model loading",),
        r"TP rank (?P<rank>\d+) could finish the model loading, but there are other ranks that",
        "one rank has loaded, others have not in the time allowed",
        True,
        "Look at the ranks without a `Load weight end` line; slow storage is the usual reason.",
        72,
    ),
    Marker(
        "pool-leak",
        ("memory leak detected",),
        r"memory leak detected!",
        "an internal count of KV memory does not add up; the server stops itself",
        True,
        "A bug of the server: note version and arguments.",
        70,
    ),
    Marker(
        "port-taken",
        (
            "already in use",
            "[Errno 98]",
            "bind",
        ),
        r"\[Errno (?:98|48)\].*?\('(?P<host>[^']*)', (?P<port>\d+)\).*?address already in use"
        r"|[Aa]ddress already in use(?:.*?:(?P<port2>\d+))?"
        r"|[Pp]ort (?:(?P<port3>\d+) )?is already in use\.?"
        r"|failed to bind to \S*:(?P<port5>\d+)"
        r"|couldn't bind (?:HTTP )?server socket.*?port[ =:]*(?P<port4>\d+)",
        "the HTTP port belongs to another process",
        True,
        "Find who listens there before starting again; answers on that port come from the other"
        " process.",
        78,
    ),
    Marker(
        "port-next",
        ("is in use",),
        r"[Pp]ort (?P<port>\d+) is in use[.,] ?(?:Trying|trying|Waiting|Using)",
        "an internal port was taken and the next one is tried",
        False,
        "",
        0,
        "info",
    ),
    Marker(
        "disk-full",
        ("No space left on device", "[Errno 28]"),
        r"No space left on device|\[Errno 28\]",
        "a disk is full",
        True,
        "Free space where the server writes: caches, compiled kernels, /dev/shm, the log itself.",
        60,
    ),
    Marker(
        "no-model",
        ("valid model identifier", "does not appear to have a file named", "Repository Not Found"),
        r"is not a valid model identifier|does not appear to have a file named"
        r"|Repository Not Found",
        "the model was not found at the path or name that was given",
        True,
        "",
        60,
    ),
    Marker(
        "engine-start",
        (
            "EngineCore failed",
            "core initialization failed",
        ),
        r"EngineCore failed to start|Engine core initialization failed",
        "vLLM's engine process died while starting",
        True,
        "The first traceback of an EngineCore or Worker line above says why.",
        50,
    ),
    Marker(
        "engine-dead",
        (
            "EngineDeadError",
            "EngineCore encountered",
        ),
        r"EngineDeadError|EngineCore encountered (?:a fatal error|an issue)",
        "vLLM's engine process is dead; HTTP may go on answering for a while",
        True,
        "Restart; the traceback above says why.",
        50,
    ),
    Marker(
        "model-load",
        (
            "model loading error",
            "load model",
            "loading model",
        ),
        r"exiting due to model loading error|failed to load model|error loading model",
        "the model file could not be loaded",
        True,
        "The lines above name the file and the reason.",
        60,
    ),
    Marker(
        "abort",
        (
            "GGML_ASSERT",
            "ggml_abort",
            "Fatal Python error",
            "Segmentation fault",
            "Segfault",
            "terminate called",
        ),
        r"GGML_ASSERT\(|ggml_abort|Fatal Python error: (?P<what>\w[\w ]*)"
        r"|Segmentation fault|Segfault encountered"
        r"|terminate called after throwing an instance of '(?P<kind>[^']*)'",
        "a process aborted outside Python",
        True,
        "",
        45,
    ),
    Marker(
        "child-exception",
        ("hit an exception",),
        r"(?P<part>Scheduler|TokenizerManager|DetokenizerManager|DataParallelController)"
        r" hit an exception",
        "a child process died of a Python exception",
        True,
        "The last line of the traceback names it.",
        35,
    ),
    Marker(
        "rank-dead",
        ("scheduler is dead",),
        r"Rank (?P<rank>\d+) scheduler is dead",
        "a scheduler died while starting",
        True,
        "Exit code -9 usually means the kernel's OOM killer; look in the kernel log.",
        32,
    ),
    Marker(
        "child-crash",
        (
            "crashed with exit code",
            "terminated with ",
        ),
        r"Subprocess (?P<name>\S+) \(pid=(?P<pid>\d+)\) crashed with exit code (?P<code>-?\d+)"
        r"|Scheduler or DataParallelController (?P<pid2>\d+) terminated with (?P<code2>-?\d+)",
        "a child process ended; -15 is a stop of the whole group, not a crash",
        True,
        "Exit code -9 without an OOM line means that somebody killed it.",
        30,
    ),
    Marker(
        "warmup-failed",
        ("Initialization failed",),
        r"Initialization failed\. warmup error",
        "the warm-up request failed, so the server stopped",
        True,
        "",
        35,
    ),
    Marker(
        "sigquit",
        (
            "sigquit from",
            "SIGQUIT received",
        ),
        r"Received sigquit from a child process|SIGQUIT received",
        "the parent is told that a child failed; the reason stands elsewhere",
        True,
        "",
        20,
    ),
    Marker(
        "killed",
        ("Killed",),
        r"^Killed(?:\s|$)|: line \d+: +\d+ Killed\b",
        "a shell reports SIGKILL; who sent it is not said",
        True,
        "",
        15,
    ),
    Marker(
        "kv-full",
        ("Retract requests",),
        r"KV cache pool is full\. Retract requests\.|^Retract requests:?",
        "the KV pool ran full and a running request was taken back",
        False,
        "Fewer requests at once, or a larger KV pool; decoding may stay slow afterwards.",
        25,
        "warning",
    ),
    Marker(
        "health-timeout",
        ("Health check failed",),
        r"Health check failed\. Server couldn't get a response from detokenizer for last"
        r" (?P<seconds>\d+) seconds\.(?:.*?last_heartbeat time: (?P<last>\d\d:\d\d:\d\d))?",
        "nothing came back for the health probe; the detokenizer is only where it was noticed",
        False,
        "Look for a compile bar or a long prefill before restarting.",
        18,
        "warning",
    ),
    Marker(
        "draining",
        (
            "SIGTERM received",
            "Gracefully exiting",
        ),
        r"SIGTERM received\.|Gracefully exiting\.\.\.",
        "a normal stop: running requests are finished first",
        False,
        "",
        5,
        "info",
    ),
    Marker(
        "warmup-compile",
        ("Pre-Compile session",),
        r"Entering DeepGEMM JIT Pre-Compile session",
        "kernels are compiled; health answers 503 until that ends",
        False,
        "",
        0,
        "info",
    ),
)

BY_ID: dict[str, Marker] = {m.id: m for m in MARKERS}
