"""Heads that users' own logging configurations write: any order, any brackets.

Owns reading them. A head is taken off only where it holds a date or a level; whatever else
looks like one stays in the message.
"""

from __future__ import annotations

import re
from dataclasses import replace

from console.engines.levels import LEVEL, LEVELS
from console.engines.line import Head

_DATE = r"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?"
_RANK = re.compile(r"(?:DP|PP|TP|EP|CP)\d+(?: (?:DP|PP|TP|EP|CP)\d+)*$")
_USERS = re.compile(
    rf"({_DATE})Z? *(?:[-|] *)?(?:\[?(?P<name>[\w.]+)\]? *(?:[-|:] *)?)??"
    rf"\[?(?P<level>{LEVEL})\]?:? *(?:[-|] *)?(?:(?P<pid>\d+) )?(?:\[[\w./<>-]+:\d+\]:? )?"
    r"(?:(?P<target>[a-z_]\w*(?:::\w+)+): (?:[\w./-]+:\d+: )?)?"
    r"(?:[\w.]+:\w+:\d+ - )?"
)
_NGINX = re.compile(rf"({_DATE}) \[(debug|info|notice|warn|error|crit|alert|emerg)\] ")
_BARE_STAMP = re.compile(rf"({_DATE})(?:Z)? +")
_CLOCK = re.compile(rf"(\d\d:\d\d:\d\d(?:[.,]\d+)?) +(?:[-|] *)?({LEVEL})\b[ |:-]*")
_GLOG = re.compile(r"([EWIF])(\d{4} \d\d:\d\d:\d\d\.\d+) +(\d+ )?[\w.-]+:\d+\] ?")
_LEVEL_FIRST = re.compile(rf"({LEVEL}) - ({_DATE}) - ")
_BASIC = re.compile(rf"({LEVEL}):[\w.]+:")  # logging.basicConfig: LEVEL:name:message
_BARE_LEVEL = re.compile(rf"\[?({LEVEL})\]?(?::|\b) *(?:[-|] *)?(?:[\w./]+\.py[ :]+L?\d+: +)?")
_GROUP = re.compile(r"\[([^\[\]]{1,80})\](?: *[:|-])? *")
_DATED = re.compile(rf"(?:({LEVEL}) +)?({_DATE})(?: +[\w./]+:\d+)?$")
_LOGFMT = re.compile(r'(?:time|ts|level|lvl)=\S+ .*?msg=(?:"((?:[^"\\]|\\.)*)"|(\S+))')
_LOGFMT_FIELD = re.compile(r'\b(time|ts|level|lvl)="?([^\s"]+)"?')
_NGINX_LEVELS = {"notice": "INFO", "crit": "ERROR", "alert": "ERROR", "emerg": "ERROR"}


def bracketed(head: Head, text: str) -> tuple[Head, str]:
    """Takes off `[date][level][rank]` in any order; a group that is none of them ends it."""
    at, ranks, level = head.at, head.ranks, head.level
    end = 0
    while text[end : end + 1] == "[" and (m := _GROUP.match(text, end)):
        word: str = m[1].strip()
        if not at and (d := _DATED.match(word)):
            at, level = str(d[2]), LEVELS.get(d[1] or "", level)
        elif len(word) > 1 and word.upper() in LEVELS:
            level = LEVELS[word.upper()]
        elif _RANK.match(word):
            ranks = word
        elif not (level and not head.style and re.fullmatch(r"[\w.]+(?::\d+)?", word)):
            break
        end = m.end()
    if not end or (level is head.level and at == head.at and ranks == head.ranks):
        return head, text
    return replace(head, at=at, ranks=ranks, level=level, style=head.style or "users"), text[end:]


def dated(head: Head, text: str) -> tuple[Head, str]:
    """A head without brackets that begins with a date, a time, a level or logfmt's fields."""
    first = text[:1]
    if first.isdecimal():
        return _digits(head, text)
    if first.isupper():
        return _levelled(head, text)
    if first in "tl" and (m := _LOGFMT.match(text)):
        fields: dict[str, str] = dict(_LOGFMT_FIELD.findall(text))
        word = fields.get("level") or fields.get("lvl") or ""
        level = LEVELS.get(word.upper(), head.level)
        at = fields.get("time") or fields.get("ts") or ""
        message = (m[1] or m[2] or "").replace('\\"', '"')
        return replace(head, at=at, level=level, style="users"), message
    return head, text


def _digits(head: Head, text: str) -> tuple[Head, str]:
    if m := _NGINX.match(text):
        level = LEVELS[_NGINX_LEVELS.get(m[2], m[2].upper())]
        return replace(head, at=m[1], level=level, style="users"), text[m.end() :]
    if m := _USERS.match(text):
        name = m["name"] or ""
        return replace(
            head,
            at=m[1],
            ranks=name if _RANK.match(name) else "",
            level=LEVELS[m["level"]],
            pid=int(m["pid"]) if m["pid"] else head.pid,
            process=m["target"] or head.process,
            style="users",
        ), text[m.end() :]
    if m := _BARE_STAMP.match(text):
        return bracketed(replace(head, at=m[1], style="users"), text[m.end() :])
    if m := _CLOCK.match(text):
        return replace(head, at=m[1], level=LEVELS[m[2]], style="users"), text[m.end() :]
    return head, text


def _levelled(head: Head, text: str) -> tuple[Head, str]:
    if m := _GLOG.match(text):
        pid = int(m[3]) if m[3] else head.pid
        return replace(head, at=m[2], level=LEVELS[m[1]], pid=pid, style="users"), text[m.end() :]
    if m := _LEVEL_FIRST.match(text):
        return replace(head, at=m[2], level=LEVELS[m[1]], style="users"), text[m.end() :]
    if m := _BASIC.match(text):
        return replace(head, level=LEVELS[m[1]], style="users"), text[m.end() :]
    return bare_level(head, text) if head.outer else (head, text)


def bare_level(head: Head, text: str) -> tuple[Head, str]:
    """A level word at the start of a message whose time has been read already."""
    if head.level is None and (m := _BARE_LEVEL.match(text)):
        return replace(head, level=LEVELS[m[1]], style=head.style or "users"), text[m.end() :]
    return head, text
