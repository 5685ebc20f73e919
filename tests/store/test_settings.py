"""settings.toml and the variables that override it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.keys import _character_to_key

from console.model.clock import Pace
from console.model.verbs import VERBS
from console.model.zone import in_zone, zone_is_known
from console.store.keys import keys_of
from console.store.preferences import PACE, Settings, When, variable
from console.store.settings import load_settings, settings_path
from console.store.toml import BadFile


def written(text: str) -> Path:
    path = settings_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('schema = "settings/1"\n' + text)
    return path


def refused(text: str) -> list[str]:
    path = written(text)
    with pytest.raises(BadFile) as caught:
        load_settings({})
    told = [str(problem) for problem in caught.value.problems]
    assert all(line.startswith(f"{path}:") for line in told)
    return [line.removeprefix(f"{path}:") for line in told]


def test_without_a_file_all_is_default() -> None:
    assert load_settings({}) == Settings()


def test_every_interval_of_the_pace_can_be_set() -> None:
    assert set(PACE) == {each.name for each in fields(Pace)} - {"scale"}


def test_the_file_is_read_with_its_places() -> None:
    path = written(
        'theme = "light"\nmouse = true\nascii = "yes"\nzone = "Europe/Berlin"\n'
        '[pace]\nhealth_up_s = 10\n[keymap]\n"view.help" = "f1,?"\nlogs.pause = "P"\n'
    )
    settings = load_settings({})
    assert settings.theme == "light"
    assert settings.mouse
    assert settings.ascii is When.YES
    assert settings.zone == "Europe/Berlin"
    assert settings.pace.health_up_s == 10
    assert settings.pace.gpu_s == Pace().gpu_s
    assert settings.keymap == {"view.help": "f1,question_mark", "logs.pause": "P"}
    assert settings.origins == {
        "theme": f"{path}:2",
        "mouse": f"{path}:3",
        "ascii": f"{path}:4",
        "zone": f"{path}:5",
        "pace.health_up_s": f"{path}:7",
        'keymap."view.help"': f"{path}:9",
        'keymap."logs.pause"': f"{path}:10",
    }


def test_a_variable_stands_above_the_file() -> None:
    written('theme = "light"\n[pace]\ngpu_s = 5\n')
    settings = load_settings({"SPEC_CONSOLE_THEME": "dark", "SPEC_CONSOLE_PACE_GPU_S": "2.5"})
    assert settings.theme == "dark"
    assert settings.pace.gpu_s == 2.5
    assert settings.origins == {
        "theme": "SPEC_CONSOLE_THEME",
        "pace.gpu_s": "SPEC_CONSOLE_PACE_GPU_S",
    }


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SPEC_CONSOLE_MOUSE", "maybe", "true or false was expected"),
        ("SPEC_CONSOLE_ASCII", "some", "one of auto, yes, no was expected"),
        ("SPEC_CONSOLE_ZONE", "Mars/Base", "no time zone known here"),
        ("SPEC_CONSOLE_PACE_GPU_S", "soon", "a number was expected"),
        ("SPEC_CONSOLE_PACE_GPU_S", "0", "0 is outside 0.01 to 86400 seconds"),
        ("SPEC_CONSOLE_PACE_GPU_S", "nan", "nan is outside 0.01 to 86400 seconds"),
    ],
)
def test_a_variable_with_a_wrong_value_is_refused(name: str, value: str, told: str) -> None:
    with pytest.raises(BadFile) as caught:
        load_settings({name: value})
    assert f'{name}="{value}": {told}' in str(caught.value)


def test_unknown_keys_name_the_nearest() -> None:
    (told,) = refused('thme = "dark"\n')
    assert told.startswith('2:1: unknown key "thme"')
    assert 'did you mean "theme"?' in told
    (told,) = refused("[pace]\nhealth_ups_s = 3\n")
    assert told.startswith('3:1: unknown key "health_ups_s"')
    assert 'did you mean "health_up_s"?' in told


def test_wrong_values_are_refused_with_their_places() -> None:
    assert refused('zone = "Nowhere"\nmouse = 1\n[pace]\ngpu_s = -1\nmetrics_s = "2s"\n') == [
        '2:1: zone: "Nowhere" is no time zone known here',
        "3:1: mouse: true or false was expected, not the number 1",
        "5:1: gpu_s: -1 is outside 0.01 to 86400 seconds",
        "6:1: metrics_s: a number was expected",
    ]


def test_a_clash_of_keys_names_file_line_and_the_other_verb() -> None:
    assert refused('[keymap]\nmarker = "h"\n') == [
        '3:1: keymap: "h" is the key of "health" (Ask health now) already'
    ]
    assert refused('[keymap]\nmarker = "f9"\nhealth = "f9"\n') == [
        '4:1: keymap: "f9" is the key of "marker" (Put a marker) already'
    ]


def test_two_verbs_may_swap_their_keys() -> None:
    written('[keymap]\nmarker = "h"\nhealth = "m"\n')
    assert load_settings({}).keymap == {"marker": "h", "health": "m"}


def test_a_keymap_names_verbs_and_keys() -> None:
    assert refused('[keymap]\nmarkr = "y"\n') == [
        '3:1: keymap: no verb "markr" (did you mean "marker"?)'
    ]
    assert refused('[keymap]\nmarker = "pageupp"\n') == [
        '3:1: keymap: "pageupp" names no keys (did you mean "pageup"?)'
    ]


@pytest.mark.parametrize("text", ["", "a,,b", "ctrl+", "hyper+a", "ctrl+c", "ab", "\x1b"])
def test_what_names_no_key(text: str) -> None:
    assert keys_of(text) is None


@given(st.characters(min_codepoint=32, max_codepoint=0x2FF, categories=["L", "N", "P", "S", "Zs"]))
def test_characters_have_the_screen_s_own_names(char: str) -> None:
    found = keys_of(char)
    assert found is None or found == (_character_to_key(char),)
    assert found is not None or not char.isprintable()


def test_every_default_key_can_be_written_in_a_keymap() -> None:
    for verb in VERBS.values():
        if verb.key:
            assert keys_of(verb.key) == tuple(verb.key.split(","))


def test_an_unreadable_file_is_no_default() -> None:
    settings_path().mkdir(parents=True)
    with pytest.raises(BadFile, match="is a directory"):
        load_settings({})


def test_a_variable_is_named_after_its_key() -> None:
    assert variable("pace.gpu_s") == "SPEC_CONSOLE_PACE_GPU_S"


def test_zones() -> None:
    from datetime import UTC, datetime

    noon = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
    assert zone_is_known("Europe/Berlin")
    assert not zone_is_known("../../etc/passwd")
    assert in_zone(noon, "Europe/Berlin").strftime("%H:%M %Z") == "14:00 CEST"
    assert in_zone(noon, "UTC").strftime("%H:%M %Z") == "12:00 UTC"
    assert in_zone(noon, "local") == noon
