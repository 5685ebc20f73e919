"""Markers of the machine: memory, GPUs and what joins them. A pure table."""

from __future__ import annotations

from console.engines.marker import Marker

OF_MACHINE: tuple[Marker, ...] = (
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
        r"|CUDA error: out of memory|Cuda failure (?:\d+ )?'out of memory'|CUDA out of memory$",
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
        "kernel-resources",
        ("out of resource: ",),
        r"out of resource: (?P<what>[a-z ]+), Required: \d+",
        "a Triton kernel wants more of this GPU than it has",
        True,
        "Choose another attention or MoE backend: this kernel is tuned for a larger GPU.",
        70,
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
)
