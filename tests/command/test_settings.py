"""`spec-console settings`: what it prints is a settings file again."""

from __future__ import annotations

import pytest

from console.model.exits import Exit
from console.store.preferences import PACE, PLAIN, Settings
from console.store.settings import load_settings, settings_path
from tests.command.running import run


def test_everything_with_origin_and_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = settings_path()
    path.parent.mkdir(parents=True)
    path.write_text('schema = "settings/1"\ntheme = "light"\n[keymap]\n"view.help" = "f1"\n')
    monkeypatch.setenv("SPEC_CONSOLE_PACE_GPU_S", "2")
    monkeypatch.setenv("SPEC_CONSOLE_THEM", "dark")
    done = run(capsys, "settings")
    assert done.code == Exit.OK
    for sentence in (*PLAIN.values(), *PACE.values()):
        assert f"# {sentence}" in done.out
    assert f'# {path}:2; variable SPEC_CONSOLE_THEME\ntheme = "light"' in done.out
    assert "# SPEC_CONSOLE_PACE_GPU_S; variable SPEC_CONSOLE_PACE_GPU_S\ngpu_s = 2" in done.out
    assert "# default; variable SPEC_CONSOLE_MOUSE\nmouse = false" in done.out
    assert f'# {path}:4\n"view.help" = "f1"' in done.out
    told = 'SPEC_CONSOLE_THEM is no setting (did you mean "SPEC_CONSOLE_THEME"?)'
    assert done.err == f"spec-console: {told}\n"


def test_the_output_is_a_settings_file(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, "settings")
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text(done.out)
    written = load_settings({})
    assert Settings(keymap=written.keymap, pace=written.pace) == Settings()


def test_a_wrong_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    settings_path().parent.mkdir(parents=True)
    settings_path().write_text('schema = "settings/1"\nthme = "dark"\n')
    done = run(capsys, "settings")
    assert done.code == Exit.USAGE
    assert done.err.startswith(f'{settings_path()}:2:1: unknown key "thme"')
