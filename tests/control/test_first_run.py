"""The first run: questions answered by a script, looks at a real process of this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from console.control.first_run import ADD, AGAIN, DEMO, GO_ON, LEAVE, Chosen, FirstRun
from console.model.ask import Question
from console.model.clock import Pace, SystemClock
from console.model.fleet import Arm, Engine, LogSource, Wire
from console.model.mask import Masks
from console.store.fleet import load_fleet
from tests.rig.ports import free_port
from tests.rig.sshd import Sshd
from tests.rig.waiting import until


@dataclass
class Person:
    """Answers in order and remembers what was asked and told."""

    answers: list[str | None]
    asked: list[Question] = field(default_factory=list)
    heard: list[tuple[str, bool | None]] = field(default_factory=list)

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        answer = self.answers.pop(0)
        return question.offered if answer == "" and question.offered else answer

    def tell(self, text: str, good: bool | None) -> None:
        self.heard.append((text, good))


def run_of(person: Person) -> FirstRun:
    return FirstRun(person, person.tell, SystemClock(), Pace(), Masks())


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Start a plain web server whose output goes to a file; its port."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> int:
        port = free_port()
        argv = [sys.executable, "-u", "-m", "http.server", str(port), "--bind", "127.0.0.1"]
        with open(tmp_path / "web.log", "wb") as log:
            running.append(subprocess.Popen([*argv, *words], stdout=log, stderr=log, cwd=tmp_path))
        until(lambda: (tmp_path / "web.log").stat().st_size > 0, 10, "the web server")
        return port

    yield start
    for process in running:
        process.terminate()
        process.wait(10)


async def test_leaving_and_the_demo_write_nothing(tmp_path: Path) -> None:
    for answer, chosen in ((LEAVE, Chosen.LEAVE), (None, Chosen.LEAVE), (DEMO, Chosen.DEMO)):
        assert await run_of(Person([answer])).run() is chosen
    assert not (tmp_path / "config").exists()


async def test_a_server_of_this_machine(web: Callable[..., int], tmp_path: Path) -> None:
    port = web()
    person = Person([ADD, "local", str(port), "", Arm.BASELINE.value])
    run = run_of(person)
    assert await run.run() is Chosen.ADDED
    assert run.path == tmp_path / "config" / "fleet.toml"
    fleet = load_fleet(run.path)
    (server,) = fleet.servers
    assert fleet.hosts[0].wire is Wire.LOCAL
    assert server.name == f"local-{port}"
    assert server.engine is Engine.AUTO
    assert server.url == f"http://127.0.0.1:{port}"
    assert server.log == LogSource(path=str(tmp_path / "web.log"))
    assert server.recipe is not None
    assert server.recipe.argv[1:5] == ("-u", "-m", "http.server", str(port))
    assert server.recipe.cwd == str(tmp_path)
    told = [text for text, _ in person.heard]
    assert any(text.startswith("local: reached ") for text in told)
    assert any("/health answers 404" in text for text in told)


async def test_a_command_with_a_secret_is_not_taken_over(web: Callable[..., int]) -> None:
    port = web("--directory", "/proc/self/../../tmp/api_key=sk-proj-0123456789abcdefghij")
    person = Person([ADD, "local", str(port), "tiny", Arm.SPECULATIVE.value])
    run = run_of(person)
    assert await run.run() is Chosen.ADDED
    assert run.path is not None
    assert "sk-proj" not in run.path.read_text()
    assert load_fleet(run.path).servers[0].recipe is None
    assert ("its command holds a secret: no recipe was taken over", False) in person.heard


async def test_what_is_wrong_is_asked_again_with_the_reason() -> None:
    port = free_port()
    person = Person(
        [ADD, "-F/etc", "local", "http", str(port), AGAIN, str(port), GO_ON, "la ter",
         "later", Arm.BASELINE.value]
    )  # fmt: skip
    run = run_of(person)
    assert await run.run() is Chosen.ADDED
    details = [question.detail for question in person.asked]
    assert ('"-F/etc" is no alias: one word was expected, such as gpu8',) in details
    assert ('"la ter" is no name: letters, digits, dot, dash, underline were expected',) in details
    assert ('"http" is no port: 1 to 65535 was expected',) in details
    refused = [question for question in person.asked if question.choices == (AGAIN, GO_ON)]
    assert len(refused) == 2
    assert "refused" in refused[0].detail[0]
    assert run.path is not None
    assert load_fleet(run.path).servers[0].log is None


async def test_a_declined_question_leads_back_to_the_first() -> None:
    person = Person([ADD, None, ADD, "local", None, LEAVE])
    assert await run_of(person).run() is Chosen.LEAVE
    assert [question.subject for question in person.asked].count("Welcome to spec-console") == 3


async def test_a_host_that_is_not_reached_says_how_to_mend_it() -> None:
    person = Person([ADD, "no-such-host.invalid", None, LEAVE])
    assert await run_of(person).run() is Chosen.LEAVE
    again = person.asked[2]
    assert again.detail
    assert any("no-such-host.invalid" in line for line in again.detail)
    assert again.offered == "no-such-host.invalid"
    assert [good for _, good in person.heard] == [None, False]


async def test_through_a_real_sshd(
    sshd: Sshd, web: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from console.control import first_run
    from console.model.fleet import Host

    # A first run reads the person's own ssh configuration; the test's stands elsewhere.
    def host(name: str, wire: Wire = Wire.LOCAL, ssh: str = "") -> Host:
        return Host(name, wire, ssh, str(sshd.ssh_config))

    monkeypatch.setattr(first_run, "Host", host)
    port = web()
    person = Person([ADD, sshd.alias, str(port), "tiny", Arm.BASELINE.value])
    run = run_of(person)
    assert await run.run() is Chosen.ADDED, person.heard
    assert run.path is not None
    fleet = load_fleet(run.path)
    assert fleet.hosts[0].ssh == sshd.alias
    assert fleet.servers[0].log == LogSource(path=str(tmp_path / "web.log"))
