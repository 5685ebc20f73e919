"""Groups shell tokens into simple commands: their words, where they write, what joins them, and
whether they stand in a branch. Knows keywords of sh, fish and csh; runs nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from console.nccl.importing.shell_text import Comment, HereDoc, Operator, Token, Word

_OPENERS = frozenset({"if", "case", "for", "while", "until", "select", "switch"})
_CLOSERS = frozenset({"fi", "esac", "done", "end", "endif", "endsw"})
_SKIPPED = frozenset(
    {"then", "do", "else", "elif", "!", "time", "{", "begin", "and", "or", "function"}
)
_REDIRECTS = frozenset({"<", ">", ">>", "&>", "&>>", ">&", "<&", "<>", ">|", "<<<"})


@dataclass(slots=True)
class Command:
    """A simple command. `before` and `after` are the operators around it; `target` the file its
    output goes to, `fed` the here-documents it reads, `torn` a command cut off from its start."""

    words: list[Word] = field(default_factory=list)
    line: int = 0
    before: str = ""
    after: str = ""
    target: str = ""
    fed: list[HereDoc] = field(default_factory=list)
    conditional: bool = False
    torn: bool = False
    comment: Comment | None = None


class Builder:
    """Turns tokens into commands and comments, in the order of the text."""

    def __init__(self) -> None:
        self.out: list[Command | Comment] = []
        self.now = Command()
        self.depth = 0
        self.heading = ""
        self.functions: list[int] = []
        self.waiting: list[Command] = []
        self.redirect = ""
        self.tear: Comment | None = None

    def build(self, tokens: list[Token]) -> list[Command | Comment]:
        """All commands; comments stand between them where they stood."""
        for token in tokens:
            match token:
                case Word():
                    self._word(token)
                case Operator():
                    self._operator(token)
                case Comment():
                    self.tear = token if token.tears else None
                    self.out.append(token)
                case HereDoc():
                    if self.waiting:
                        self.waiting.pop(0).fed.append(token)
        self._end("")
        self._link_pipes()
        return self.out

    def _link_pipes(self) -> None:
        """`echo ... | sudo tee FILE`: what the first command prints goes to the file."""
        for at, part in enumerate(self.out[:-1]):
            after = self.out[at + 1]
            if not isinstance(part, Command) or not isinstance(after, Command):
                continue
            texts = [word.text for word in after.words]
            if part.after == "|" and not part.target and "tee" in texts[:4]:
                files = [t for t in texts[texts.index("tee") + 1 :] if not t.startswith("-")]
                part.target = files[0] if files else ""

    def _word(self, word: Word) -> None:
        if self.redirect:
            if self.redirect in (">", ">>", "&>", "&>>", ">|") and not self.now.target:
                self.now.target = word.text
            elif self.redirect == "<<<":
                self.now.fed.append(HereDoc(word.text, word.line, True))
            self.redirect = ""
            return
        text = word.text
        if not self.now.words and not word.quoted:
            if self.heading == "for" and text == "in":
                return
            if text in _OPENERS:
                self.depth += 1
                self.heading = text if text in ("for", "case", "select", "switch") else ""
                self.now.words.clear()
                if not self.heading:
                    return
            elif text in _CLOSERS:
                self.depth = max(0, self.depth - 1)
                return
            elif text == "}":
                if self.functions and self.functions[-1] == self.depth:
                    self.functions.pop()
                    self.depth -= 1
                return
            elif text == "{" and self._opens_function():
                self.depth += 1
                self.functions.append(self.depth)
                return
            elif text in _SKIPPED:
                return
        if not self.now.words:
            self.now.line = word.line
            self.now.torn = self.tear is not None
            self.now.comment = self.tear
        self.now.words.append(word)

    def _opens_function(self) -> bool:
        return self.now.before == ")"

    def _operator(self, operator: Operator) -> None:
        text = operator.text
        if text in _REDIRECTS:
            if self.now.words and self.now.words[-1].text in ("1", "2", "&1"):
                number = self.now.words.pop().text
                self.redirect = "2>" if number == "2" else text
            else:
                self.redirect = text
            return
        if text in ("<<", "<<-"):
            self.waiting.append(self.now)
            return
        self._end(text)
        if text == "\n":
            self.redirect = ""
            if not self.now.words and self.out and not isinstance(self.out[-1], Comment):
                self.tear = None

    def _end(self, operator: str) -> None:
        done = self.now
        heading, self.heading = self.heading, ""
        self.now = Command(before=operator)
        if not done.words and not done.fed:
            if operator == "\n" and done.before in ("&&", "||", "|"):
                self.now.before = done.before
            return
        if heading:
            return
        done.after = operator
        done.conditional = self.depth > 0 or done.before in ("&&", "||")
        self.out.append(done)
