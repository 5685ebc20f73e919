"""What documents say in words and in tables of a change: one form a row."""

from __future__ import annotations

import pytest

from console.nccl.importing.read import import_source
from tests.nccl.test_importing_variants import places_in

CHANGE = "| variable | {} | {} | why |\n|---|---|---|---|\n"
# text, then NAME (without NCCL_) state value for each place.
SAID = [
    (
        CHANGE.format("before", "after") + "| `NCCL_BUFFSIZE` | 4194304 | **16777216** | |",
        ["BUFFSIZE old 4194304", "BUFFSIZE set 16777216"],
    ),
    (
        CHANGE.format("New value", "Old value") + "| NCCL_NTHREADS | `512` | – | |",
        ["NTHREADS set 512"],
    ),
    (
        CHANGE.format("now", "proposed") + "| NCCL_CUMEM_ENABLE | 1 | *(unset)* | |",
        ["CUMEM_ENABLE old 1", "CUMEM_ENABLE unset "],
    ),
    (
        CHANGE.format("before", "now") + "| NCCL_PROTO | Simple | LL | |",
        ["PROTO old Simple", "PROTO set LL"],
    ),
    (
        CHANGE.format("from", "to") + "| NCCL_MAX_NCHANNELS | 32 | ~~24~~ 16 | |",
        ["MAX_NCHANNELS old 32", "MAX_NCHANNELS old 24", "MAX_NCHANNELS set 16"],
    ),
    (
        CHANGE.format("default", "recommended") + "| NCCL_IB_TIMEOUT | 20 | 22 | |",
        ["IB_TIMEOUT set 22"],
    ),
    (CHANGE.format("now", "since") + "| NCCL_PROTO | LL | May | |", ["PROTO set LL"]),
    (
        CHANGE.format("修改前", "修改后") + "| NCCL_PROTO | Simple | LL | |",
        ["PROTO old Simple", "PROTO set LL"],
    ),
    ("- NCCL_MAX_NCHANNELS: 32 -> 16", ["MAX_NCHANNELS old 32", "MAX_NCHANNELS set 16"]),
    ("* `NCCL_PROTO` `Simple` → `LL` (faster)", ["PROTO old Simple", "PROTO set LL"]),
    ("- **NCCL_SOCKET_IFNAME** → `eth0,eth1`", ["SOCKET_IFNAME set eth0,eth1"]),
    ("NCCL_ALGO -> see below", []),
    ("NCCL_PROTO: LL -> 88 tok/s", []),
    ("set NCCL_IB_HCA to `mlx5_0:1`, please", ["IB_HCA set mlx5_0:1"]),
    ("Raise NCCL_NTHREADS from 256 to 512.", ["NTHREADS old 256", "NTHREADS set 512"]),
    ("Setze `NCCL_PROTO` auf `LL`.", ["PROTO set LL"]),
    ("set NCCL_IB_HCA to the device you have", []),
    ("never set NCCL_PROTO to LL128", []),
    ("- unset NCCL_TOPO_FILE", ["TOPO_FILE unset "]),
    ("do not remove NCCL_TOPO_FILE", []),
    ("do not set `NCCL_P2P_DISABLE=1` again", ["P2P_DISABLE commented 1"]),
    ("never run NCCL_NET=Socket, use NCCL_NET=IB", ["NET commented Socket", "NET set IB"]),
    ("don't forget to set NCCL_IB_SL=3", ["IB_SL set 3"]),
    ("不要设置 NCCL_P2P_DISABLE=1", ["P2P_DISABLE commented 1"]),
    (
        "<del>NCCL_IB_SL=1</del> <ins>NCCL_IB_SL=0</ins>",
        ["IB_SL old 1", "IB_SL set 0"],
    ),
]


@pytest.mark.parametrize(("text", "places"), SAID)
def test_what_a_document_says_is_read(text: str, places: list[str]) -> None:
    assert places_in(import_source(text, "plan.md")) == places


@pytest.mark.parametrize("declaring", ["readonly", "local", "declare"])
def test_what_needs_an_expansion_stays_open_however_it_is_declared(declaring: str) -> None:
    text = f"{declaring} NCCL_BUFFSIZE=$((16 * 1024))\nexport NCCL_BUFFSIZE"
    found = places_in(import_source(text, "a.sh"))
    assert found == ["BUFFSIZE unresolved $((16 * 1024))"]
