"""Markers of processes that end, hang or hold requests up. A pure table."""

from __future__ import annotations

from console.engines.marker import Marker

OF_END: tuple[Marker, ...] = (
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
            "CUDA error",
            "(): ",
            "double free",
            "corrupted ",
            "stack smashing",
        ),
        r"GGML_ASSERT\(|ggml_abort|Fatal Python error: (?P<what>\w[\w ]*)"
        r"|Segmentation fault|Segfault encountered|\(core dumped\)"
        r"|terminate called after throwing an instance of '(?P<kind>[^']*)'|\.cu:\d+: CUDA error$"
        r"|^(?:(?:free|malloc|realloc|calloc|munmap_chunk)\(\): (?P<what2>[a-z][a-z ]+)"
        r"|double free or corruption|corrupted (?:size vs|double-linked)|\*\*\* stack smashing)",
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
            "failed (exitcode: ",
        ),
        r"Subprocess (?P<name>\S+) \(pid=(?P<pid>\d+)\) crashed with exit code (?P<code>-?\d+)"
        r"|Scheduler or DataParallelController (?P<pid2>\d+) terminated with (?P<code2>-?\d+)"
        r"|failed \(exitcode: (?P<code3>-?\d+)\) local_rank: (?P<rank>\d+) \(pid: (?P<pid3>\d+)\)",
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
        ("Killed", "exit code 137"),
        r"^Killed(?:\s|$)|: line \d+: +\d+ Killed\b|: task \d+: Killed$"
        r"|command terminated with exit code 137$",
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
