"""A key is read where the fleet file says, masked from then on, and never shown when it is bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.model.failure import Failure, WireError
from console.model.fleet import Arm, Server
from console.model.mask import Masks
from console.services.credential import key_headers


def server(env: str = "", file: str = "") -> Server:
    return Server("base", "slot", Arm.BASELINE, "http://h", api_key_env=env, api_key_file=file)


def test_without_a_key_there_is_no_header() -> None:
    assert key_headers(server(), Masks()) == {}


def test_from_a_variable_and_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("file-key-123\n")
    monkeypatch.setenv("RIG_KEY", "variable-key-123")
    masks = Masks()
    assert key_headers(server(env="RIG_KEY"), masks) == {"Authorization": "Bearer variable-key-123"}
    assert key_headers(server(file=str(tmp_path / "key")), masks) == {
        "Authorization": "Bearer file-key-123"
    }
    shown = masks.mask("variable-key-123 file-key-123")
    assert "key-123" not in shown


def test_one_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RIG_KEY", raising=False)
    with pytest.raises(WireError) as unset:
        key_headers(server(env="RIG_KEY"), Masks())
    with pytest.raises(WireError) as gone:
        key_headers(server(file=str(tmp_path / "none")), Masks())
    assert (unset.value.kind, gone.value.kind) == (Failure.MISSING, Failure.UNREADABLE)


@pytest.mark.parametrize("key", ["two\nlines-secret", "schlüssel-secret", "bell\asecret"])
def test_one_that_no_header_can_carry_is_refused_unshown(tmp_path: Path, key: str) -> None:
    (tmp_path / "key").write_text(key)
    with pytest.raises(WireError) as caught:
        key_headers(server(file=str(tmp_path / "key")), Masks())
    assert caught.value.kind is Failure.UNREADABLE
    assert "secret" not in caught.value.why
