"""Fixtures for every test: no state or settings of the person who runs them is ever touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says more of a busy machine than of the code.
settings.register_profile(
    "unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

pytest_plugins = ["tests.rig.fixtures"]


@pytest.fixture(autouse=True)
def private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State and configuration of the console lie in the test's own folder."""
    monkeypatch.setenv("SPEC_CONSOLE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("SPEC_CONSOLE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.delenv("NO_COLOR", raising=False)
