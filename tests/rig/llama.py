"""A real llama.cpp server on a CPU, with a model of random weights made on the spot.

    python -m tests.rig.llama make DIR [--layers N] [--vocab N] [--dim N]
    python -m tests.rig.llama serve DIR PORT [--spec] [--log FILE]

Tokens, timings, counters, speculation and log lines are llama.cpp's own; only the text is
meaningless. Needs the wheels xllamacpp, gguf and numpy, and no network.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.rig.ports import free_port
from tests.rig.process import Child
from tests.rig.waiting import auntil, until

if TYPE_CHECKING:
    import gguf

REPOSITORY = Path(__file__).parents[2]
HEADS = 6
CONTEXT_TOKENS = 2048
BYTES, CONTROL = 256, ("<s>", "</s>", "<unk>")

# Layers this weak leave the next token to the embedding, which target and draft share: the draft
# is nearly always right, so speculation is really faster.
LAYER_SCALE = 0.012


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of a target model. `vocab` counts tokens and is at least 259; `dim` a multiple of 12."""

    layers: int = 12
    vocab: int = BYTES + len(CONTROL)
    dim: int = 384


TINY = Shape()
# A long vocabulary is the cheap way to a long load: it costs llama.cpp 4 us a token and the disk
# little, where layers cost 8 MB each for 4 ms.
SLOW_TO_LOAD = Shape(layers=1, vocab=120_000, dim=60)


def make(folder: Path, shape: Shape = TINY) -> None:
    """Write target.gguf in this shape, and draft.gguf, its one-layer draft, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "target.gguf", shape, shape.layers)
    _write(folder / "draft.gguf", shape, 1)


def made_once(root: Path, shape: Shape = TINY) -> Path:
    """The folder below `root` with this shape's models; the first of several processes makes it."""
    folder = root / f"llama-{shape.layers}-{shape.vocab}-{shape.dim}"
    with (root / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = root / f"{folder.name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            make(unfinished, shape)
            unfinished.rename(folder)
    return folder


def serve(folder: Path, port: int, spec: bool) -> None:
    """Serve `folder`'s target on 127.0.0.1, with its draft when `spec`, until a signal ends it.

    The port answers 503 while the model loads.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(folder / "target.gguf")
    params.port = port
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.endpoint_metrics = True
    _one_thread(params)
    if spec:
        draft = params.speculative.draft
        draft.mparams.path = str(folder / "draft.gguf")
        draft.n_min, draft.n_max, draft.p_min = 1, 8, 0.0
        _one_thread(draft)
        kinds = xllamacpp.common_speculative_type
        params.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


def health(port: int) -> int | None:
    """Status code of GET /health, or None when the connection is refused or dropped."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    except (ConnectionError, http.client.BadStatusLine):
        return None
    finally:
        connection.close()


class LlamaServer:
    """One server as a child process; `start` it or use it as a context manager (does not wait).

    stdout and stderr go to `log`, appended over restarts; the port stays for the object's life.
    """

    def __init__(
        self, folder: Path, log: Path, *, spec: bool = False, port: int | None = None
    ) -> None:
        self.folder = folder
        self.log = log
        self.spec = spec
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._child: Child | None = None

    def __enter__(self) -> LlamaServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self.kill()

    @property
    def argv(self) -> list[str]:
        """The command that serves this folder on this port; run it from the repository's root."""
        words = [sys.executable, "-m", "tests.rig.llama", "serve", str(self.folder), str(self.port)]
        return [*words, "--spec"] if self.spec else words

    @property
    def pid(self) -> int:
        """The server's process id, also after its end; RuntimeError before the first start."""
        return self._started().pid

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal, None while it runs."""
        return self._started().returncode

    def start(self) -> None:
        """Start the process and return at once; see `ready` for when it serves."""
        if self._child is not None and self._child.returncode is None:
            raise RuntimeError("the llama.cpp server is already running")
        self._child = Child(self.argv, self.log, cwd=REPOSITORY)

    def stop(self) -> int:
        """SIGTERM, then SIGKILL after 5 s; the exit code."""
        return self._started().stop()

    def kill(self) -> int:
        """SIGKILL; the exit code."""
        return self._started().kill()

    def health(self) -> int | None:
        """See the module's `health`."""
        return health(self.port)

    def wait_ready(self, deadline_s: float = 20.0) -> None:
        """Return once /health answers 200; RuntimeError with the log if the process ends."""
        until(self._ready_or_over, deadline_s, f"{self.url}/health 200")

    async def ready(self, deadline_s: float = 20.0) -> None:
        """`wait_ready` for async tests."""
        await auntil(self._ready_or_over, deadline_s, f"{self.url}/health 200")

    def _ready_or_over(self) -> bool:
        code = self._started().returncode
        if code is not None:
            raise RuntimeError(f"server ended with {code}: {self.log.read_text(errors='replace')}")
        return self.health() == 200

    def _started(self) -> Child:
        if self._child is None:
            raise RuntimeError("the llama.cpp server was never started")
        return self._child


def _one_thread(params: object) -> None:
    for cpu in ("cpuparams", "cpuparams_batch"):
        getattr(params, cpu).n_threads = 1


def _byte_spellings() -> Iterator[str]:
    """One printable character for each byte value, as byte-level BPE vocabularies spell them."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    stand_in = iter(range(0x100, 0x200))
    for byte in range(BYTES):
        yield chr(byte if byte in printable else next(stand_in))


def _write(path: Path, shape: Shape, layers: int) -> None:
    import gguf
    import numpy

    dim, wide = shape.dim, shape.dim * 3
    shared, own = numpy.random.default_rng(1), numpy.random.default_rng(2)
    model = gguf.GGUFWriter(str(path), "llama")
    model.add_name(path.stem)
    model.add_context_length(CONTEXT_TOKENS)
    model.add_embedding_length(dim)
    model.add_block_count(layers)
    model.add_feed_forward_length(wide)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_rope_dimension_count(dim // HEADS)
    model.add_vocab_size(shape.vocab)
    model.add_file_type(0)
    _add_tokenizer(model, shape.vocab)

    def add(name: str, values: numpy.ndarray) -> None:
        model.add_tensor(f"{name}.weight", values.astype(numpy.float32))

    add("token_embd", shared.standard_normal((shape.vocab, dim)))
    output = shared.standard_normal((shape.vocab, dim)) * 0.1
    # Never the likeliest: half a character, which is held back until it is whole, and what ends a
    # text. So every token is text, whatever the prompt.
    output[:0x20] = output[0x7F : BYTES + len(CONTROL)] = 0.0
    add("output", output)
    add("output_norm", numpy.ones(dim))
    matrices = {
        **dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (dim, dim)),
        **dict.fromkeys(("ffn_gate", "ffn_up"), (wide, dim)),
        "ffn_down": (dim, wide),
    }
    for layer in range(layers):
        add(f"blk.{layer}.attn_norm", numpy.ones(dim))
        add(f"blk.{layer}.ffn_norm", numpy.ones(dim))
        for name, size in matrices.items():
            add(f"blk.{layer}.{name}", own.standard_normal(size) * LAYER_SCALE)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


def _add_tokenizer(model: gguf.GGUFWriter, vocab: int) -> None:
    """A byte-level vocabulary: bytes, control tokens, then words nothing merges into."""
    import gguf

    spelled = list(_byte_spellings())
    words = [f"w{n}" for n in range(vocab - BYTES - len(CONTROL))]
    normal, control = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    model.add_tokenizer_model("gpt2")
    model.add_tokenizer_pre("default")
    model.add_token_list([*spelled, *CONTROL, *words])
    model.add_token_types([normal] * BYTES + [control] * len(CONTROL) + [normal] * len(words))
    model.add_token_merges([f"{spelled[ord('t')]} {spelled[ord('h')]}"])
    model.add_bos_token_id(BYTES)
    model.add_eos_token_id(BYTES + 1)
    model.add_unk_token_id(BYTES + 2)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line in the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m tests.rig.llama")
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="write target.gguf and draft.gguf")
    making.add_argument("folder", type=Path)
    for size in ("layers", "vocab", "dim"):
        making.add_argument(f"--{size}", type=int, default=getattr(TINY, size))
    serving = commands.add_parser("serve", help="serve them until a signal")
    serving.add_argument("folder", type=Path)
    serving.add_argument("port", type=int)
    serving.add_argument("--spec", action="store_true", help="with the draft model")
    serving.add_argument("--log", type=Path, help="append stdout and stderr to this file")
    given = parser.parse_args(argv)
    if given.command == "make":
        make(given.folder, Shape(given.layers, given.vocab, given.dim))
        return
    if given.log is not None:
        log = os.open(given.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
    serve(given.folder, given.port, given.spec)


if __name__ == "__main__":
    main()
