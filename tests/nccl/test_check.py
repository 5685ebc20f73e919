"""Values and combinations, checked as each version of NCCL reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.nccl.catalogue import catalogue
from console.nccl.check import check, check_value
from console.nccl.finding import Severity, worst
from console.nccl.rules import Machine
from console.nccl.version import Version

V21, V23, V27, V31, V32 = (
    Version(2, 21, 5),
    Version(2, 23, 4),
    Version(2, 27, 7),
    Version(2, 31, 2),
    Version(2, 32, 3),
)
SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}


@pytest.mark.parametrize("version", [V21, V23, V27, V31, V32])
def test_the_six_pass_with_notes_only(version: Version) -> None:
    found = check(SIX, version)
    assert worst(found) is Severity.NOTE
    rules = {finding.rule for finding in found}
    assert {"buffsize-unused", "deprecated", "memory", "ll-bandwidth"} <= rules
    memory = next(finding for finding in found if finding.rule == "memory")
    assert "16 channels x 21.2 MiB = 339 MiB" in memory.why


@pytest.mark.parametrize(
    ("name", "value", "version", "severity", "reads_as", "meant"),
    [
        ("BUFFSIZE", "16M", V27, "error", "16", "16777216"),
        ("BUFFSIZE", "16 MiB", V27, "error", "16", "16777216"),
        ("BUFFSIZE", "1e7", V32, "error", "1", "10000000"),
        ("BUFFSIZE", "16777216#16MiB", V27, "warning", "16777216", "16777216"),
        ("BUFFSIZE", "99999999999999999999", V27, "error", "4194304", ""),
        ("MAX_NCHANNELS", "020", V27, "error", "16", "20"),
        ("MAX_NCHANNELS", "08", V27, "error", "0", "8"),
        ("MAX_NCHANNELS", "0x10", V27, "note", "", "NCCL_MAX_CTAS"),
        ("MAX_NCHANNELS", "64", V23, "warning", "32", "32"),
        ("IB_DISABLE", "true", V31, "error", "0", "1"),
        ("IB_DISABLE", "true", V32, "error", "0", "1"),
        ("IB_DISABLE", "false", V31, "warning", "0", "0"),
        ("IB_DISABLE", "2", V31, "warning", "2", "1"),
        ("P2P_LEVEL", "sys", V27, "error", "default", "SYS"),
        ("P2P_LEVEL", " SYS", V27, "error", "default", "SYS"),
        ("P2P_LEVEL", "SYS\r", V27, "error", "default", "SYS"),
        ("P2P_LEVEL", "NODE", V27, "error", "default", "PHB"),
        ("P2P_LEVEL", "4", V27, "note", "SYS", "SYS"),
        ("P2P_LEVEL", "-1", V27, "error", "default", ""),
        ("P2P_DISABLE", "true", V27, "error", "0", "1"),
        ("P2P_DISABLE", "2", V32, "error", "0", "1"),
        ("ALGO", "Ring, Tree", V27, "error", "", "Ring,Tree"),
        ("ALGO", '"Ring"', V27, "error", "", "Ring"),
        ("ALGO", "ringo,Tree", V23, "error", "Tree", ""),
        ("PROTO", "allreduce:LL;Simple", V27, "error", "", ""),
        ("PROTO", "alltoall:LL", V27, "error", "", ""),
        ("DEBUG", "INFOO", V27, "error", "no logging", "INFO"),
        ("DEBUG", "ATTN", V27, "error", "no logging", "WARN"),
        ("DEBUG", "INFO ", V27, "error", "no logging", "INFO"),
        ("DEBUG_SUBSYS", "INIT，ENV", V27, "error", "none", "INIT,ENV"),
        ("DEBUG_SUBSYS", "GRAPH,BAD", V27, "error", "GRAPH", ""),
        ("DEBUG_SUBSYS", "GRAPH,BAD", V32, "error", "INIT,BOOTSTRAP,ENV", ""),
        ("SOCKET_FAMILY", "ipv4", V27, "error", "default", "AF_INET"),
        ("SOCKET_IFNAME", "e", V27, "error", "default", ""),
        ("SOCKET_IFNAME", '"eno1"', V27, "error", "", "eno1"),
        ("SOCKET_IFNAME", "^lo,^docker0", V27, "error", "^lo,^docker0", ""),
        ("COMM_ID", "heron", V27, "error", "", ""),
        ("NTHREADS", "1000", V27, "warning", "512", "512"),
        ("NTHREADS", "", V27, "warning", "default", ""),
        ("WORK_FIFO_BYTES", "1000000", V27, "error", "1048576", ""),
        ("CTA_POLICY", "EFFICIENCY", V27, "error", "0", ""),
        ("NET", "", V27, "error", "", ""),
        ("TOPO_FILE", "~/topo.xml", V27, "error", "~/topo.xml", ""),
        ("RAS_TIMEOUT_FACTOR", "1.5", V31, "error", "1", ""),
        ("GIN_ENABLE", "true", V27, "warning", "", ""),
        ("LL_THRESHOLD", "0", V27, "warning", "", "NCCL_PROTO"),
        ("BUFFERSIZE", "16777216", V27, "warning", "", "NCCL_BUFFSIZE"),
        ("VERSION", "2.27.7-1", V27, "note", "", ""),
        ("BLOCKING_WAIT", "1", V27, "warning", "", "TORCH_NCCL_BLOCKING_WAIT"),
    ],
)
def test_one_value(
    name: str, value: str, version: Version, severity: str, reads_as: str, meant: str
) -> None:
    first = check_value("NCCL_" + name, value, version)[0]
    assert (first.severity.value, first.reads_as, first.meant) == (severity, reads_as, meant)
    assert first.why
    assert first.written == value


@pytest.mark.parametrize(
    ("name", "value", "version"),
    [
        ("ALGO", "ring;allreduce:^tree", V27),
        ("ALGO", "TREE,ring", V23),
        ("PROTO", "^LL128", V27),
        ("IB_HCA", "=mlx5_0:1,mlx5_1:1", V27),
        ("SOCKET_IFNAME", "^lo,docker0", V27),
        ("COMM_ID", "[fe80::1]:2345", V27),
        ("CTA_POLICY", "EFFICIENCY|ZERO", V31),
        ("RAS_TIMEOUT_FACTOR", "1.5", V32),
        ("SET_THREAD_NAME", "TRUE", V31),
        ("DEBUG", "info", V27),
        ("NETDEVS_POLICY", "max:2", V31),
    ],
)
def test_nothing_to_say(name: str, value: str, version: Version) -> None:
    assert check_value("NCCL_" + name, value, version) == ()


@pytest.mark.parametrize(
    ("settings", "version", "machine", "rule", "severity"),
    [
        ("P2P_DISABLE=1 P2P_LEVEL=SYS", V27, Machine(), "p2p-disabled", "warning"),
        ("P2P_DISABLE=1 SHM_DISABLE=1", V27, Machine(), "sockets-only", "warning"),
        ("MIN_NCHANNELS=32 MAX_NCHANNELS=16", V27, Machine(), "floor-above-cap", "warning"),
        ("PROTO=LL128", V27, Machine(pcie_only=True), "ll128-forced", "error"),
        ("PROTO=LL128 P2P_LEVEL=SYS", V27, Machine(), "ll128-forced", "warning"),
        ("PROTO=^LL", V27, Machine(), "ll128-forced", "warning"),
        ("ALGO=Tree", V27, Machine(), "no-ring", "warning"),
        ("ALGO=^Ring", V27, Machine(), "no-ring", "warning"),
        ("ALGO=NVLS NVLS_ENABLE=0", V27, Machine(), "nvls-off", "error"),
        ("ALGO=NVLS PROTO=LL", V27, Machine(), "nvls-simple", "error"),
        ("ALGO=CollNetChain COLLNET_ENABLE=0", V27, Machine(), "collnet-off", "error"),
        ("ALGO=allreduce:tree PROTO=Simple", V31, Machine(), "algo-per-function", "error"),
        ("SOCKET_NTHREADS=16 NSOCKS_PERTHREAD=8", V27, Machine(), "too-many-sockets", "error"),
        ("MNNVL_ENABLE=1 CUMEM_ENABLE=0", V27, Machine(), "mnnvl-cumem", "error"),
        ("LL128_BUFFSIZE=1000000", V27, Machine(), "ll128-lines", "error"),
        ("BUFFSIZE=268435456 MAX_CTAS=32", V27, Machine(), "memory", "warning"),
        ("MIN_NRINGS=8 MIN_NCHANNELS=4", V27, Machine(), "alias-loses", "note"),
        ("NVLS_ENABLE=1", V27, Machine(local_gpus=2), "nvls-few-gpus", "note"),
        (
            "GRAPH_STREAM_ORDERING=0 GRAPH_MIXING_SUPPORT=1",
            V31,
            Machine(),
            "graph-order",
            "error",
        ),
    ],
)
def test_combinations(
    settings: str, version: Version, machine: Machine, rule: str, severity: str
) -> None:
    env = dict(f"NCCL_{pair}".split("=", 1) for pair in settings.split())
    found = {finding.rule: finding.severity.value for finding in check(env, version, machine)}
    assert found.get(rule) == severity


def test_rules_hold_only_where_the_names_exist() -> None:
    env = {"NCCL_ALGO": "Tree"}
    assert "no-ring" not in {finding.rule for finding in check(env, V23)}
    env = {"NCCL_GRAPH_STREAM_ORDERING": "0", "NCCL_GRAPH_MIXING_SUPPORT": "1"}
    assert "graph-order" not in {finding.rule for finding in check(env, V27)}


def test_other_libraries_are_not_judged() -> None:
    assert check({"TORCH_NCCL_BLOCKING_WAIT": "x", "RCCL_MSCCL_ENABLE": "x"}, V27) == ()


@given(
    st.dictionaries(
        st.sampled_from(sorted(catalogue())) | st.text().map("NCCL_".__add__),
        st.text(max_size=40)
        | st.from_regex(r"\s*[+-]?[0-9xX]*[kMG ]*[A-Za-z,;:^=\"]*\s*", fullmatch=True),
        max_size=12,
    ),
    st.sampled_from([V21, V23, V27, V31, V32]),
)
def test_any_text_gives_findings_and_never_an_exception(
    env: dict[str, str], version: Version
) -> None:
    for finding in check(env, version):
        assert finding.why
        assert set(finding.names) & (set(env) | {"NCCL_COLLNET_ENABLE"})
