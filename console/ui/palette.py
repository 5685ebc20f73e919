"""The command palette: every verb with its keys, refused ones with the reason."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from console.model.verb import Verb
from console.model.verbs import VERBS
from console.render.keys import key_names

if TYPE_CHECKING:
    from console.ui.app import ConsoleApp


class VerbCommands(Provider):
    """Every verb, in the table's order when nothing is typed yet."""

    async def discover(self) -> Hits:
        for verb in self._verbs():
            shown = self._shown(verb, Content(verb.title))
            yield DiscoveryHit(shown, self._call(verb), verb.title, self._help(verb))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for verb in self._verbs():
            text = f"{verb.title} {verb.id}"
            score = matcher.match(text)
            if score > 0:
                shown = self._shown(verb, matcher.highlight(verb.title))
                yield Hit(score, shown, self._call(verb), verb.title, self._help(verb))

    @property
    def _console(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    def _verbs(self) -> list[Verb]:
        console = self._console
        return [v for v in VERBS.values() if not console.is_open or console.modes.is_shown(v.id)]

    def _shown(self, verb: Verb, title: Content) -> Content:
        keys = key_names(self._console.keys[verb.id])
        whole = Content.assemble(title, (f"   {keys}", "$accent") if keys else "")
        return whole if self._console.refusal(verb.id) is None else whole.stylize("dim")

    def _help(self, verb: Verb) -> str:
        refusal = self._console.refusal(verb.id)
        return verb.help if refusal is None else f"{verb.help} Not now: {refusal}"

    def _call(self, verb: Verb) -> partial[None]:
        return partial(self._console.action_verb, verb.id)
