"""What OpenSSH's client says, and what it means: its own words as kinds of failure.

Owns reading what `ssh -v` writes and the questions it asks. Pure but for looking up the line of
known_hosts that ssh names. It never hides words that it does not know.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections import deque
from pathlib import Path

from console.model.ask import Question
from console.model.failure import Failure, WireError
from console.transport.sockets import refused_by_host

TRUST = "yes"
TELLS = "none"
"""A key of hardware waits for a touch: the person is told, no answer counts."""

_CHATTER = ("debug", "OpenSSH_", "Transferred: ", "Bytes per second: ", "Authenticated to ")
_MOST_LINES = 40
_OFFERED = re.compile(r"debug1: Server host key: (\S+ \S+)")
_CONNECT = re.compile(r"debug1: channel_connect_stdio_fwd: (.+)")
_SENT = "debug1: Sending command: "
_CHANNEL = re.compile(r"debug1: channel (\d+): new stdio-forward")
_OPEN_FAILED = re.compile(r"channel (\d+): open failed: (.+)")
_OFFENDING = re.compile(r"Offending (?:\S+ )?key in (.+):(\d+)|  in (.+):(\d+)")
_UNKNOWN = re.compile(r"host key is known for (\S+) and you have|authenticity of host '(\S+)")
_CHANGED = re.compile(r"Host key for (\S+) has changed")
_KEY = re.compile(r"Enter passphrase for (?:key )?'?(.+?)'?:\s*$")
_MEANINGS = (
    ("Permission denied (", Failure.AUTH, "{alias} accepted no key or password"),
    ("Too many authentication failures", Failure.AUTH, "{alias} accepted no key or password"),
    ("Could not resolve hostname", Failure.NO_HOST, ""),
    ("Connection refused", Failure.REFUSED, "connection refused"),
    ("timed out", Failure.TIMEOUT, ""),
    ("Timeout", Failure.TIMEOUT, ""),
    ("onfiguration option", Failure.CONFIG, ""),
    ("Bad owner or permissions", Failure.CONFIG, ""),
    ("Can't open user config", Failure.CONFIG, ""),
    ("keyword ", Failure.CONFIG, ""),
    ("No route to host", Failure.NO_HOST, ""),
    ("unreachable", Failure.NO_HOST, ""),
)


class Said:
    """What one ssh process has said so far.

    Attributes:
        offered: the host key offered last, as `KIND FINGERPRINT`.
        entered: whether its command was sent: not one of its jumps, the host itself let it in.
        refused: why the host could not connect to an address, each time, by `HOST:PORT`.
    """

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_MOST_LINES)
        self.offered = ""
        self.entered = False
        self.refused: dict[str, deque[str]] = {}
        self._target = ""
        self._targets: dict[str, str] = {}

    @property
    def last(self) -> str:
        """The last line that is for people."""
        return self.lines[-1] if self.lines else ""

    def take(self, line: str) -> None:
        """One more line, without its end."""
        if found := _OFFERED.match(line):
            self.offered = found[1]
        elif found := _CONNECT.match(line):
            self._target = found[1]
        elif found := _CHANNEL.match(line):
            self._targets[found[1]] = self._target
        elif found := _OPEN_FAILED.match(line):
            target = self._targets.pop(found[1], "")
            self.refused.setdefault(target, deque(maxlen=_MOST_LINES)).append(found[2])
        elif line.startswith(_SENT):
            self.entered = True
        if line.strip() and not line.startswith(_CHATTER):
            self.lines.append(line.strip())

    def meaning(self, alias: str) -> WireError:
        """Why no connection was made."""
        text = "\n".join(self.lines)
        if "Host key verification failed" in text or "host key" in self.last.lower():
            return self._key(text, alias)
        for words, kind, why in _MEANINGS:
            for line in reversed(self.lines):
                if words in line:
                    return WireError(kind, why.format(alias=alias) or _short(line))
        return WireError(Failure.CLOSED, _short(self.last) or f"{alias}: ssh ended without a word")

    def unknown_key(self, name: str) -> WireError:
        """A host offers a key nobody vouches for."""
        how = "to accept it, compare the fingerprint and connect once with ssh"
        why = f"no host key of {name} is known"
        return WireError(Failure.KEY_UNKNOWN, why, (f"offered  {self.offered}", how))

    def _key(self, text: str, alias: str) -> WireError:
        offered = f"offered  {self.offered}"
        if "REVOKED" in text:
            return WireError(Failure.KEY_CHANGED, f"the host key of {alias} is revoked", (offered,))
        if "HAS CHANGED" in text:
            known = [
                f"known    {_fingerprint(one or two, int(line or other))}"
                for one, line, two, other in _OFFENDING.findall(text)
            ]
            how = "if the change is meant, remove the known one with ssh-keygen -R"
            name = found[1] if (found := _CHANGED.search(text)) else alias
            why = f"the host key of {name} is not the known one"
            return WireError(Failure.KEY_CHANGED, why, (*known[:1], offered, how))
        found = _UNKNOWN.search(text)
        return self.unknown_key(next(filter(None, found.groups())) if found else alias)


def question(subject: str, prompt: str, said: Said, hint: str = "") -> Question:
    """What ssh asks, as a question to a person.

    Args:
        hint: how ssh wants it shown: `confirm`, or `none` where it only tells something.
    """
    if found := _UNKNOWN.search(prompt):
        error = said.unknown_key(next(filter(None, found.groups())))
        text = f"{error.why}. Trust the one it offers from now on?"
        return Question(subject, text, error.detail, choices=("no", TRUST))
    *detail, text = prompt.strip().splitlines() or ["ssh asks for an answer"]
    if found := _KEY.match(text):
        text = f"Passphrase for {found[1]}"
    if hint == TELLS:
        return Question(subject, text, tuple(detail), choices=("ok",))
    if hint == "confirm":
        return Question(subject, text, tuple(detail), choices=("no", TRUST))
    return Question(subject, text.rstrip(": "), tuple(detail), secret=True)


def unopened(reason: str, name: str, where: str) -> WireError:
    """Why the host made no TCP connection to `where`, by what its sshd answered."""
    if "prohibited" in reason:
        return WireError(Failure.NO_CHANNEL, f"sshd of {name} forbids forwarding")
    if "connect failed: " in reason:
        return refused_by_host(reason.partition("connect failed: ")[2], where)
    return WireError(Failure.NO_CHANNEL, f"sshd opened no channel: {reason}")


def _short(line: str) -> str:
    return line.removeprefix("ssh: ").strip()


def _fingerprint(file: str, line: int) -> str:
    """`KIND FINGERPRINT` of a line of known_hosts, as ssh-keygen prints it."""
    try:
        words = Path(file).read_text(errors="replace").splitlines()[line - 1].split()
        kind, blob = words[2:4] if words[0].startswith("@") else words[1:3]
        digest = hashlib.sha256(base64.b64decode(blob)).digest()
    except (OSError, IndexError, ValueError, binascii.Error):
        return f"line {line} of {file}"
    return f"{kind} SHA256:{base64.b64encode(digest).decode().rstrip('=')}"
