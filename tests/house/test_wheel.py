"""The wheel: built, installed in a fresh venv, and used from there."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_themes_and_samples_are_inside(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "console/_data/themes/dark.toml" in names
    assert "console/_data/sample_sessions/story.toml" in names
    assert "console/_data/sample_sessions/scripts/check.toml" in names
    assert "console/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "themes/"))]


def test_a_fresh_venv_runs_version_help_and_a_replay(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    # Dependencies come from the environment of this test: the wheel itself is what is tried here.
    install: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        wheel,
    ]
    subprocess.run(install, check=True, capture_output=True)
    own = sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    (Path(own) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    command = home / "bin" / "spec-console"

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    version = run("--version")
    assert version.stdout == "spec-console 0.1.0\n"
    assert "exit codes:" in run("--help").stdout
    data = Path(own) / "console" / "_data" / "sample_sessions"
    replay = run("--script", data / "scripts" / "check.toml", "--replay", data / "story.toml")
    assert replay.returncode == 0, replay.stderr
    assert '"GET /health HTTP/1.1" 200 OK' in replay.stdout
    where = subprocess.run(
        [python, "-c", "import console; print(console.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(home))
