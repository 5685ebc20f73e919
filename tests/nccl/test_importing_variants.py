"""The same kinds of source in other hands: one form a row, with what must come out of it. A form
that reads as something else than its writer meant carries its finding."""

from __future__ import annotations

import pytest

from console.nccl.finding import Severity
from console.nccl.importing.found import Imported
from console.nccl.importing.read import import_source
from console.nccl.review import review
from console.nccl.version import Version

V27 = Version(2, 27, 7)

# file, text, then NAME (without NCCL_) state value for each place, in the order of the text.
FORMS = [
    ("a.md", "see https://x/?a=NCCL_PROTO=LL and NCCL_ALGO=Ring", ["ALGO set Ring"]),
    ("a.md", "[NCCL_GRAPH_FILE=/g.xml](https://x/#NCCL_A=1)", ["GRAPH_FILE set /g.xml"]),
    ("a.md", "NCCL_IB_SL=1/NCCL_IB_TC=2", ["IB_SL set 1", "IB_TC set 2"]),
    (
        "a.md",
        "NCCL_NET=[Socket|IB], NCCL_IB_SL=N",
        ["NET unresolved [Socket|IB]", "IB_SL unresolved N"],
    ),
    ("a.md", '```toml\nNCCL_IB_SL = "4"\n```', ["IB_SL set 4"]),
    ("a.md", "````md\n```sh\nexport NCCL_IB_SL=4\n```\n````", ["IB_SL set 4"]),
    (
        "a.md",
        "```\n$ NCCL_NET=Socket \\\n> NCCL_IB_SL=1 python x\n```",
        ["NET set Socket", "IB_SL set 1"],
    ),
    ("a.md", "- NCCL_IB_SL=1… then 4→8: NCCL_IB_TC=4→8", ["IB_SL set 1", "IB_TC set 4"]),
    ("a.md", "NCCL_IB_SL=1&NCCL_IB_TC=2", ["IB_SL set 1", "IB_TC set 2"]),
    (
        "a.md",
        "| 参数 | 推荐值 |\n|---|---|\n| NCCL_BUFFSIZE | 8388608（8M） |",
        ["BUFFSIZE set 8388608"],
    ),
    ("a.sh", "readonly NCCL_IB_SL=1\nexport NCCL_IB_SL", ["IB_SL set 1"]),
    ("a.sh", "declare NCCL_IB_SL=1", ["IB_SL lost 1"]),
    ("a.sh", "export NCCL_IB_SL\ndeclare NCCL_IB_SL=1", ["IB_SL unresolved ", "IB_SL set 1"]),
    ("a.sh", "export NCCL_BUFFSIZE=$[4*1024]", ["BUFFSIZE unresolved $[4*1024]"]),
    ("a.sh", "xargs -I{} env NCCL_IB_SL={} x", ["IB_SL unresolved {}"]),
    ("a.sh", "cat > pod.vars <<'E'\nNCCL_IB_SL=4\nE", ["IB_SL set 4"]),
    ("a.sh", "cat > env.list <<E\nNCCL_IB_SL=4\nE", ["IB_SL set 4"]),
    ("a.sh", "export\u00a0NCCL_IB_SL=4", ["IB_SL lost 4"]),
    ("a.sh", "docker run -e NCCL_IB_SL = 4 img", ["IB_SL lost 4"]),
    ("a.sh", "docker run -e NCCL_IB_SL:4 img", ["IB_SL lost 4"]),
    ("compose.yml", "services:\n a:\n  environment:\n   - NCCL_IB_SL = 4", ["IB_SL lost 4"]),
    ("compose.yml", "services:\n a:\n  labels:\n   NCCL_IB_SL: '4'", []),
    (
        "play.ansible.yml",
        "- ini_file: {path: /a.service, option: Environment, value: NCCL_IB_SL=4}",
        ["IB_SL set 4"],
    ),
    (
        "play.ansible.yml",
        "- lineinfile:\n    path: /etc/environment\n    regexp: ^NCCL_IB_SL\n    state: absent",
        ["IB_SL unset "],
    ),
    ("over.conf", '[Service]\nEnvironment="NCCL_IB_SL=4"', ["IB_SL set 4"]),
    ("x.ini", 'env = "NCCL_IB_SL=4"', ["IB_SL set 4"]),
    ("nccl.conf", "set NCCL_IB_SL=4", ["IB_SL lost 4"]),
    ("a.env", "set NCCL_IB_SL=4", ["IB_SL lost 4"]),
]


def places_in(imported: Imported) -> list[str]:
    """NAME (without NCCL_) state value of each place, in the order of the text."""
    return [
        f"{one.name.removeprefix('NCCL_')} {one.state.value} {one.value or one.raw}"
        for one in imported.found
    ]


@pytest.mark.parametrize(("file", "text", "places"), FORMS)
def test_a_form_gives_its_places(file: str, text: str, places: list[str]) -> None:
    imported = import_source(text, file)
    assert places_in(imported) == places
    lost = {one.name for one in imported.found if one.state.value == "lost"}
    warned = {Severity.ERROR, Severity.WARNING}
    told = {name for f in review(imported, V27) if f.severity in warned for name in f.names}
    assert lost <= told


def test_the_default_of_a_positional_parameter_is_a_hint() -> None:
    (one,) = import_source("export NCCL_PROTO=${1:-LL}", "a.sh").found
    assert (one.raw, one.default) == ("${1:-LL}", "LL")


def test_full_width_digits_are_told_with_what_was_meant() -> None:
    imported = import_source("- NCCL_IB_GID_INDEX=３", "a.md")
    (found,) = (one for one in review(imported, V27) if one.severity is Severity.ERROR)
    assert (found.written, found.reads_as, found.meant) == ("３", "0", "3")


def test_a_prefix_that_is_misspelt_is_told() -> None:
    imported = import_source("x\nexport NCLL_NET_GDR_LEVEL=PHB NCC_FOO=1\n", "a.sh")
    assert imported.found == ()
    (found,) = review(imported, V27)
    assert found.names == ("NCLL_NET_GDR_LEVEL",)
    assert "NCCL_NET_GDR_LEVEL is meant" in found.why
    assert [origin.line for origin in found.at] == [2]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("env.list", "env"),
        ("nccl.env.list", "env"),
        ("vars.env", "env"),
        (".deepspeed_env", "env"),
        ("env.sh", "shell"),
    ],
)
def test_environment_files_by_name(name: str, kind: str) -> None:
    assert import_source("NCCL_IB_SL=1\n", name).format == kind
