"""Importing under hostile and odd input: never an exception, never a command run, never a value
from text that sets none; and the kinds of source beside those of cases/."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.nccl.importing.detect import FORMATS, detect
from console.nccl.importing.environ import unreadable
from console.nccl.importing.found import Found, Imported, State
from console.nccl.importing.read import import_source
from console.nccl.review import review
from console.nccl.version import Version

V27 = Version(2, 27, 7)
WORDS = r"""NCCL_PROTO NCCL_ALGO= NCCL_BUFFSIZE=16M LL = == := : - -e --env export env sudo docker
run $X ${X:-1} $( ) ` ' " \ # ; && | || > >> < << <<EOF EOF { } [ ] {{ }} %s ~~ ``` name: value:
ENV ARG RUN FROM CMD Environment= [Service] ExecStart= os.environ // /* */ , é 变量 <a> + @@
NCCL_MIN/MAX_NCHANNELS=1 --export=ALL,NCCL_A=1,b cat tee bash -c if fi case esac done function
set -gx unset"""
TOKENS = st.sampled_from([*WORDS.split(), "\n", "\r\n", "\t", "\0", "\\\n", "    "])


def sets(imported: Imported) -> dict[str, str]:
    return {one.name: one.value for one in imported.found if one.state is State.SET}


def states(text: str, file: str) -> dict[str, tuple[str, str]]:
    found = import_source(text, file).found
    return {one.name: (one.state.value, one.value or one.raw) for one in found}


@settings(max_examples=300)
@given(
    st.lists(TOKENS, max_size=40).map(" ".join) | st.text(max_size=200),
    st.sampled_from(FORMATS),
)
def test_any_text_in_any_format_gives_an_answer(text: str, kind: str) -> None:
    imported = import_source(text, "x", kind)
    last = max(text.count("\n"), text.count("\0")) + 1
    for one in imported.found:
        assert one.name.startswith("NCCL_")
        assert all(1 <= line <= last for line in one.lines)
    for finding in review(imported, V27):
        assert finding.why


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes_give_an_answer(data: bytes) -> None:
    assert import_source(data + b" NCCL_PROTO=LL", "notes").format in FORMATS


CANARIES = {
    "a.sh": "export NCCL_A=$(touch canary) NCCL_B=`touch canary`\n: ${NCCL_C:=$(touch canary)}",
    "a.fish": "set -gx NCCL_A (touch canary)",
    "a.md": "```sh\nNCCL_A=$(touch canary)\n```\nNCCL_B=`touch canary`",
    "a.env": "NCCL_A=$(touch canary)\nNCCL_B=`touch canary`",
    "Dockerfile": "ENV NCCL_A=$(touch canary)\nRUN export NCCL_B=$(touch canary); touch canary",
    "compose.yaml": (
        "environment:\n  NCCL_A: $(touch canary)\n"
        "  NCCL_B: !!python/object/apply:os.system ['touch canary']"
    ),
    "a.k8s.yaml": "env:\n- {name: NCCL_A, value: $(touch canary)}",
    "play.ansible.yml": "environment:\n  NCCL_A: \"{{ lookup('pipe', 'touch canary') }}\"",
    "a.service": (
        "[Service]\nEnvironment=NCCL_A=$(touch canary)\n"
        "ExecStart=/bin/sh -c 'touch canary; NCCL_B=1 x'"
    ),
    "a.py": (
        "import os\nos.environ['NCCL_A'] = os.popen('touch canary').read()\nopen('canary', 'w')"
    ),
    "a.json": '{"env": {"NCCL_A": "$(touch canary)"}}',
    "nccl.conf": "NCCL_A=$(touch canary)",
    "a.history": ": 1767225600:0;NCCL_A=$(touch canary) touch canary",
    "a.log": "NCCL INFO NCCL_A set by environment to $(touch canary)",
    "a.environ": "NCCL_A=$(touch canary)\0",
    "a.diff": (
        "--- a/x.sh\n+++ b/x.sh\n@@ -1 +1 @@\n-export NCCL_A=1\n+export NCCL_A=$(touch canary)\n"
    ),
}


@pytest.mark.parametrize("file", sorted(CANARIES))
def test_a_canary_is_never_run(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    imported = import_source(CANARIES[file], file)
    assert "NCCL_A" in {one.name for one in imported.found}
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("file", "text", "kind"),
    [
        ("notes.md", "", "markdown"),
        ("README", "# Title\n\ntext `NCCL_ALGO=Ring`", "markdown"),
        ("run", "#!/bin/sh\nexport NCCL_ALGO=Ring", "shell"),
        ("x.env", "NCCL_ALGO=Ring", "env"),
        ("x", "NCCL_ALGO=Ring\nNCCL_PROTO=LL", "env"),
        ("env.txt", "PATH=/bin\nNCCL_ALGO=Ring\nPWD=/", "env-listing"),
        ("Dockerfile.cuda", "FROM x", "dockerfile"),
        ("docker-compose.override.yml", "", "compose"),
        ("x.yaml", "services:\n  a: {}", "compose"),
        ("x.yaml", "apiVersion: v1\nkind: Pod", "kubernetes"),
        ("x.yml", "- hosts: all\n  tasks: []", "ansible"),
        ("decode.service.d/10-nccl.conf", "[Service]", "systemd"),
        (".nccl.conf", "NCCL_ALGO=Ring", "nccl.conf"),
        ("/proc/7/environ", "A=1\0", "proc-environ"),
        (".bash_history", "ls", "history"),
        ("x.txt", ": 1767225600:0;ls\n: 1767225601:0;ls", "history"),
        ("server.out", "NCCL INFO x", "log"),
        ("x.txt", "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring", "log"),
        ("x", '{"env": {}}', "json"),
        ("x", "import os\nos.environ['NCCL_ALGO'] = 'Ring'", "python"),
        ("x.patch", "", "diff"),
    ],
)
def test_the_format_is_told_by_name_and_content(file: str, text: str, kind: str) -> None:
    assert detect(file, text, text.encode()) == kind


def test_an_explicit_format_wins() -> None:
    assert import_source("NCCL_ALGO='Ring'", "x.sh", "env-listing").values() == {
        "NCCL_ALGO": "'Ring'"
    }
    with pytest.raises(ValueError) as caught:
        import_source("", "x", "xml")
    assert "no such format: xml" in str(caught.value)


def test_carriage_returns_stay_where_the_shell_keeps_them() -> None:
    assert sets(import_source(b"export NCCL_PROTO=LL\r\n", "a.sh")) == {"NCCL_PROTO": "LL\r"}
    assert sets(import_source(b"NCCL_PROTO=LL\r\n", "a.env")) == {"NCCL_PROTO": "LL"}
    assert sets(import_source(b"NCCL_PROTO=LL\r\n", "nccl.conf")) == {"NCCL_PROTO": "LL\r"}
    assert sets(import_source(b"env:\r\n  NCCL_PROTO: LL\r\n", "a.yaml")) == {"NCCL_PROTO": "LL"}


def test_other_shells() -> None:
    fish = "set -gx NCCL_ALGO Ring\nset NCCL_PROTO LL\nset -e NCCL_NET\nset -x NCCL_DEBUG $d\n"
    assert states(fish, "a.fish") == {
        "NCCL_ALGO": ("set", "Ring"),
        "NCCL_PROTO": ("lost", "LL"),
        "NCCL_NET": ("unset", ""),
        "NCCL_DEBUG": ("unresolved", "$d"),
    }
    csh = "setenv NCCL_ALGO Ring\nset NCCL_PROTO = LL\nunsetenv NCCL_NET\n"
    assert states(csh, "a.csh") == {
        "NCCL_ALGO": ("set", "Ring"),
        "NCCL_PROTO": ("lost", "LL"),
        "NCCL_NET": ("unset", ""),
    }
    assert states("set NCCL_ALGO=Ring\n", "a.bat") == {"NCCL_ALGO": ("set", "Ring")}
    assert states('$env:NCCL_ALGO = "Ring"\n', "a.ps1") == {"NCCL_ALGO": ("set", "Ring")}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("set -a\nNCCL_A=1\nset +a\nNCCL_B=1", {"NCCL_A": "set", "NCCL_B": "lost"}),
        ("NCCL_A=1\nexport NCCL_A", {"NCCL_A": "set"}),
        ("nohup NCCL_A=1 python x", {"NCCL_A": "lost"}),
        ("nohup env NCCL_A=1 python x", {"NCCL_A": "set"}),
        ("docker run -e NCCL_A=1 img -e NCCL_B=1", {"NCCL_A": "set", "NCCL_B": "lost"}),
        ("docker run -d \\\n\n  -e NCCL_A=1 img", {"NCCL_A": "lost"}),
        ("kubectl set env d/x NCCL_A=1 NCCL_B-", {"NCCL_A": "set", "NCCL_B": "unset"}),
        ("systemd-run -p Environment=NCCL_A=1 x", {"NCCL_A": "set"}),
        ("mpiexec -genv NCCL_A 1 x", {"NCCL_A": "set"}),
        ("tmux new -d 'NCCL_A=1 python x'", {"NCCL_A": "set"}),
        ("python serve.py NCCL_A=1", {"NCCL_A": "lost"}),
        ("ARGS=(-e NCCL_A=1 -e NCCL_B)", {"NCCL_A": "set", "NCCL_B": "unresolved"}),
        ("cat > x.env <<'E'\nNCCL_A=$B\nE\n", {"NCCL_A": "unresolved"}),
        ("ssh h bash <<E\nexport NCCL_A=1\nE\n", {"NCCL_A": "set"}),
        ("echo NCCL_A=1 | sudo tee -a /etc/nccl.conf", {"NCCL_A": "set"}),
        ("printf 'NCCL_A=%s\\n' 1 >> /etc/nccl.conf", {"NCCL_A": "set"}),
        ("sed -i s/x/NCCL_A=1/ f; git commit -m 'NCCL_A=1'", {}),
        ("export NCCL_A=~/x", {"NCCL_A": "unresolved"}),
        ("export NCCL_A+=,x", {"NCCL_A": "unresolved"}),
        (
            "#SBATCH --export=NCCL_A=1\nls\n#SBATCH --export=NCCL_B=1",
            {"NCCL_A": "set", "NCCL_B": "lost"},
        ),
        ('ray submit --env=\'{"env_vars": {"NCCL_A": "1"}}\'', {"NCCL_A": "set"}),
        ('python -c \'import os; os.environ["NCCL_A"]="1"\'', {"NCCL_A": "set"}),
    ],
)
def test_what_reaches_the_server_from_a_script(text: str, wanted: dict[str, str]) -> None:
    assert {name: state for name, (state, _) in states(text, "a.sh").items()} == wanted


def test_stages_and_resets() -> None:
    docker = (
        "FROM a AS b\nENV NCCL_A=1\nFROM c\nENV NCCL_B = 2\nCOPY <<E /etc/nccl.conf\nNCCL_C=3\nE\n"
    )
    assert states(docker, "Dockerfile") == {
        "NCCL_A": ("lost", "1"),
        "NCCL_B": ("set", "= 2"),
        "NCCL_C": ("set", "3"),
    }
    unit = import_source(
        "[Service]\nEnvironment=NCCL_A=1\nEnvironment=\nEnvironment=NCCL_B=2", "a.service"
    )
    assert unit.reset_lines == (3,)
    assert unit.values() == {"NCCL_B": "2"}


def test_documents_in_any_language() -> None:
    text = (
        "次の「NCCL_ALGO=Ring」と NCCL_PROTO=LLを使う。„NCCL_NTHREADS=512“, NCCL\\_DEBUG=WARN.\n"
        "> NCCL_SOCKET_IFNAME=<Schnittstelle>\n<!-- NCCL_NET=IB -->\n"
        "| Variable | Standard | Wert |\n|---|---|---|\n| NCCL_IB_TIMEOUT | 20 | 22 |\n"
    )
    assert states(text, "a.md") == {
        "NCCL_ALGO": ("set", "Ring"),
        "NCCL_PROTO": ("set", "LL"),
        "NCCL_NTHREADS": ("set", "512"),
        "NCCL_DEBUG": ("set", "WARN"),
        "NCCL_SOCKET_IFNAME": ("unresolved", "<Schnittstelle>"),
        "NCCL_NET": ("commented", "IB"),
        "NCCL_IB_TIMEOUT": ("set", "22"),
    }


def test_a_session_with_its_output() -> None:
    logged = "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring"
    text = f"```console\n$ NCCL_PROTO=LL python x\n{logged}\n```"
    assert sets(import_source(text, "a.md")) == {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}


def test_a_notebook_and_docker_inspect() -> None:
    source = [
        "%env NCCL_A=1\n",
        "import os\n",
        'os.environ["NCCL_B"] = "2"\n',
        "!NCCL_C=3 python x",
    ]
    cells = json.dumps({"cells": [{"cell_type": "code", "source": source}]})
    assert sets(import_source(cells, "a.ipynb")) == {"NCCL_A": "1", "NCCL_B": "2", "NCCL_C": "3"}
    inspect = (
        '[{"Config": {"Env": ["PATH=/bin", "NCCL_A=1"], "Cmd": ["bash", "-c", "NCCL_B=2 x"]}}]'
    )
    assert sets(import_source(inspect, "inspect.json")) == {"NCCL_A": "1", "NCCL_B": "2"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PATH=/bin\0NCCL_A=1\0", ""),
        (b"", "the block is empty"),
        (b"\0\0\0\0", "all of the block is zeroed"),
        (b"sglang::scheduler\0\0\0\0", "all of the block is zeroed"),
        (b"sglang::scheduler\0\0\0NCCL_A=1\0", "part of the block is zeroed"),
        (b"\0\0\0NCCL_A=1\0", "part of the block is zeroed"),
    ],
)
def test_zeroed_blocks_are_unreadable(data: bytes, reason: str) -> None:
    assert unreadable(data).startswith(reason)
    assert bool(unreadable(data)) == bool(reason)


def test_nesting_is_bounded() -> None:
    for text, kind in (
        ("env " * 5000 + "NCCL_A=1 x", "shell"),
        ("bash -c '" * 50 + "NCCL_A=1", "shell"),
        ("- " * 5000 + "NCCL_A=1", "yaml"),
        ("[" * 50000 + '"NCCL_A=1"', "json"),
        ("(" * 5000 + "NCCL_A", "python"),
    ):
        imported = import_source(text, "x", kind)
        assert all(isinstance(one, Found) for one in imported.found)


def test_a_large_document_is_read_to_its_end() -> None:
    filler = "Some `text` | with a table | and words about throughput at batch one.\n" * 20_000
    imported = import_source(filler + "NCCL_ALGO=Ring\n" + filler + "NCCL_PROTO=LL", "plan.md")
    assert [(one.name, one.lines) for one in imported.found] == [
        ("NCCL_ALGO", (20_001,)),
        ("NCCL_PROTO", (40_002,)),
    ]


def test_what_is_beyond_the_limit_is_counted() -> None:
    imported = import_source("NCCL_ALGO=Ring\n" * 20_500, "x.env")
    assert (len(imported.found), imported.dropped) == (20_000, 500)
