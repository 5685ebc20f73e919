"""Markers of a start that fails, and of pools and watchdogs while it runs. A pure table."""

from __future__ import annotations

from console.engines.marker import Marker

OF_START: tuple[Marker, ...] = (
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
            "/config.json'",
        ),
        r"is not a valid model identifier|does not appear to have a file named"
        r"|Repository Not Found|HFValidationError|failed to open GGUF file"
        r"|Can't load the configuration of|No such file or directory: '[^']*/config\.json'",
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
            "Driver/library version mismatch",
        ),
        r"No CUDA GPUs are available|Found no NVIDIA driver|libcuda\.so\.1: cannot open"
        r"|driver version is insufficient|no CUDA-capable device is detected"
        r"|not compiled with CUDA|Failed to infer device type|Driver/library version mismatch",
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
)
