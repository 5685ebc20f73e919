"""CONTRIBUTING's plan is the one the code is held to, and each of its lists is enough."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomli
from textual.strip import Strip

from console.command.schema import SCHEMAS
from console.control.script import load_script
from console.engines.aliases import FIGURES, PREFIXES
from console.engines.endpoints import PATHS
from console.model.fleet import Engine
from console.model.verb import Field, Kind, Verb
from console.model.verbs import VERBS
from console.render.guide import PAGES, Page
from console.store.fleet import load_fleet
from console.store.theme import load_theme, theme_names
from console.ui.palette import VerbCommands
from console.ui.panes.pane import Pane
from console.ui.sight import Sight
from tests.ui.stage import press, staged, story, text

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
TABLE = tomli.loads((Path(__file__).parent / "imports.toml").read_text())
FLEET = """
schema = "fleet/1"
host = [{ name = "here", local = true }]
slot = [{ name = "here:1", host = "here", port = 1 }]
[[server]]
name = "base"
slot = "here:1"
arm = "baseline"
engine = "sglang"
url = "http://localhost:1"
"""


def rooms_of(cell: str) -> set[str]:
    """The rooms that a cell of the plan allows."""
    listed = set(re.findall(r"\w+", cell.split(";")[0])) - {"nothing"}
    if not cell.startswith("all but"):
        return listed
    return set(TABLE["rooms"]) - {"__main__"} - (listed - {"all", "but"})


def test_the_plan_is_what_imports_are_held_to() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+? \| (.+?) \|$", PAGE, re.MULTILINE)
    plan = {room: rooms_of(cell) - {room} for room, cell in rows}
    held = {room: set(below) for room, below in TABLE["rooms"].items() if room != "__main__"}
    assert plan == held


def test_every_room_of_the_plan_is_there_and_no_other() -> None:
    found = {
        path.name.removesuffix(".py")
        for path in (ROOT / "console").iterdir()
        if (path.is_dir() and (path / "__init__.py").exists()) or path.suffix == ".py"
    }
    assert found - {"__init__", "__main__"} == set(TABLE["rooms"]) - {"__main__"}


def test_every_file_that_a_list_names_is_there() -> None:
    lists = PAGE[PAGE.index("## How to add") :]
    named = re.findall(r"`([\w*/]+/[\w*.-]+\.(?:py|toml|md))`", lists)
    assert named
    for name in named:
        base = ROOT if name.startswith("tests/") else ROOT / "console"
        assert list(base.glob(name)), name


def test_a_theme_is_a_copied_file(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "themes"
    folder.mkdir(parents=True)
    copied = (ROOT / "themes" / "dark.toml").read_text().replace('"#cdd5df"', '"#ffffff bold"')
    (folder / "mine.toml").write_text(copied)
    assert "mine" in theme_names()
    assert load_theme("mine").name == "mine"


async def test_a_theme_is_worn_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text((ROOT / "themes" / "light.toml").read_text())
    async with staged(story()) as (app, pilot):
        assert app.themes.load_all() == []
        app.theme = "mine"
        await press(app, pilot)
        assert app.ink.theme.name == "mine"


async def test_a_verb_is_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wave = Verb(
        "wave",
        "Wave hands",
        "Wave at whoever looks.",
        script=(Field("times", Kind.NUMBER, "how often"),),
        sole="times",
    )
    monkeypatch.setitem(VERBS, "wave", wave)
    (tmp_path / "fleet.toml").write_text(FLEET)
    script = tmp_path / "wave.toml"
    script.write_text('schema = "script/1"\nname = "wave"\nstep = [{ wave = 3 }]\n')
    (step,) = load_script(script, load_fleet(tmp_path / "fleet.toml")).steps
    assert (step.verb, step.arguments) == ("wave", {"times": 3})
    assert "wave" in str(SCHEMAS["script"][1]())
    stage = story()
    async with staged(stage, (120, 60)) as (app, pilot):
        hits = [hit async for hit in VerbCommands(app.screen).search("Wave hands")]
        assert hits[0].help == "Wave at whoever looks."
        app.action_verb("wave")
        await press(app, pilot)
        assert stage.control.done == [("wave", "kimi-base", {})]


class _Sky(Pane):
    """A pane as somebody new would write it."""

    def show(self, sight: Sight) -> None:
        del sight

    def row(self, y: int) -> Strip:
        return self.ink.blank(self.room) if y else self.ink.strip((), self.room)


async def test_a_pane_is_a_widget_a_place_and_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    from console.ui.screens.session import Session

    own = Session.panes
    sky = []

    def panes(screen: Session) -> tuple[Pane, ...]:
        sky.append(_Sky(screen.header.ink, "sky"))
        return (*own(screen), *sky)

    monkeypatch.setattr(Session, "panes", panes)
    monkeypatch.setitem(PAGES, "sky", Page("Sky", "What is above.", ("marker",)))
    async with staged(story(), (80, 30)) as (app, pilot):
        await press(app, pilot, "5")
        app.screen.set_focus(sky[0])
        await press(app, pilot, "z", "z")
        await pilot.press("question_mark")
        await pilot.pause()
        assert "What is above." in text(app)


@pytest.mark.parametrize("engine", [engine for engine in Engine if engine is not Engine.AUTO])
def test_an_engine_is_in_every_place_that_its_list_names(engine: Engine) -> None:
    engines = ROOT / "console" / "engines"
    assert engine in FIGURES
    assert engine in [named for _, named in PREFIXES]
    assert engine in PATHS
    for file in ("dialect.py", "detect.py"):
        assert f"Engine.{engine.name}" in (engines / file).read_text(), file
    spelled = re.escape(engine.name.lower())
    shown = [*(ROOT / "tests" / "engines").glob("c*/*")]
    assert any(re.search(spelled, path.name) for path in shown)
