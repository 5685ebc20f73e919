"""Settings that the environment says otherwise: a variable each, wrong values refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from console.model.zone import zone_is_known
from console.store.preferences import (
    PACE,
    Settings,
    When,
    number_of,
    variable,
    wrong_pace,
)
from console.store.toml import BadFile, Problem, one_of

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def overridden(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """The settings with what the environment says of them.

    Raises:
        BadFile: a variable has no value of its key.
    """
    said = _Said(environ)
    words = [word.value for word in When]
    theme = said.text("theme") or settings.theme
    mouse = said.text("mouse")
    if mouse and mouse.lower() not in (*_TRUE, *_FALSE):
        said.wrong("mouse", "true or false was expected")
    ascii_ = said.text("ascii")
    if ascii_ and ascii_ not in words:
        said.wrong("ascii", f"one of {one_of(words)} was expected")
    zone = said.text("zone")
    if zone and not zone_is_known(zone):
        said.wrong("zone", "no time zone known here")
    paced: dict[str, float] = {}
    for key in PACE:
        text = said.text(f"pace.{key}")
        number = number_of(text) if text else None
        if number is not None:
            paced[key] = number
        if text and (complaint := wrong_pace(key, number)):
            said.wrong(f"pace.{key}", complaint)
    said.refuse()
    return replace(
        settings,
        theme=theme,
        mouse=mouse.lower() in _TRUE if mouse else settings.mouse,
        ascii=When(ascii_) if ascii_ else settings.ascii,
        zone=zone or settings.zone,
        pace=replace(settings.pace, **paced),  # type: ignore[arg-type]  # checked key by key
        origins={**settings.origins, **said.origins},
    )


class _Said:
    """What variables say, where from, and what is wrong with it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.origins: dict[str, str] = {}
        self._environ = environ
        self._problems: list[Problem] = []

    def text(self, key: str) -> str:
        """The variable of a key; empty when it is unset or empty."""
        text = self._environ.get(variable(key), "")
        if text:
            self.origins[key] = variable(key)
        return text

    def wrong(self, key: str, expected: str) -> None:
        text = self._environ[variable(key)]
        self._problems.append(Problem("environment", 1, 1, f'{variable(key)}="{text}": {expected}'))

    def refuse(self) -> None:
        if self._problems:
            raise BadFile(self._problems)
