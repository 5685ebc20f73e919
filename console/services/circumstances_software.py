"""Which software, which files of which model, and how the GPUs are joined, from one look at a host.

Owns reading that out of the probe's lines. A model is told by the snapshot it is of and the
checksums of its small files, never by its name alone: a name is moved to other weights silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.bench.provenance import Group, Unread, Value
from console.engines.topology import parse_matrix

Rows = Mapping[str, Sequence[str]]
"""Values by name, as the probe printed them."""

_PACKAGES = {
    "torch": "torch",
    "sglang": "sglang",
    "vllm": "vllm",
    "triton": "triton",
    "transformers": "transformers",
    "sgl_kernel": "sgl_kernel",
    "sglang_kernel": "sglang_kernel",
    "flashinfer": "flashinfer",
    "flashinfer_python": "flashinfer",
    "nvidia_nccl_cu12": "nccl",
    "nvidia_nccl_cu13": "nccl",
    "xllamacpp": "llamacpp",
}
"""Installed packages and the name of their circumstance."""
_FILES = {
    "config.json": "config_hash",
    "tokenizer.json": "tokenizer_hash",
    "chat_template.jinja": "chat_template_hash",
    "model.safetensors.index.json": "index_hash",
    "file": "file_hash",
}


def versions(told: Rows) -> Group:
    """Libraries as they are mapped, packages as they are installed where those come from."""
    values: dict[str, Value] = {}
    readable = "versions.readable" in told
    unread = Unread("no memory map was readable")
    for key, name, absent in (
        ("libnccl", "libnccl", "no libnccl mapped"),
        ("cudart", "cuda", "no CUDA runtime mapped"),
    ):
        if f"versions.{key}" in told:
            values[name] = told[f"versions.{key}"][0]
        else:
            values[name] = absent if readable else unread
    if not readable:
        values["packages"] = unread
    for package, name in _PACKAGES.items():
        if f"package.{package}" in told:
            found = dict.fromkeys(told[f"package.{package}"])
            values[name] = ", ".join(one.removeprefix(f"{package}-") for one in found)
    drivers = ", ".join(dict.fromkeys(_drivers(told)))
    values["driver"] = "no GPU" if "gpu.none" in told else drivers or Unread("not told")
    return Group(values)


def _drivers(told: Rows) -> list[str]:
    names = told.get("gpu.fields", [""])[0].split(",")
    if "driver_version" not in names:
        return list(told.get("gpu.one.driver_version", []))
    place = names.index("driver_version")
    rows = (row.split(", ") for row in told.get("gpu.row", []))
    return [row[place] for row in rows if len(row) > place]


def model(told: Rows) -> Group:
    """The target's files, and those of a draft beside it."""
    values: dict[str, Value] = {}
    for start, prefix in (("model", ""), ("draft", "draft_")):
        path = told.get(f"{start}.path", [""])[0]
        if path:
            values |= _model(told, start, prefix, path)
    if "path" not in values:
        values["path"] = Unread("neither the server nor its command line names it")
    return Group(values)


def _model(told: Rows, start: str, prefix: str, path: str) -> dict[str, Value]:
    values: dict[str, Value] = {f"{prefix}path": path}
    files = {
        f"{prefix}{key}": told[f"{start}.{file}"][0]
        for file, key in _FILES.items()
        if f"{start}.{file}" in told
    }
    if f"{start}.revision" in told:
        values[f"{prefix}revision"] = told[f"{start}.revision"][0]
    elif not files:
        values[f"{prefix}revision"] = Unread(
            "neither a folder nor a snapshot was found or readable"
        )
    return {**values, **files}


def topology(told: Rows) -> Group:
    """Links and peer access of every pair of GPUs."""
    if "gpu.none" in told:
        return Group({"matrix": "no GPU", "p2p": "no GPU"})
    return Group({name: _matrix(told.get(f"topology.{name}", [])) for name in ("matrix", "p2p")})


def _matrix(rows: Sequence[str]) -> Value:
    """`NODE 0-1 0-2; SYS 0-4`: pairs by the word that joins them."""
    found = parse_matrix("\n".join(rows))
    if found is None:
        return Unread("nvidia-smi gives no matrix")
    if len(found.gpus) < 2:
        return "one GPU"
    pairs: dict[str, list[str]] = {}
    for (a, b), word in sorted(found.links.items()):
        if a < b:
            pairs.setdefault(word, []).append(f"{a}-{b}")
    return "; ".join(f"{word} {' '.join(them)}" for word, them in sorted(pairs.items()))
