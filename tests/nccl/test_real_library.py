"""The real libnccl of two releases, called without a GPU: what it makes of values is what the
check says. Needs the wheels from the registry (about 350 MB each; NCCL_WHEELS keeps them)."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from console.nccl.catalogue import lookup
from console.nccl.check import read_value
from console.nccl.importing.read import import_source
from console.nccl.parse import DEFAULT, Outcome, Reading
from console.nccl.version import NEWEST, Version, parse_version
from tests.nccl import libnccl_asked
from tests.nccl.elf import Library, read_library
from tests.nccl.nccl_check import compare, results
from tests.nccl.wheel import fetch, library_in

pytestmark = [
    pytest.mark.rig,
    pytest.mark.xdist_group("libnccl"),
    pytest.mark.skipif(
        (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="a library for x86-64"
    ),
]
LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
"""Names of P2P_LEVEL by the number that the library holds."""


class Real:
    """One library; each question is asked in a process of its own."""

    def __init__(self, path: Path, version: Version) -> None:
        self.path = path
        self.version = version
        self.read: Library = read_library(path)
        self.functions = self.read.functions()

    def ask(
        self,
        *,
        env: Mapping[str, str] | None = None,
        home: Path | None = None,
        **asked: Sequence[Any] | bool,
    ) -> tuple[dict[str, Any], str]:
        """The answers, and what the library logged."""
        clean = {name: text for name, text in os.environ.items() if not name.startswith("NCCL_")}
        clean |= {"HOME": str(home or self.path.parent), **(env or {})}
        words = {"integers": [], "levels": [], "lists": [], "get": [], "id": False, **asked}
        wanted = {"library": str(self.path), "functions": self.functions, **words}
        done = subprocess.run(
            [sys.executable, libnccl_asked.__file__],
            input=json.dumps(wanted),
            env=clean,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stderr)
        return answer, done.stdout

    def reading(self, name: str, value: str) -> Reading:
        """What the check says this release makes of a value."""
        variable = lookup(name)
        assert variable is not None
        return read_value(variable, value, self.version)


@pytest.fixture(scope="module", params=["2.32.3", "2.27.7"])
def real(request: pytest.FixtureRequest) -> Iterator[Real]:
    version = parse_version(request.param)
    assert version is not None
    with tempfile.TemporaryDirectory(prefix="libnccl-") as made:
        folder = Path(made)
        yield Real(library_in(fetch(request.param, folder), folder), version)


INTEGERS = (
    *("16777216", "16M", "16MiB", "020", "0x10", "0x", "08", "1e6", "1.9", " 16", "16 ", ""),
    *("true", "yes", "off", "abc", '"16"', "1,2", "+5", "-3", "16\n", "0b1", "0o17", "１６", "-"),
    *("99999999999999999999", "9223372036854775807", "-9223372036854775809", "16777216#16MiB"),
)


def test_its_names_are_those_written_down_and_those_of_the_catalogue(real: Real) -> None:
    names = real.read.names_read()
    assert names == results()[str(real.version)]
    assert compare(str(real.version), names).same


def test_integers_are_read_as_the_check_says(real: Real) -> None:
    answer, _ = real.ask(integers=INTEGERS)
    for value, held in zip(INTEGERS, answer["integers"], strict=True):
        said = real.reading("NCCL_BUFFSIZE", value).reads_as
        assert (DEFAULT if held == libnccl_asked.DEFAULT else str(held)) == said, value
    told = dict(zip(INTEGERS, answer["integers"], strict=True))
    assert (told["16M"], told["020"], told["0x10"]) == (16, 16, 16)
    assert told["true"] == (libnccl_asked.DEFAULT if real.version >= (2, 32) else 0)


def test_distances_are_read_as_the_check_says(real: Real) -> None:
    values = [*LEVELS, "sys", "Sys", " SYS", "SYS ", "NODE", "NET", "-1", "", '"SYS"', "²"]
    values += ["0", "1", "2", "3", "4", "5", "9", "07", "4x", "10"]
    answer, _ = real.ask(levels=[(None, value) for value in values])
    for value, held in zip(values, answer["levels"], strict=True):
        said = real.reading("NCCL_P2P_LEVEL", value).reads_as
        assert (DEFAULT if held < 0 else LEVELS[held]) == said, value


def test_only_the_number_1_disables_peers(real: Real) -> None:
    values = ["1", "01", "1 ", "1x", " 1", "0x1", "+1", "0", "2", "true", "yes", "on", "", "1.5"]
    answer, _ = real.ask(levels=[(value, "SYS") for value in values])
    for value, held in zip(values, answer["levels"], strict=True):
        off = real.reading("NCCL_P2P_DISABLE", value).reads_as == "1"
        assert LEVELS[held] == ("LOC" if off else "SYS"), value


def test_lists_are_read_as_the_check_says(real: Real) -> None:
    if "_Z9parseListPKcPS0_iS1_iPi" not in real.functions:
        assert real.version == NEWEST  # compiled in there, so that nobody else can call it
        return
    values = ["LL", "ll,Simple", "^LL128", "LL, Simple", " LL", "LL ", "foo", '"LL"', "LL;", ","]
    values += ["allreduce:LL", "LL;allreduce:^LL", "allreduce:LL;LL", "alltoall:LL", "LL，Simple"]
    values += ["broadcast:LL,Simple;allreduce:LL", "LL # fast", "LL|Simple", "allreduce=LL"]
    answer, _ = real.ask(lists=values)
    for value, code in zip(values, answer["lists"], strict=True):
        fatal = real.reading("NCCL_PROTO", value).outcome is Outcome.FATAL
        assert (code != 0) is fatal, (value, code)


CONF = """\
NCCL_PROTO=LL
# NCCL_NTHREADS=512
 NCCL_NTHREADS=256
export NCCL_ALGO=Ring
NCCL_BUFFSIZE = 4
NCCL_P2P_LEVEL="SYS"
NCCL_MAX_NCHANNELS=16 # most
NCCL_IB_HCA==mlx5_0:1
NCCL_PROTO=Simple
NCCL_NET_PLUGIN=
NCCL_TOPO_FILE=~/topo.xml
NCCL_CROSS_NIC
NCCL_SOCKET_IFNAME=eno1\r
NCCL_MIN_NCHANNELS=8
"""
NAMES = ["PROTO", "NTHREADS", "ALGO", "BUFFSIZE", "P2P_LEVEL", "MAX_NCHANNELS", "IB_HCA"]
NAMES += ["NET_PLUGIN", "TOPO_FILE", "CROSS_NIC", "SOCKET_IFNAME", "MIN_NCHANNELS"]


def test_a_conf_file_sets_what_the_import_says(real: Real, tmp_path: Path) -> None:
    conf = tmp_path / "nccl.conf"
    conf.write_bytes(CONF.encode())
    names = [f"NCCL_{name}" for name in NAMES]
    env = {"NCCL_CONF_FILE": str(conf), "NCCL_MIN_NCHANNELS": "4"}
    answer, _ = real.ask(env=env, get=names, id=True)
    set_ = dict(import_source(CONF, "nccl.conf").values()) | {"NCCL_MIN_NCHANNELS": "4"}
    if real.version >= (2, 30):
        set_["NCCL_SOCKET_IFNAME"] = "eno1"
    assert answer["get"] == {name: set_.get(name) for name in names}
    assert answer["get"]["NCCL_PROTO"] == "LL"
    assert answer["get"]["NCCL_P2P_LEVEL"] == '"SYS"'


def test_home_is_asked_from_2_30_on(real: Real, tmp_path: Path) -> None:
    (tmp_path / ".nccl.conf").write_text("NCCL_PROTO=LL\n")
    answer, _ = real.ask(home=tmp_path, get=["NCCL_PROTO"], id=True)
    assert answer["get"] == {"NCCL_PROTO": "LL" if real.version >= (2, 30) else None}


def test_what_starting_a_communicator_reads(real: Real) -> None:
    def started(**env: str) -> tuple[int, str]:
        named = {f"NCCL_{name}": text for name, text in env.items()}
        answer, log = real.ask(env={"NCCL_DEBUG": "INFO", **named}, id=True)
        return answer["id"], log

    code, log = started(SOCKET_IFNAME="lo")
    assert (code, "Bootstrap" in log) == (0, True)
    assert real.reading("NCCL_SOCKET_IFNAME", "lo").outcome is Outcome.TAKEN
    code, log = started(SOCKET_IFNAME='"lo"')
    assert code != 0
    assert real.reading("NCCL_SOCKET_IFNAME", '"lo"').outcome is Outcome.FATAL
    code, log = started(SOCKET_IFNAME="lo", SOCKET_FAMILY="ipv4")
    assert (code, "NCCL_SOCKET_FAMILY set by environment to ipv4" in log) == (0, True)
    assert real.reading("NCCL_SOCKET_FAMILY", "ipv4").outcome is Outcome.IGNORED
    code, log = started(COMM_ID="nowhere")
    assert code != 0
    assert real.reading("NCCL_COMM_ID", "nowhere").outcome is Outcome.FATAL
    assert started(COMM_ID="127.0.0.1:23456")[0] == 0
    assert real.reading("NCCL_COMM_ID", "127.0.0.1:23456").outcome is Outcome.TAKEN


def test_a_wrong_level_of_logging_logs_nothing(real: Real) -> None:
    for word, logs in (("INFO", True), ("info", True), ("INFOO", False), ("", False)):
        _, log = real.ask(env={"NCCL_DEBUG": word, "NCCL_SOCKET_IFNAME": "lo"}, id=True)
        said = real.reading("NCCL_DEBUG", word).reads_as
        assert ("NCCL INFO" in log, said != "no logging") == (logs, logs), word
