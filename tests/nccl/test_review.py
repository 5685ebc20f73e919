"""Findings about whole sources: their lines, their version, what holds together."""

from __future__ import annotations

from console.nccl.finding import Finding, Severity, worst
from console.nccl.importing.found import conflicts
from console.nccl.importing.read import import_source
from console.nccl.review import review
from console.nccl.version import Version

V27, V32 = Version(2, 27, 7), Version(2, 32, 3)


def errors(findings: tuple[Finding, ...]) -> list[tuple[tuple[str, ...], list[str]]]:
    return [
        (f.names, [str(origin) for origin in f.at])
        for f in findings
        if f.severity is Severity.ERROR
    ]


def test_findings_carry_their_lines() -> None:
    text = "# plan\nNCCL_ALGO=Ring\nNCCL_BUFFSIZE=16M\n"
    assert errors(review(import_source(text, "plan.env"), V27)) == [
        (("NCCL_BUFFSIZE",), ["plan.env:3"])
    ]


def test_a_log_s_own_version_holds() -> None:
    head = "a:1:1 [0] NCCL INFO NCCL version 2.23.4+cuda12.4\n"
    line = "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Tree\n"
    findings = review(import_source(head + line, "x.log"), V27)
    assert worst(findings) is None
    findings = review(import_source(line, "x.log"), V27)
    assert [finding.rule for finding in findings] == ["no-ring"]


def test_combinations_hold_within_a_command_only() -> None:
    apart = "NCCL_P2P_DISABLE=1 python a\nNCCL_P2P_LEVEL=SYS python b\n"
    together = "export NCCL_P2P_DISABLE=1\nNCCL_P2P_LEVEL=SYS python b\n"
    rules = {f.rule for f in review(import_source(apart, "a.sh"), V27)}
    assert "p2p-disabled" not in rules
    found = [f for f in review(import_source(together, "a.sh"), V27) if f.rule == "p2p-disabled"]
    assert [origin.line for origin in found[0].at] == [1, 2]


def test_a_conf_file_s_carriage_return_matters_up_to_2_29() -> None:
    imported = import_source("NCCL_PROTO=LL\r\n", "nccl.conf")
    assert worst(review(imported, V27)) is Severity.ERROR
    assert worst(review(imported, V32)) is Severity.NOTE


def test_of_two_entries_in_one_container_the_last_holds() -> None:
    pair = "- {name: NCCL_ALGO, value: Ring}\n- {name: NCCL_ALGO, value: Tree}\n"
    (conflict,) = conflicts(import_source("env:\n" + pair, "pod.k8s.yaml"))
    assert conflict.winner == "Tree"


def test_a_conflict_names_the_winner_where_the_loader_decides() -> None:
    text = "export NCCL_ALGO=Ring\nexport NCCL_ALGO=Ring,Tree\n"
    (found,) = [f for f in review(import_source(text, "a.sh"), V27) if f.rule == "conflict"]
    assert (found.severity, found.reads_as) == (Severity.NOTE, "Ring,Tree")
