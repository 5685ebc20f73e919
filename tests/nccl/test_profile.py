"""Profiles, their differences, and exports that importing reads back to the same values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.nccl.catalogue import catalogue
from console.nccl.export import FORMATS, export
from console.nccl.importing.found import State
from console.nccl.importing.read import import_source
from console.nccl.profile import Change, Profile, diff, from_dict

SIX = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
NAMES = st.sampled_from(sorted(catalogue()))
VALUES = st.text(max_size=30) | st.text(
    alphabet="aB1$\"'\\`%#=:{}<>()|;&!~ \t\n\r,^-*", max_size=20
)


@settings(max_examples=150)
@given(st.dictionaries(NAMES, VALUES, max_size=6), st.sampled_from(sorted(FORMATS)))
def test_every_export_is_read_back(env: dict[str, str], to: str) -> None:
    exported = export(env, to)
    refused = {refusal.name for refusal in exported.refused}
    wanted = {name: value for name, value in env.items() if name not in refused}
    imported = import_source(exported.text, "exported", FORMATS[to][2])
    assert imported.values() == wanted
    assert all(one.state is State.SET for one in imported.found)


@pytest.mark.parametrize("to", sorted(FORMATS))
def test_the_six_are_told_by_name_and_content_alone(to: str) -> None:
    exported = export(SIX, to)
    assert exported.refused == ()
    file = {
        "shell": "run.sh",
        "env": "serve.env",
        "docker": "run.sh",
        "compose": "compose.yaml",
        "systemd": "decode.service",
        "kubernetes": "pod.k8s.yaml",
        "nccl.conf": "nccl.conf",
    }[to]
    assert import_source(exported.text, file).values() == SIX


def test_what_each_form_looks_like() -> None:
    env = {"NCCL_NET": "AWS Libfabric", "NCCL_HOSTID": "$a%b"}
    assert export(env, "shell").text == (
        "export NCCL_NET='AWS Libfabric'\nexport NCCL_HOSTID='$a%b'\n"
    )
    assert export(env, "docker").text == (
        "docker run \\\n  -e 'NCCL_NET=AWS Libfabric' \\\n  -e 'NCCL_HOSTID=$a%b' \\\n  IMAGE\n"
    )
    assert export(env, "compose").text == (
        'environment:\n  NCCL_NET: "AWS Libfabric"\n  NCCL_HOSTID: "$$a%b"\n'
    )
    assert export(env, "systemd").text == (
        '[Service]\nEnvironment="NCCL_NET=AWS Libfabric"\nEnvironment="NCCL_HOSTID=$a%%b"\n'
    )


def test_refusals_name_the_reason() -> None:
    env = {"NCCL_HOSTID": "a\nb", "NCCL_NET": "x" * 1024, "NCCL_PROTO": "LL"}
    exported = export(env, "nccl.conf")
    assert exported.text == "NCCL_PROTO=LL\n"
    assert [(r.name, r.why.split()[0]) for r in exported.refused] == [
        ("NCCL_HOSTID", "nccl.conf"),
        ("NCCL_NET", "NCCL"),
    ]
    assert export({"NCCL_NET": "a\0b"}, "shell").refused[0].why.startswith("a NUL")
    assert export({"NCCL_NET": "\udc80"}, "shell").refused[0].why.startswith("holds bytes")
    assert export({"NCCL_NET": "a\rb"}, "systemd").refused[0].why.startswith("systemd")
    with pytest.raises(ValueError) as caught:
        export({}, "xml")
    assert "no such format: xml" in str(caught.value)


def test_a_profile_survives_its_dictionary() -> None:
    profile = Profile("ring-ll", SIX, "from the plan", "plan.md:10", "2026-11-29")
    assert from_dict(profile.to_dict()) == profile
    assert from_dict({"name": "empty"}) == Profile("empty")


@pytest.mark.parametrize(
    ("plain", "complaint"),
    [
        ({"name": "a b"}, "name: letters"),
        ({"name": "a", "env": {"NCCL_NTHREADS": 512}}, "env.NCCL_NTHREADS: not text"),
        ({"name": "a", "env": {"NCCL X": "1"}}, "env: 'NCCL X' is no"),
        ({"name": "a", "env": 1}, "env: not a table"),
        ({"name": "a", "colour": "red"}, "unknown key: colour"),
        ({"name": "a", "note": 1}, "note: not text"),
    ],
)
def test_a_wrong_dictionary_is_refused(plain: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_dict(plain)
    assert str(caught.value).startswith(complaint)


def test_diff_tells_unset_from_empty() -> None:
    before = {"NCCL_PROTO": "LL", "NCCL_ALGO": "", "NCCL_NTHREADS": "512"}
    after = {"NCCL_PROTO": "Simple", "NCCL_NTHREADS": "512", "NCCL_NET": ""}
    assert diff(before, after) == (
        Change("NCCL_ALGO", "", None),
        Change("NCCL_NET", None, ""),
        Change("NCCL_PROTO", "LL", "Simple"),
    )
