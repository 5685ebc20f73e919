"""TOML files for people: every mistake has its place."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from console.store.places import find_places
from console.store.toml import BadFile, duration_s, load, parse

TEXT = """\
# comment
schema = "x/1"
a.b = 3

[[step]]
id = "one"
wait = { until = "health", "ev ery" = '10s' }   # why

[[step]]
list = [
  "a", # first
  { deep = [1, 2] },
]
[step.sub]
key = \"\"\"multi
line # no comment
\"\"\"
after = 1
"""


def test_places_of_keys_headers_inline_tables_and_elements() -> None:
    places = find_places(TEXT)
    assert places["schema",] == (2, 1)
    assert places["a",] == (3, 1)
    assert places["a", "b"] == (3, 1)
    assert places["step", 0] == (5, 1)
    assert places["step", 0, "wait", "until"] == (7, 10)
    assert places["step", 0, "wait", "ev ery"] == (7, 28)
    assert places["step", 1, "list", 0] == (11, 3)
    assert places["step", 1, "list", 1, "deep", 1] == (12, 16)
    assert places["step", 1, "sub"] == (14, 1)
    assert places["step", 1, "sub", "after"] == (18, 1)


KEYS = st.text(min_size=1, max_size=6)
LEAVES = st.integers(-5, 5) | st.text(max_size=8) | st.booleans()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)


def paths(value: object, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    found: set[tuple[str | int, ...]] = set()
    if isinstance(value, dict):
        for key, part in value.items():
            found |= {(*path, key)} | paths(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            found |= {(*path, place)} | paths(part, (*path, place))
    return found


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_key_path_of_any_document_has_a_place(table: dict[str, object]) -> None:
    text = tomli_w.dumps(table)
    places = find_places(text)
    lines = text.split("\n")
    for path in paths(tomli.loads(text)):
        assert path in places, (path, text)
        line, column = places[path]
        assert lines[line - 1][column - 1 : column].strip()


@given(st.text(max_size=80))
def test_no_text_makes_the_walk_fail(text: str) -> None:
    assert isinstance(find_places(text), dict)


@given(st.binary(max_size=80))
def test_bytes_are_a_document_or_one_problem_with_a_place(raw: bytes) -> None:
    try:
        document = parse(raw, "f.toml")
    except BadFile as error:
        assert len(error.problems) == 1
        assert error.problems[0].line >= 1
        assert error.problems[0].column >= 1
    else:
        assert isinstance(document.table, dict)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a = 1\nb =\n", "f.toml:2:4: not TOML: invalid value"),
        (b"a = 1\nb = '\xff'\n", "f.toml:2:6: not UTF-8 text"),
        (b"a = 1\na = 2\n", "f.toml:2:6: not TOML: cannot overwrite a value"),
    ],
)
def test_what_does_not_parse_is_told_with_its_place(raw: bytes, said: str) -> None:
    with pytest.raises(BadFile) as caught:
        parse(raw, "f.toml")
    assert str(caught.value) == said


def test_a_missing_file_a_folder_and_a_huge_file(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no such file or directory"):
        load(tmp_path / "none.toml")
    with pytest.raises(BadFile, match="is a directory"):
        load(tmp_path)
    huge = tmp_path / "huge.toml"
    huge.write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    with pytest.raises(BadFile, match="larger than 4 MiB"):
        load(huge)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10.0), ("1.5m", 90.0), ("250ms", 0.25), ("2h", 7200.0), ("10", None), ("s", None)],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert duration_s(text) == seconds


def test_a_file_of_another_system_has_the_same_places() -> None:
    other = b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()
    document = parse(other, "f.toml")
    assert document.top().text("schema") == "x/1"
    for path in (("schema",), ("step", 0, "wait", "until"), ("step", 1, "after")):
        assert document.place(path) == parse(TEXT.encode(), "f.toml").place(path)
    with pytest.raises(BadFile) as caught:
        parse(b"\xef\xbb\xbfa = \n", "f.toml")
    assert str(caught.value.problems[0]).startswith("f.toml:1:5: not TOML: ")
