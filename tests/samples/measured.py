"""Records the real session that comes along: `python -m tests.samples.measured FOLDER`.

The A/B script on two llama.cpp servers on this machine's CPU. What is recorded is as it was; only
its origin is named, and who and where it was are taken out.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from console.model.text import Clean
from console.session.journal import Journal
from console.session.recorder import Recorder
from console.session.redact import Redaction, texts_of
from console.session.scrub import rewritten
from console.stream.events import Event
from console.stream.fold import fold
from console.stream.session_events import SessionOpened
from console.stream.state import State
from tests.bench import real
from tests.live.test_ab import AB, two_servers
from tests.live.test_benching import PROMPT, favoured_console
from tests.rig import llama

NAME = "llamacpp-cpu.toml"


def record(folder: Path) -> Path:
    """Start both servers, measure them, and keep the session."""
    models = llama.made_once(folder, llama.TINY)
    prompts = folder / "ships.jsonl"
    prompts.write_text(PROMPT)
    night = folder / "night.toml"
    with ExitStack() as running:
        servers = {}
        for name, spec in (("tiny-base", False), ("tiny-draft", True)):
            server = llama.LlamaServer(models, folder / f"{name}.log", spec=spec)
            servers[name] = running.enter_context(server)
            server.wait_ready()
            real.favoured(server.pid)
        fleet = two_servers(folder, servers, "local = true")
        script = folder / "ab.toml"
        text = AB.read_text().replace("kimi-base", "tiny-base")
        script.write_text(text.replace("kimi-eagle3", "tiny-draft"))
        done = favoured_console(
            folder, "--fleet", fleet, "--script", script, "--record", night,
            "--var", "protocol=story", "--var", f"prompts={prompts}", "--var", "depth=as is",
        )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return night


def named(night: Path, target: Path, folder: Path) -> None:
    """The same night with its origin said, without whose it was and where it lay."""
    journal, redaction = Journal(night), Redaction()
    for event in journal.events(bulk=True):
        for text in texts_of(event):
            redaction.learn_text(text)
        redaction.learn(event)

    def change(text: Clean) -> Clean:
        return Clean(redaction.text(Clean(text.replace(str(folder), "/srv/tiny"))))

    target.unlink(missing_ok=True)
    recorder, state = Recorder(target, print), State()
    for event in journal.events(bulk=True):
        new: Event = rewritten(event, change)
        if isinstance(new, SessionOpened):
            new = replace(new, origin=Clean("measured"))
        state = fold(state, new)
        recorder.take(new, state)
        recorder.flush()
    recorder.close()


def main() -> None:
    """The command line in the module's docstring."""
    target = Path(sys.argv[1]) / NAME
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        named(record(folder), target, folder)
    print(target, target.stat().st_size)


if __name__ == "__main__":
    main()
