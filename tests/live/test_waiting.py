"""A script that waits for a server: how far it is, and why it will never be ready."""

from __future__ import annotations

import json
from pathlib import Path

from tests.lab.simulated import EAGLE, Simulated, simulated
from tests.live.fleets import console, script_file

SCALE = 20


def fleet_of(folder: Path, server: Simulated) -> Path:
    path = folder / "fleet.toml"
    path.write_text(
        'schema = "fleet/1"\n[[host]]\nname = "box"\nlocal = true\n'
        f'[[slot]]\nname = "box:1"\nhost = "box"\nport = {server.port}\n'
        '[[server]]\nname = "tiny"\nslot = "box:1"\narm = "speculative"\nengine = "sglang"\n'
        f'url = "http://127.0.0.1:{server.port}"\nlog = "{server.log_path}"\n'
    )
    return path


def waited(
    tmp_path: Path, server: Simulated, *steps: str, scale: int = SCALE
) -> tuple[int, list[dict[str, object]]]:
    done = console(
        tmp_path, "--fleet", fleet_of(tmp_path, server), "--script", script_file(tmp_path, *steps),
        "--lab-scale", str(scale), "--json",
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def ends(records: list[dict[str, object]]) -> list[dict[str, object]]:
    return [record for record in records if "exit" in record and record.get("event") != "end"]


def test_a_wait_says_how_far_it_is_and_knows_when_tokens_could_come(tmp_path: Path) -> None:
    with simulated(tmp_path / "lab", *EAGLE, scale=float(SCALE)) as server:
        code, records = waited(
            tmp_path, server, 'wait = { until = "idle", every = "10ms" }\ntimeout = "20s"'
        )
    assert code == 0, records
    (end,) = ends(records)
    assert end["results"]["standing"] == "idle"  # type: ignore[index]


def test_a_load_that_fails_ends_the_wait_at_once_with_its_reason(tmp_path: Path) -> None:
    with simulated(tmp_path / "lab", *EAGLE, scale=float(SCALE), fault="graph-capture") as server:
        code, records = waited(
            tmp_path, server, 'wait = { until = "health", every = "10ms" }\ntimeout = "600s"'
        )
    assert code == 1, records
    assert "the load failed: CUDA out of memory on GPU 3" in str(ends(records)[0])


def test_a_deadline_only_warns_while_the_load_moves(tmp_path: Path) -> None:
    with simulated(tmp_path / "lab", *EAGLE, scale=4.0) as server:
        code, records = waited(
            tmp_path,
            server,
            'wait = { until = "alive", every = "10ms" }\ntimeout = "1s"',
            scale=4,
        )
    assert code == 0, records
    said = [str(record) for record in records if "but it moves" in str(record)]
    assert len(said) == 1
    assert "not within 1 s, but it moves: loading: " in said[0]
