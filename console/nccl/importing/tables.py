"""Reads tables of documents: one column names variables, another holds their values. A table that
tells a change has one for what was before, too."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from console.nccl.importing.found import NAME, PAIR, Found, Item, State
from console.nccl.importing.prose import is_open

_CELLS = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")
_STRUCK = re.compile(r"~~(.+?)~~|<(del|s|strike)>(.+?)</\2>")
_ASIDE = re.compile(r"\s*[（(][^（()）]*[)）]$")
_NOTHING = ("-", "–", "—", "/")
_VALUE_HEAD = re.compile(
    r".*(?:value|setting|set to|recommended|wert|einstellung|valeur|valor|valore|waarde|wartość"
    r"|hodnota|значение|значення|取值|设置|設定|建议|推荐|值|値|값|설정)",
    re.IGNORECASE,
)
_DEFAULT_HEAD = re.compile(
    r"default|standard|défaut|defecto|padrão|predefinito|умолчанию|默认|預設|既定|デフォルト|기본",
    re.IGNORECASE,
)
_OLD_HEAD = re.compile(
    r"\W*(?:(?:before|old|previous|vorher|bisher|alt|avant|ancien|antes|anterior)|(?:was|from)\W*$)"
    r"|.*(?:原值|旧|修改前|变更前|変更前|之前|이전)",
    re.IGNORECASE,
)
_NOW_HEAD = re.compile(
    r"\W*(?:now|current|today|aktuell|derzeit|heute|actuel|actual)|.*(?:当前|目前|現在|현재)",
    re.IGNORECASE,
)
_NEW_HEAD = re.compile(
    r"\W*(?:(?:after|new|target|proposed|planned|recommended|nachher|künftig|neu|après|nouveau"
    r"|nouvelle|después|nuevo|propuesto)|to\W*$)|.*(?:新|修改后|变更后|変更後|之后|이후|建议|推荐)",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"(?:unset|not set|removed?|deleted?|dropped|gone|entfernt|entfällt|supprimé|未设置|不设置|删除"
    r"|削除)",
    re.IGNORECASE,
)


class Table:
    """A table by its head.

    Attributes:
        value: column of the values, -1 where the head does not say: then it is the one after the
            name. old: column of what was before, -1 for none.
    """

    def __init__(self, head: str) -> None:
        cells = _cells(head)
        old, now, new = (_column(cells, heads) for heads in (_OLD_HEAD, _NOW_HEAD, _NEW_HEAD))
        pairs = ((old, new), (now, new), (old, now))
        told = next((pair for pair in pairs if min(pair) >= 0), (-1, -1))
        self.old, self.value = told
        if self.value < 0:
            self.value = _column(cells, _VALUE_HEAD)

    def row(self, row: str, line: int) -> tuple[list[Item], list[str]]:
        """What a row says, and the texts of it that are to be read as such."""
        cells = _cells(row)
        named = next((i for i, cell in enumerate(cells) if NAME.fullmatch(_bare(cell))), None)
        if named is None:
            return [], [row]
        name = _bare(cells[named])
        column = self.value if self.value >= 0 and self.value != named else named + 1
        found: list[Item] = []
        if self.old >= 0 and self.old not in (named, column) and self.old < len(cells):
            was = _found(name, cells[self.old], line, headed=True)
            found += [Found(name, State.OLD, (line,), value=one.value or one.raw) for one in was]
        if column < len(cells):
            found += self._new(name, cells[column], line)
        return found, [cell for cell in cells[named + 1 :] if PAIR.search(cell)]

    def _new(self, name: str, cell: str, line: int) -> Iterator[Item]:
        for struck in _STRUCK.finditer(cell):
            yield from (
                Found(name, State.OLD, (line,), value=one.value or one.raw)
                for one in _found(name, struck[1] or struck[3], line, headed=True)
            )
        left = _STRUCK.sub(" ", cell)
        if self.old >= 0 and _GONE.fullmatch(_bare(left).strip("()（）")):
            yield Found(name, State.UNSET, (line,))
        else:
            yield from _found(name, left, line, headed=self.value >= 0)


def _found(name: str, cell: str, line: int, *, headed: bool) -> Iterator[Found]:
    """The value of a cell. `headed`: the head says that values stand there."""
    coded = _CODE.search(cell)
    value = coded[2].strip() if coded is not None else _bare(cell)
    if not value or value in _NOTHING or PAIR.search(value):
        return
    if coded is None and not headed and re.search(r"\s", value):
        return
    value = _ASIDE.sub("", html.unescape(value))
    if is_open(name, value) or (coded is None and re.search(r"\s", value)):
        yield Found(name, State.UNRESOLVED, (line,), raw=value)
    else:
        yield Found(name, State.SET, (line,), value=value)


def _cells(row: str) -> list[str]:
    return _CELLS.split(row.strip().strip("|"))


def _bare(cell: str) -> str:
    return cell.strip().strip("`*_ ").strip()


def _column(cells: list[str], heads: re.Pattern[str]) -> int:
    """The first column after the first whose head speaks so and not of defaults, else -1."""
    for at, cell in enumerate(cells):
        if at and heads.match(cell) and not _DEFAULT_HEAD.search(cell):
            return at
    return -1
