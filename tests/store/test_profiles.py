"""Profiles beside the fleet: read whole, saved one at a time, the rest of the text untouched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.nccl.profile import Profile
from console.store.profiles import (
    FILE,
    Profiles,
    Unwritten,
    load_profiles,
    profiles_path,
    save_profile,
    want_profile,
)
from console.store.toml import BadFile

SIX = Profile(
    "llring",
    {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"},
    "of the fast night",
    "train_plan_v4.md:212",
    "2026-02-24",
)


def test_no_file_is_no_profile(tmp_path: Path) -> None:
    assert load_profiles(tmp_path / FILE) == Profiles()
    assert profiles_path(tmp_path / "fleet.toml") == tmp_path / FILE


def test_a_saved_profile_is_wanted_and_found(tmp_path: Path) -> None:
    path = tmp_path / FILE
    save_profile(path, SIX)
    want_profile(path, "kimi-base", "llring")
    found = load_profiles(path)
    assert found.profiles == {"llring": SIX}
    assert found.of("kimi-base") == SIX
    assert found.of("other") is None


def test_comments_and_other_profiles_stay(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text(
        '# ours\nschema = "profiles/1"\n\n[[profile]]\nname = "a"\n[profile.env]\n'
        'NCCL_ALGO = "Tree"\n\n# of the second\n[[profile]]\nname = "b"\nenv = {}\n\n'
        '[wanted]\nx = "a" # why\n'
    )
    save_profile(path, SIX)
    save_profile(path, Profile("a", {"NCCL_ALGO": "Ring"}), replacing=True)
    want_profile(path, "y", "b")
    want_profile(path, "x", "llring")
    text = path.read_text()
    assert "# ours" in text
    found = load_profiles(path)
    assert found.profiles["a"].values == {"NCCL_ALGO": "Ring"}
    assert list(found.profiles) == ["a", "b", "llring"]
    assert found.wanted == {"x": "llring", "y": "b"}


def test_what_is_not_saved_says_why(tmp_path: Path) -> None:
    path = tmp_path / FILE
    save_profile(path, SIX)
    before = path.read_bytes()
    for profile in (SIX, Profile("no name"), Profile("x", {"NO-NAME": "1"})):
        with pytest.raises(Unwritten):
            save_profile(path, profile)
    with pytest.raises(Unwritten) as refused:
        want_profile(path, "s", "nothing")
    assert str(refused.value) == 'no profile is named "nothing"'
    assert path.read_bytes() == before


def test_every_mistake_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text(
        'schema = "profiles/1"\n[[profile]]\nname = "a"\nenv = { NCCL_ALGO = 3 }\n'
        '[[profile]]\nname = "b"\n[[profile]]\nname = "b"\n[wanted]\ns = "bb"\n'
    )
    with pytest.raises(BadFile) as refused:
        load_profiles(path)
    told = [(problem.line, problem.text) for problem in refused.value.problems]
    assert [line for line, _ in told] == [2, 8, 10]
    assert "env.NCCL_ALGO: not text" in told[0][1]
    assert 'did you mean "b"' in told[2][1]


VALUE = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.dictionaries(st.from_regex(r"\A[A-Z_][A-Z0-9_]{0,8}\Z"), VALUE, max_size=4), VALUE)
@example({}, "\x85[:")
@example({"A": "\u2028[profile]"}, "")
def test_any_value_comes_back(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, str], note: str
) -> None:
    path = tmp_path_factory.mktemp("p") / FILE
    profile = Profile("p", values, note)
    save_profile(path, SIX)
    save_profile(path, profile)
    save_profile(path, profile, replacing=True)
    assert load_profiles(path).profiles == {"llring": SIX, "p": profile}
