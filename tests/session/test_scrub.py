"""Secrets: none reaches a file, an export or a screen; what was learned late is scrubbed."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from console.cli import main
from console.control.replay import Replay
from console.model.clock import ManualClock
from console.model.failure import Failure
from console.model.fleet import Wire
from console.model.mask import MASKED, Masks
from console.model.text import Clean, clean
from console.session.blocks import SCHEMA_LINE, block, scan
from console.session.journal import Journal
from console.session.recorder import Recorder
from console.session.redact import texts_of
from console.session.scrub import scrub
from console.store.preferences import Settings
from console.store.theme import load_theme
from console.stream.codec import KIND_OF, encode
from console.stream.events import Event
from console.stream.fact import Completeness, Link
from console.stream.fold import fold_all
from console.stream.host_events import HostListed, LinkChanged
from console.stream.server_events import ArgsSeen, EnvRead, HealthSeen, LogAdvanced
from console.stream.session_events import MarkerPut, NoteWritten, Noticed, SessionOpened
from console.stream.state import State
from console.ui.app import ConsoleApp
from tests.session.writing import Writing, c
from tests.ui.stage import text as screen_text

CANARIES = {
    "log": "canary-Log-7f3a91",
    "late": "canary-Late-5e02bd",
    "env": "canary-Env-aa8812",
    "argv": "canary-Argv-10cc4e",
    "url": "canary-Url-92d7f0",
    "header": "canary-Header-c41b6",
    "error": "canary-Error-e9310a",
    "args": "canary-Args-003b7d",
    "shape": "hf_canaryShape0042",
    "json": "canary-Json-4471aa",
    "marker": "canary-Marker-81f2c",
}


def poisoned(path: Path) -> Path:
    """A session whose every path was given a secret, each cleaned as ingest cleans it."""
    writing = Writing(path)
    masks = writing.masks
    k = CANARIES

    def come(raw: str) -> Clean:
        return clean(raw.encode(), masks)

    def pair(name: str, value: str) -> tuple[Clean, Clean]:
        masks.learn_pair(name, value)
        return come(name), come(value)

    base = c("base")
    writing.log(f"starting with --api-key {k['log']}", f"and the key {k['log']} again")
    env = (pair("HF_TOKEN", k["env"]), pair("NCCL_PROTO", "LL"))
    writing.emit(
        EnvRead(base, c("launcher"), Completeness.WHOLE, env),
        ArgsSeen(base, (pair("api_key", k["args"]), pair("tp_size", "8"))),
        NoteWritten(come(f"python -m server --admin-api-key {k['argv']} --tp 8")),
        HealthSeen(
            base, come(f"/health?token={k['url']}"), 5, None, Failure.REFUSED,
            come(f"http://me:{k['error']}@10.0.0.7:8000 refused"),
        ),
        LinkChanged(
            c("box"), Link.LOST, Failure.LINK_LOST, come("lost"),
            (come(f"Authorization: Bearer {k['header']}"), come(f"token {k['shape']}")),
        ),
        Noticed(base, c("warning"), come(f'{{"api_key": "{k["json"]}", "n": 1}}')),
        MarkerPut(come(f"password={k['marker']}")),
    )  # fmt: skip
    writing.log(f"the environment held {k['env']} and {quote(k['args'])}", *k.values())
    return writing.close()


def leaks(raw: bytes | str) -> list[str]:
    """The canaries in it, whole or in part, but for the one that nothing gave away."""
    shown = raw.decode() if isinstance(raw, bytes) else raw
    given = {name: canary for name, canary in CANARIES.items() if name != "late"}
    return [name for name, canary in given.items() if canary in shown or canary[7:] in shown]


def outputs(path: Path, folder: Path) -> dict[str, str]:
    """Everything the subcommands and a script print of a session."""
    script = folder / "look.toml"
    script.write_text('schema = "script/1"\ntargets = ["base"]\n[[step]]\ntail = { lines = 100 }\n')
    said: dict[str, str] = {}
    for name, arguments in {
        "info": ["session", "info", str(path)],
        "evidence": ["session", "export", str(path)],
        "jsonl": ["session", "export", str(path), "--as", "jsonl"],
        "csv": ["session", "export", str(path), "--as", "csv"],
        "script": ["session", "to-script", str(path)],
        "follow": ["session", "follow", "--all", str(path)],
        "plain": ["--script", str(script), "--replay", str(path)],
        "json": ["--script", str(script), "--replay", str(path), "--json"],
    }.items():
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            assert main(arguments) == 0
        said[name] = out.getvalue()
    return said


def test_no_canary_is_in_the_file_or_in_anything_printed_of_it(tmp_path: Path) -> None:
    path = poisoned(tmp_path / "s.toml")
    assert leaks(path.read_bytes()) == []
    said = outputs(path, tmp_path)
    assert {name: leaks(text) for name, text in said.items() if leaks(text)} == {}
    for name in ("evidence", "jsonl", "follow", "plain", "json"):
        assert MASKED in said[name].replace("\\", ""), name
    assert "--tp 8" in said["jsonl"]


async def test_no_canary_is_on_the_screen(tmp_path: Path) -> None:
    path = poisoned(tmp_path / "s.toml")
    replay = Replay(Journal(path), ManualClock(), Masks())
    replay.player.seek(replay.player.length_us)

    async def opening() -> Replay:
        return replay

    app = ConsoleApp(opening, ManualClock(), Settings(), load_theme("dark"))
    async with app.run_test(size=(160, 60)) as pilot:
        while not app.is_open and app.defect is None:
            await pilot.pause()
        app.follow.look()
        await pilot.pause()
        shown = screen_text(app)
    assert MASKED in shown
    assert leaks(shown) == []


def test_a_secret_in_lines_before_it_was_known_is_scrubbed(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    secret = CANARIES["late"]
    writing = Writing(path)
    writing.log(f"cache at /data/{secret}/x", "nothing here")
    writing.emit(NoteWritten(clean(f"saw {secret}", writing.masks)), after_s=1)
    writing.log(f"export API_KEY={secret}", after_s=1)
    writing.close()
    assert path.read_bytes().count(secret.encode()) == 2
    new = tmp_path / "new.toml"
    done = scrub(Journal(path), new, writing.masks)
    raw = new.read_bytes()
    assert secret.encode() not in raw
    assert new.stat().st_mode & 0o777 == 0o600
    assert done.losses == []
    assert done.changed == 2
    index = scan(raw, len(SCHEMA_LINE))
    assert index.damage == []
    old_index = Journal(path).index
    assert (list(index.seq), list(index.t_us)) == (list(old_index.seq), list(old_index.t_us))
    log = [event for event in Journal(new).events(bulk=True) if isinstance(event, LogAdvanced)]
    assert [event.lines for event in log] == [
        (f"cache at /data/{MASKED}/x", "nothing here"),
        (f"export API_KEY={MASKED}",),
    ]


@pytest.mark.parametrize("way", ["file", "variable"])
def test_secrets_are_given_on_no_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    writing = Writing(tmp_path / "s.toml")
    writing.log(f"cache at /data/{CANARIES['late']}/x")
    path, new = writing.close(), tmp_path / "new.toml"
    given = tmp_path / "secrets"
    given.write_text(f"\n{CANARIES['late']}\n")
    monkeypatch.setenv("THE_KEY", CANARIES["late"])
    options = ["--secrets", str(given)] if way == "file" else ["--secret-env", "THE_KEY"]
    assert main(["session", "scrub", str(path), str(new), *options]) == 0
    assert CANARIES["late"].encode() not in new.read_bytes()
    assert main(["session", "scrub", str(path), str(new), *options]) == 3


def test_a_value_recorded_under_a_secret_name_is_masked_everywhere(tmp_path: Path) -> None:
    """As an older console might have recorded it: nothing masked at all."""
    path = tmp_path / "s.toml"
    secret = CANARIES["env"]
    events: list[Event] = [
        NoteWritten(Clean(f"note {secret}")),
        EnvRead(
            Clean("base"), Clean("launcher"), Completeness.WHOLE,
            ((Clean("HF_TOKEN"), Clean(secret)), (Clean("NCCL_ALGO"), Clean("Ring"))),
        ),
    ]  # fmt: skip
    path.write_bytes(
        SCHEMA_LINE
        + b"".join(
            block(KIND_OF[type(event)], encode(replace(event, seq=number + 1)))
            for number, event in enumerate(events)
        )
    )
    new = tmp_path / "new.toml"
    scrub(Journal(path), new)
    assert secret.encode() not in new.read_bytes()
    env = Journal(new).state_before(2).servers["base"].envs["launcher"]
    assert env.values == (("HF_TOKEN", MASKED), ("NCCL_ALGO", "Ring"))


def test_scrubbing_what_is_clean_changes_no_event(tmp_path: Path) -> None:
    path = poisoned(tmp_path / "s.toml")
    new = tmp_path / "new.toml"
    done = scrub(Journal(path), new)
    assert done.changed == 0
    assert new.read_bytes() == path.read_bytes()


def personal(path: Path) -> Path:
    writing = Writing(path)
    events: list[Event] = [
        SessionOpened(c("w"), c("f"), c("live"), c("2026-02-24T16:48:30.000000Z"), c("laptop7")),
        HostListed(c("gpu8"), Wire.ASYNCSSH, c("gpu8-prod")),
        EnvRead(
            c("base"), c("launcher"), Completeness.WHOLE,
            ((c("USER"), c("alice")), (c("HOME"), c("/home/alice")), (c("HOSTNAME"), c("node17"))),
        ),
        NoteWritten(c("bob@gpu8-prod ran it as Alice on NODE17, see node17.example.com")),
    ]  # fmt: skip
    writing.emit(*events)
    writing.log(
        "from 203.0.113.9:5555 and 2001:db8::17 to 127.0.0.1:8000 at 13:10:02",
        "/home/alice/models and /Users/carol/x, aliceblue stays, gpu80 stays",
        "\x1b[31mal\x1b[32mice\x1b[0m coloured",
        "INFO 2.27.5 localhost fine mac aa:bb:cc:dd:ee:ff",
    )
    return writing.close()


def test_strict_takes_out_who_and_where_and_keeps_them_apart(tmp_path: Path) -> None:
    path = personal(tmp_path / "s.toml")
    new = tmp_path / "new.toml"
    done = scrub(Journal(path), new, strict=True)
    raw = new.read_text().lower()
    for name in ("laptop7", "gpu8-prod", "alice ", "/alice", "bob", "carol", "node17", "203.0."):
        assert name not in raw, name
    journal = Journal(new)
    state = journal.state_before(len(journal.index))
    assert state.session.opened is not None
    host = state.session.opened.machine
    assert host.startswith("host-")
    lines = [
        line
        for event in Journal(new).events(bulk=True)
        if isinstance(event, LogAdvanced)
        for line in event.lines
    ]
    assert lines == [
        "from address-1:5555 and address-2 to 127.0.0.1:8000 at 13:10:02",
        "/home/user-1/models and /Users/user-3/x, aliceblue stays, gpu80 stays",
        "user-1 coloured",
        "INFO 2.27.5 localhost fine mac address-3",
    ]
    note = state.session.notes[-1].text
    assert note.startswith("user-2@host-")
    assert done.hits["user"] >= 6
    assert done.losses == []
    assert list(state.servers) == ["base"]


def test_the_scrubbed_file_folds_to_the_scrubbed_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.session.recorder.SEEK_GROWTH", 200)
    monkeypatch.setattr("console.session.recorder.SEEK_SHARE", 0)
    path = personal(tmp_path / "s.toml")
    new = tmp_path / "new.toml"
    scrub(Journal(path), new, strict=True)
    journal = Journal(new)
    assert len(journal.seeks) > 2
    assert journal.state_before(len(journal.index)) == fold_all(State(), journal.events())


def test_a_full_disk_ends_a_scrub_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = poisoned(tmp_path / "s.toml")

    def full(_self: Recorder, _raw: bytes) -> None:
        raise OSError(28, "No space left on device")

    def created(_self: Recorder, _raw: bytes) -> None:
        monkeypatch.setattr(Recorder, "_write", full)

    monkeypatch.setattr(Recorder, "_write", created)
    new = tmp_path / "new.toml"
    with pytest.raises(OSError, match="no space left on device"):
        scrub(Journal(path), new)
    assert not new.exists()


def test_texts_of_an_event_are_all_of_them() -> None:
    event = EnvRead(c("a"), c("b"), Completeness.WHOLE, ((c("k"), c("v")),), 7, c("w"))
    assert sorted(texts_of(event)) == ["a", "b", "k", "v", "w"]
