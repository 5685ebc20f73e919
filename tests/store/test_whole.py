"""What the console keeps on a disk that is full: as it was, or not there, and said by name."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.bench.record import Entry
from console.command.session_file import write
from console.model.fleet import Arm
from console.model.mask import Masks
from console.nccl.drift import Recorded
from console.nccl.profile import Profile
from console.session.segments import copy_session
from console.store import audit, whole
from console.store.crash import told
from console.store.draft import Draft, write_draft
from console.store.environments import keep_environment
from console.store.folders import keep_state_in, state_restored
from console.store.history import PastLoad, append_load, read_loads
from console.store.layout import load_layout, save_layout
from console.store.profiles import load_profiles, save_profile, want_profile
from console.store.record import Key, append_record, read_record
from tests.rig.disk import SmallDisk

WHEN = datetime(2026, 11, 29, 15, 0, tzinfo=UTC)
LONG = "x" * 5000
KEY = Key("gpu8", "kimi", "w1")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """The disk of the state folder."""
    with SmallDisk(tmp_path) as small, state_restored():
        keep_state_in(small.seen)
        yield small


def load(number: int) -> PastLoad:
    return PastLoad("gpu8", f"base{number}", WHEN, (("weights", 20.5),))


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "filled"}


def until_full(writer: Callable[[int], object]) -> tuple[int, OSError]:
    """Write until there is no room; how often that went well, and how it ended."""
    for number in range(2000):
        try:
            writer(number)
        except OSError as error:
            assert error.errno == errno.ENOSPC
            return number, error
    raise AssertionError("the disk does not become full")


WRITERS: dict[str, Callable[[Path, int], object]] = {
    "audit": lambda _, n: audit.append({"act": f"a{n}", "result": LONG}),
    "loads": lambda folder, n: append_load(folder / "loads.toml", load(n)),
    "baselines": lambda folder, n: append_record(folder / "b.toml", KEY, Entry(WHEN, 60.0 + n)),
    "environments": lambda folder, n: keep_environment(
        folder / "e.toml", ("gpu8", f"base{n}"), Recorded({"NCCL_PROTO": LONG})
    ),
    "layout": lambda _, n: save_layout("fleet", {"mode": f"{n}{LONG}"}),
    "profile": lambda folder, n: save_profile(
        folder / "profiles.toml", Profile(f"p{n}", {"NCCL_PROTO": "LL"}, LONG)
    ),
    "fleet file": lambda folder, n: write_draft(
        Draft("gpu8", 8000, f"s{n}", Arm.BASELINE, "sglang", f"/{LONG}", (), ""),
        folder / f"fleet{n}.toml",
    ),
    "export": lambda folder, n: write(["first", LONG], str(folder / f"out{n}.txt")),
    "copy": lambda folder, n: copy_session(Path(__file__), folder / f"night{n}.toml"),
}


@pytest.mark.parametrize("what", WRITERS)
@pytest.mark.parametrize("left", [0, 4096])
def test_what_finds_no_room_leaves_all_as_it_was_and_is_named(
    what: str, left: int, disk: SmallDisk
) -> None:
    writer, folder = WRITERS[what], disk.seen
    writer(folder, 1)
    before = kept(folder)
    disk.fill(left)

    def write_more(number: int) -> None:
        nonlocal before
        writer(folder, number + 2)
        before = kept(folder)

    _, error = until_full(write_more)
    assert Path(error.filename).parent == folder
    assert kept(folder) == before
    disk.empty()
    writer(folder, 1000)
    assert len(kept(folder)) >= len(before)


def test_what_was_cut_off_is_never_read_as_something_else(disk: SmallDisk) -> None:
    loads, records = disk.seen / "loads.toml", disk.seen / "b.toml"
    disk.fill(4096)
    loaded, _ = until_full(lambda n: append_load(loads, load(n)))
    disk.empty()
    disk.fill(4096)
    measured, _ = until_full(lambda n: append_record(records, KEY, Entry(WHEN, 60.0 + n)))
    assert min(loaded, measured) > 5
    disk.empty()
    append_load(loads, load(999))
    append_record(records, KEY, Entry(WHEN, 999.0))
    past, history = read_loads(loads), read_record(records, KEY)
    assert (past.lost, len(past.loads)) == (0, loaded + 1)
    assert history.lost == 0
    rates = [60.0 + n for n in range(measured)]
    assert [one.decode_tok_s for one in history.entries] == [*rates, 999.0]


def test_the_chain_of_the_audit_holds_over_a_full_disk(disk: SmallDisk) -> None:
    disk.fill(4096)
    until_full(lambda n: audit.append({"act": str(n)}))
    disk.empty()
    path = audit.append({"act": "again"})
    lines = path.read_bytes().splitlines()
    assert audit.chained(lines) is None
    assert len(lines) > 5


def test_a_profile_stays_readable_and_its_file_as_open_as_it_was(disk: SmallDisk) -> None:
    path = disk.seen / "profiles.toml"
    save_profile(path, Profile("llring", {"NCCL_PROTO": "LL"}))
    path.chmod(0o600)
    disk.fill()
    with pytest.raises(OSError, match="No space left"):
        want_profile(path, "base", "llring")
    assert load_profiles(path).wanted == {}
    disk.empty()
    want_profile(path, "base", "llring")
    assert load_profiles(path).wanted == {"base": "llring"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_layout_of_before_is_still_there(disk: SmallDisk) -> None:
    save_layout("fleet", {"mode": "mode.logs"})
    disk.fill()
    with pytest.raises(OSError, match="No space left"):
        save_layout("fleet", {"mode": "mode.bench"})
    assert load_layout("fleet") == {"mode": "mode.logs"}


def test_a_defect_is_told_where_its_report_finds_no_room(disk: SmallDisk) -> None:
    disk.fill()
    said = told(ValueError("odd"), Masks(), WHEN)
    assert said.endswith("ValueError: odd; no report could be written: no space left on device")
    assert kept(disk.seen) == {}


def test_what_is_interrupted_leaves_no_half_of_a_new_file(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        whole.create(tmp_path / "new", parts())
    assert list(tmp_path.iterdir()) == []
