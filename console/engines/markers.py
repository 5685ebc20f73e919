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
            "oom_kill event",
            "oom-kill event",
            ": Out Of Memory",
            "node running low on memory",
        ),
        r"(?:Memory cgroup out of memory|Out of memory): Killed process (?P<pid>\d+)"
        r" \((?P<process>[^)]*)\)(?:.*?anon-rss:(?P<rss_kb>\d+)kB)?"
        r"|oom-kill:constraint=(?P<constraint>\w+).*?task=(?P<process2>[^,]*),pid=(?P<pid2>\d+)"
        r"|killed by the OOM killer|Failed with result 'oom-kill'|\bOOMKilled\b"
        r"|Detected \d+ oom[_-]kill events? in |srun: error: .*: Out Of Memory"
        r"|due to the node running low on memory",
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
            "CUDA error: out of memory",
            "'out of memory'",
        ),
        r"CUDA out of memory\. Tried to allocate (?P<wanted2>[\d.]+ [KMG]iB) \(GPU (?P<gpu2>\d+);"
        r" (?P<total2>[\d.]+ [KMG]iB) total capacity;.*?(?P<free2>[\d.]+ [KMG]iB) free"
        r"|CUDA out of memory\.(?: Tried to allocate (?P<wanted>[\d.]+ [KMG]iB)\.)?"
        r"(?: GPU (?P<gpu>\d+) has a total capac\w+ of (?P<total>[\d.]+ [KMG]iB)"
        r" of which (?P<free>[\d.]+ [KMG]iB) is free\.)?"
        r"(?P<others>(?: Process \d+ has [\d.]+ [KMG]iB memory in use\.)*)"
        r"|allocating (?P<wanted3>[\d.]+ [KMG]iB) on device (?P<gpu3>\d+): cudaMalloc failed"
        r"|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|cudaMalloc failed: out of memory"
        r"|CUDA error: out of memory|Cuda failure (?:\d+ )?'out of memory'",
        "a GPU had no memory left for an allocation",
        True,
        "See who else holds memory on that GPU first; then lower --mem-fraction-static or the"
        " largest captured batch (--cuda-graph-max-bs).",
        90,
    ),
    Marker(
        "time-limit",
        ("CANCELLED AT",),
        r"CANCELLED AT \S+ DUE TO (?P<why>[A-Z ]+?) *(?:\*|$)",
        "Slurm ended the job",
        True,
        "Start it again in a job that may run long enough.",
        95,
    ),
    Marker(
        "gpu-busy",
        ("less than desired GPU memory utilization",),
        r"Free memory on device(?: \S+)? \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup",
        "less GPU memory was free at the start than --gpu-memory-utilization asks for",
        True,
        "Find who else holds memory on that GPU; then lower --gpu-memory-utilization.",
        89,
    ),
    Marker(
        "shm-full",
        ("shared memory segment", "shared memory (shm)", "/dev/shm"),
        r"Error while creating shared memory segment|insufficient shared memory \(shm\)"
        r"|/dev/shm.*No space left on device",
        "/dev/shm is too small or full",
        True,
        "Start the container with --ipc=host or a larger --shm-size; look for files left there.",
        82,
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
        "soft-watchdog",
        ("oft watchdog timeout", "soft_watchdog_timeout", "soft=True"),
        r"[Ss]oft watchdog timeout|\(soft_watchdog_timeout|atchdog timeout \(.*soft=True",
        "a forward pass takes longer than --soft-watchdog-timeout; nothing is ended for that",
        False,
        "The stack dump below shows where it stands.",
        22,
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
        (
            "Not enough memory",
            "No available memory",
            "maximum number of tokens that can be",
            "larger than the available KV cache memory",
        ),
        r"Not enough memory\. Please try to increase --mem-fraction-static"
        r"|No available memory for the cache blocks"
        r"|larger than the maximum number of tokens that can be stored in KV cache"
        r"|larger than the available KV cache memory",
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
        r"(?:allocator|pool) memory leak detected!",
        "an internal count of KV memory does not add up; the server stops itself",
        True,
        "A bug of the server: note version and arguments.",
        70,
    ),
    Marker(
        "port-taken",
        (
            "already in use",
            "already allocated",
            "[Errno 98]",
            "bind",
        ),
        r"\[Errno (?:98|48)\].*?\('(?P<host>[^']*)', (?P<port>\d+)\).*?address already in use"
        r"|[Aa]ddress already in use(?:.*?:(?P<port2>\d+))?"
        r"|(?:^|E(?:rror|RROR): +)[Pp]ort (?:(?P<port3>\d+) )?is already in use\.?"
        r"|Bind for \S+:(?P<port6>\d+) failed: port is already allocated"
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
        (
            "valid model identifier",
            "does not appear to have a file named",
            "Repository Not Found",
            "HFValidationError",
            "failed to open GGUF file",
            "Can't load the configuration of",
        ),
        r"is not a valid model identifier|does not appear to have a file named"
        r"|Repository Not Found|HFValidationError|failed to open GGUF file"
        r"|Can't load the configuration of",
        "the model was not found at the path or name that was given",
        True,
        "",
        60,
    ),
    Marker(
        "gated-model",
        ("GatedRepoError", "gated repo", "is restricted"),
        r"GatedRepoError|access a gated repo|Access to model \S+ is restricted",
        "the model may be downloaded only with a Hugging Face login that was granted access",
        True,
        "Give the process an HF_TOKEN that may read it, or a local path.",
        61,
    ),
    Marker(
        "model-damaged",
        (
            "deserializing header",
            "MetadataIncompleteBuffer",
            "PytorchStreamReader failed",
            "invalid magic",
            "within the file bounds",
            "corrupted or incomplete",
        ),
        r"Error while deserializing header|MetadataIncompleteBuffer|PytorchStreamReader failed"
        r"|invalid magic|not within the file bounds|corrupted or incomplete",
        "a weight file is damaged or was not copied whole",
        True,
        "Compare sizes and checksums with the source; copy it again.",
        63,
    ),
    Marker(
        "model-unsupported",
        (
            "Model architectures",
            "unknown model architecture",
            "does not recognize this architecture",
            "Unrecognized configuration class",
        ),
        r"Model architectures .{1,200}?(?:are not supported|failed to be inspected)"
        r"|unknown model architecture|does not recognize this architecture"
        r"|Unrecognized configuration class",
        "this version of the engine does not know the model's architecture",
        True,
        "Use a version that does, or look at the model's config.json.",
        62,
    ),
    Marker(
        "model-code",
        ("trust_remote_code", "trust-remote-code"),
        r"(?:contains custom code which must be executed|requires you to execute the"
        r" configuration file).*trust.remote.code|set the option `?trust_remote_code=True",
        "the model brings its own code, which must be permitted",
        True,
        "Start with --trust-remote-code if you trust where the model comes from.",
        61,
    ),
    Marker(
        "no-gpu",
        (
            "No CUDA GPUs are available",
            "Found no NVIDIA driver",
            "libcuda.so.1: cannot open",
            "driver version is insufficient",
            "no CUDA-capable device",
            "not compiled with CUDA",
            "Failed to infer device type",
        ),
        r"No CUDA GPUs are available|Found no NVIDIA driver|libcuda\.so\.1: cannot open"
        r"|driver version is insufficient|no CUDA-capable device is detected"
        r"|not compiled with CUDA|Failed to infer device type",
        "the process sees no GPU that it can use",
        True,
        "Check nvidia-smi on the host, CUDA_VISIBLE_DEVICES, and --gpus of the container.",
        75,
    ),
    Marker(
        "bad-argument",
        ("error: ",),
        r"(?:^|: )error: (?P<what>(?:unrecognized arguments|the following arguments are required"
        r"|invalid argument|argument [-\w/]+).{0,120})",
        "an argument is not accepted",
        True,
        "Options change between versions: compare with --help of the one that is installed.",
        60,
    ),
    Marker(
        "no-program",
        ("No module named ", "not found"),
        r"No module named '?(?P<what>sglang|vllm|torch|tensorrt_llm)\b"
        r"|(?P<what2>python3?|sglang|vllm|llama-server|trtllm-serve): (?:command )?not found",
        "the program is not installed where it was started",
        True,
        "Check the environment or container in which it is launched.",
        60,
    ),
    Marker(
        "rendezvous",
        ("clients joined", "DistStoreError", "The client socket has timed out"),
        r"Timed out after \d+ seconds waiting for clients\. (?P<joined>\d+/\d+) clients joined"
        r"|DistStoreError: (?!Timed out after)"
        r"|The client socket has timed out after .* trying to connect to \((?P<peer>[^)]*)\)",
        "ranks did not find each other in time",
        True,
        "See that every node and rank was started, that --dist-init-addr is reachable from each,"
        " and which NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME they use.",
        74,
    ),
    Marker(
        "liveness",
        ("failed liveness probe", "Liveness probe failed"),
        r"failed liveness probe, will be restarted|Liveness probe failed",
        "Kubernetes holds the server for dead by its liveness probe",
        False,
        "A load or a compile takes longer than the probe allows: give it a startupProbe.",
        28,
        "warning",
    ),
    Marker(
        "gave-up",
        ("Start request repeated too quickly", "Back-off restarting failed"),
        r"Start request repeated too quickly|Back-off restarting failed",
        "it died so often that it is not started again for now",
        True,
        "Look for the reason of the first death further up.",
        17,
    ),
    Marker(
        "worker-dead",
        ("died unexpectedly", "WorkerProc "),
        r"Worker proc (?P<name>\S+) died unexpectedly|WorkerProc (?:hit an exception"
        r"|initialization failed)",
        "a worker of vLLM died",
        True,
        "The first traceback of a Worker line says why; without one it was killed from outside.",
        40,
    ),
    Marker(
        "worker-silent",
        ("No available shared memory broadcast block",),
        r"No available shared memory broadcast block found in (?P<seconds>\d+) second",
        "a worker has not answered for a minute: it hangs, or it compiles",
        False,
        "While a graph is compiled this is ordinary; with requests running and no token it is not.",
        18,
        "warning",
    ),
    Marker(
        "trtllm-hang",
        ("Hang detected",),
        r"Hang detected on rank (?P<rank>\d+)",
        "TensorRT-LLM's executor hangs",
        True,
        "Compare the stacks of all ranks; the one that hangs may wait for another.",
        70,
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
            "core dumped",
        ),
        r"GGML_ASSERT\(|ggml_abort|Fatal Python error: (?P<what>\w[\w ]*)"
        r"|Segmentation fault|Segfault encountered|\(core dumped\)"
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
        ("scheduler is dead", "died during initialization"),
        r"Rank (?P<rank>\d+) scheduler (?:is dead|died during initialization)"
        r"(?: \(exit code: (?P<code>-?\d+)\))?",
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
        r"^Killed(?:\s|$)|: line \d+: +\d+ Killed\b|: task \d+: Killed$",
        "a shell reports SIGKILL; who sent it is not said",
        True,
        "",
        15,
    ),
    Marker(
        "kv-full",
        ("Retract requests", "PreemptionMode"),
        r"KV cache pool is full\. Retract requests\.|^Retract requests:?"
        r"|is preempted by PreemptionMode",
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
