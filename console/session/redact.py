"""Who and where, taken out of a text: user names, home folders, addresses, host names.

Each is replaced by a word with a number, the same for the same name everywhere, so that a session
still shows which host is which. Knows names by where they stood; guesses none from a dictionary.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from ipaddress import ip_address
from urllib.parse import urlsplit

from console.model.text import Clean, plain
from console.stream.events import Event
from console.stream.host_events import HostListed
from console.stream.run_events import ActRequested
from console.stream.server_events import EnvRead, ServerListed
from console.stream.session_events import SessionOpened

LEAST_NAME = 2
MOST_NAMES = 2000
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_NOBODY = frozenset(("localhost", "root", "0.0.0.0", "user", "home", "none", "unknown"))
_USER_KEYS = ("USER", "LOGNAME", "USERNAME", "SUDO_USER")
_HOST_KEYS = ("HOSTNAME", "HOST", "SLURMD_NODENAME", "COMPUTERNAME")
_HOME = re.compile(r"(?:/home/|/Users/|\\Users\\)([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})")
_AT = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]{0,63})@([A-Za-z0-9][\w-]{0,63}(?:\.[\w-]+)*)")
_ENDINGS = (
    "com net org edu gov mil int io dev ai app cloud tech info biz internal local lan corp intra"
    " home arpa at au be br ca ch cn cz de dk es eu fi fr ie il in it jp kr nl no nz pl pt ru se sg"
    " tr tw ua uk us za"
).replace(" ", "|")
_DOMAIN = rf"(?<![\w.@/-])(?:[A-Za-z0-9](?:[\w-]{{0,61}}\w)?\.){{1,6}}(?:{_ENDINGS})(?![\w-]|\.\w)"
_IP4 = r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])"
_IP6 = r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{0,4}|(?:\d{1,3}\.){3}\d{1,3})(?![\w:])"
_MAC = r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])"


class Redaction:
    """The names of one session, and what stands for them.

    Attributes:
        hits: how many places were redacted, by rule: `user`, `host`, `address`.
    """

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        self._words: dict[tuple[str, str], str] = {}
        self._pattern: re.Pattern[str] | None = None

    def learn(self, event: Event) -> None:
        """Take in the names that an event tells by their place."""
        match event:
            case SessionOpened():
                self._host(event.machine)
            case HostListed():
                self._host(event.alias)
            case ServerListed():
                self._url(event.url)
            case ActRequested():
                self._user(event.who)
            case EnvRead():
                for name, value in event.values:
                    if name in _USER_KEYS:
                        self._user(value)
                    elif name in _HOST_KEYS:
                        self._host(value)
            case _:
                pass
        host = getattr(event, "host", None)
        if host is not None:
            self._host(host)

    def learn_text(self, text: str) -> None:
        """Take in the names that stand in home folders and before and after an @."""
        if "@" in text or "home/" in text or "Users" in text:
            text = plain(Clean(text))
            for found in _HOME.finditer(text):
                self._user(found[1])
            for found in _AT.finditer(text):
                self._user(found[1])
                self._host(found[2])

    def text(self, text: Clean) -> Clean:
        """The text with every known name and every address replaced."""
        if self._pattern is None:
            names = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
            known = rf"(?<![A-Za-z0-9_])(?P<name>{names or '(?!)'})(?![A-Za-z0-9_])"
            ip = f"(?P<ip>{_IP4}|{_MAC}|{_IP6})"
            self._pattern = re.compile(f"{ip}|{known}|(?P<domain>{_DOMAIN})", re.IGNORECASE)
        if "\x1b" in text:
            bare = plain(text)
            # A name may be coloured in its middle: the colours go where a name goes.
            return Clean(self._redacted(bare)) if self._pattern.search(bare) else text
        return Clean(self._redacted(text))

    def _redacted(self, text: str) -> str:
        assert self._pattern is not None
        return self._pattern.sub(self._replacement, text)

    def _replacement(self, found: re.Match[str]) -> str:
        held = found[0]
        match found.lastgroup:
            case "name":
                return self._word(self._names[held.lower()], held)
            case "domain":
                return self._word("host", held)
            case _:
                return self._word("address", held) if _is_address(held) else held

    def _word(self, rule: str, held: str) -> str:
        self.hits[rule] += 1
        key = rule, held.lower()
        if key not in self._words:
            number = 1 + sum(other == rule for other, _ in self._words)
            self._words[key] = f"{rule}-{number}"
        return self._words[key]

    def _user(self, name: str) -> None:
        self._know(name, "user")

    def _host(self, name: str) -> None:
        self._know(name, "host")

    def _url(self, url: str) -> None:
        try:
            self._host(urlsplit(url).hostname or "")
        except ValueError:
            return

    def _know(self, name: str, rule: str) -> None:
        lowered = plain(Clean(name)).lower().strip(".")
        plausible = _NAME.fullmatch(lowered) and len(lowered) >= LEAST_NAME
        if not plausible or lowered in _NOBODY or lowered.isdecimal() or _is_ip(lowered):
            return
        if len(self._names) < MOST_NAMES and lowered not in self._names:
            self._names[lowered] = rule
            self._pattern = None


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_address(text: str) -> bool:
    """An address of somebody: no loopback, no wildcard, no text that only looks like one."""
    if re.fullmatch(_MAC, text):
        return True
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def texts_of(event: Event) -> list[str]:
    """Every text in an event, names of figures and variables among them."""
    found: list[str] = []
    waiting: list[object] = [getattr(event, field.name) for field in fields(event)]
    while waiting:
        value = waiting.pop()
        if type(value) is str:
            found.append(value)
        elif isinstance(value, tuple):
            waiting.extend(value)
    return found
