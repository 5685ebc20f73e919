"""The night's question on the simulated fleet: what may be compared, and what comes out.

The lab's speeds are its own assumptions; what is tested is that the console finds them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.bench import real
from tests.lab.simulated import EAGLE, Simulated, simulated
from tests.live.test_benching import favoured_console, fleet_of

pytestmark = [pytest.mark.rig, pytest.mark.alone]

SCALE = 10.0
SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
BENCH = '[[step]]\nid = "{0}"\ntarget = "tiny-{1}"\ntimeout = "60s"\nbench = {{ tokens = 240 }}\n'


def favour(server: Simulated) -> None:
    for pid in (server.process.pid, *server.children().values()):
        real.favoured(pid)


def compared(
    folder: Path, base_env: Mapping[str, str], spec_env: Mapping[str, str], assume: str = "sober"
) -> tuple[str, list[str], dict[str, object]]:
    """Both arms measured under these environments: the line, all lines, results of all steps."""
    urls = {}
    with ExitStack() as running:
        for arm, extra, env in (("baseline", (), base_env), ("speculative", EAGLE, spec_env)):
            server = running.enter_context(
                simulated(
                    folder / arm, *extra, scale=SCALE, assume=assume, env=dict(env), past=True
                )
            )
            server.ready()
            favour(server)
            urls[arm] = f"http://127.0.0.1:{server.port}"
        fleet = fleet_of(folder, urls, None).read_text().replace("llama.cpp", "sglang")
        (folder / "fleet.toml").write_text(fleet)
        script = folder / "script.toml"
        script.write_text(
            'schema = "script/1"\nname = "s"\n'
            + "".join(BENCH.format(arm[0], arm) for arm in urls)
            + '[[step]]\nid = "believed"\nassume = { tok_s = 90, source = "an earlier session" }\n'
            '[[step]]\nid = "wrong"\n'
            'compare = { baseline = "believed", expect = "NOT COMPARABLE" }\n'
            '[[step]]\nid = "cmp"\ncompare = {}\n'
        )
        run = favoured_console(
            folder, "--fleet", folder / "fleet.toml", "--script", script, "--json"
        )
    records = [json.loads(line) for line in run.stdout.splitlines()]
    steps = {r["step"]: r for r in records if r["event"] == "step"}
    assert {"b", "s", "wrong", "cmp"} <= set(steps), run.stderr
    for name in ("b", "s", "wrong"):
        assert steps[name]["exit"] == 0, steps[name]
    wrong = steps["wrong"]["results"]["line"]
    believed = "(90 tok/s, an earlier session)"
    assert wrong == f"NOT COMPARABLE: baseline was assumed, not measured {believed}"
    session = records[-1]["session"]
    told = favoured_console(folder, "compare", session, session)
    lines = told.stdout.splitlines()
    assert lines[0] == steps["cmp"]["results"]["line"]
    return lines[0], lines, {name: step["results"] for name, step in steps.items()}


def test_both_arms_alike_come_out_near_nineteen_per_cent(tmp_path: Path) -> None:
    line, lines, results = compared(tmp_path, {}, {})
    found = re.match(r"FASTER by (\d+\.\d) % \[(\d+\.\d), (\d+\.\d)\]", line)
    assert found is not None, lines
    assert 15 < float(found[1]) < 23
    assert any(row.startswith("break-even ") for row in lines)
    assert any("if the baseline were 90 tok/s: " in row and "projection" in row for row in lines)
    speculative = results["s"]
    assert isinstance(speculative, dict)
    assert 2.0 < speculative["accept_len"] < 2.6


def test_lost_variables_are_named_and_no_ratio_is_given(tmp_path: Path) -> None:
    line, lines, results = compared(tmp_path, SIX, {})
    assert line.startswith("NOT COMPARABLE: ")
    for name, value in SIX.items():
        assert name in line
        assert f"{name} differs (baseline {value}, speculative unset)" in lines
    compare = results["cmp"]
    assert isinstance(compare, dict)
    assert "ratio" not in compare


@pytest.mark.parametrize(("assume", "low", "high"), [("sober", -5, 2), ("hopeful", 4, 13)])
def test_restored_both_arms_are_measured_anew_with_either_sign(
    tmp_path: Path, assume: str, low: float, high: float
) -> None:
    line, lines, results = compared(tmp_path, SIX, SIX, assume)
    assert not line.startswith("NOT COMPARABLE"), lines
    compare = results["cmp"]
    assert isinstance(compare, dict)
    assert low < 100 * (compare["ratio"] - 1) < high
