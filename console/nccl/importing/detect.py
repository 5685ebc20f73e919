"""Tells what kind of source a text is, from its file name and its content. An explicit format
given by the caller is never second-guessed."""

from __future__ import annotations

import re

FORMATS = (
    "markdown",
    "shell",
    "history",
    "env",
    "env-listing",
    "dockerfile",
    "compose",
    "kubernetes",
    "ansible",
    "yaml",
    "systemd",
    "json",
    "python",
    "nccl.conf",
    "log",
    "proc-environ",
    "diff",
    "config",
)

_NAMES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r".*\.(diff|patch)$", "diff"),
        (r".*(dockerfile|containerfile)(\.[\w-]+)?$", "dockerfile"),
        (r".*compose[\w.-]*\.ya?ml$", "compose"),
        (r".*\.k8s\.ya?ml$", "kubernetes"),
        (r".*(ansible|playbook)[\w.-]*\.ya?ml$", "ansible"),
        (r".*\.(service|container|socket|timer)(\.d/.*)?$", "systemd"),
        (r".*\.(service|container)\.d/.*\.conf$", "systemd"),
        (r".*(systemd).*\.conf$", "systemd"),
        (r"(.*[./-])?nccl[\w.-]*\.conf$", "nccl.conf"),
        (r"(.*[._-])?environ$", "proc-environ"),
        (r".*(\.env|\.env\.[\w-]+|_env|/environment|\benvironment)$", "env"),
        (
            r"(.*[._-])?env(ironment)?(file|vars?)?([._-](list|file|vars?))?$",
            "env",
        ),
        (r".*environment\.d/.*\.conf$", "env"),
        (r".*(history|_hist|\.histfile)[\w.]*$", "history"),
        (r".*\.(sh|bash|zsh|ksh|fish|csh|tcsh|sbatch|slurm|pbs|lsf|job|bat|cmd|ps1)$", "shell"),
        (r".*(bashrc|zshrc|profile|cshrc|kshrc|bash_login|zshenv|envrc|xonshrc)$", "shell"),
        (r".*\.pyi?$", "python"),
        (r".*\.(json|jsonc|json5|ipynb)$", "json"),
        (r".*\.(log|out|err)(\.\d+)?$", "log"),
        (r".*\.(toml|ini|cfg|conf|mk|hcl|tf|tfvars|nix|properties)$|(gnu)?makefile$", "config"),
        (r".*\.(md|markdown|mdx|rst|adoc|org|html?)$", "markdown"),
    )
)
_LOG = re.compile(r"NCCL (INFO|WARN|ATTN|VERSION) |set by environment to ")
_HISTORY = re.compile(
    r"^(: \d{9,}:\d+;|\s{1,5}\d{1,6}\*?\s{1,2}\S|- cmd: |#\d{9,11}$)", re.MULTILINE
)
_DIFF = re.compile(r"^(diff --git |--- \S|\+\+\+ \S|@@ -)", re.MULTILINE)
_DOCKER = re.compile(r"^\s*(FROM \S+|ENV [A-Za-z_]\w*[ =])", re.MULTILINE | re.IGNORECASE)
_SYSTEMD = re.compile(r"^\s*(\[(Service|Container|Unit|Manager)\]|Environment=)", re.MULTILINE)
_PYTHON = re.compile(r"os\.(environ|putenv)|^(import|from) \w+", re.MULTILINE)
_YAML = re.compile(
    r"^[\s#]*(-\s+)?[\"']?(NCCL_[A-Z0-9_]+[\"']?\s*:(\s|$)|name:\s*[\"']?NCCL_)|^\s*-\s+\{",
    re.MULTILINE,
)
_YAML_ITEM = re.compile(r"^\s*-\s+[\"']?NCCL_[A-Z0-9_]+(=|[\"']?\s*$)", re.MULTILINE)
_JSON_PAIR = re.compile(r"^[\s/]*\{?\s*\"NCCL_[A-Z0-9_]+\"\s*:", re.MULTILINE)
_LISTING = re.compile(r"^(PATH|PWD|SHLVL|HOME|HOSTNAME|_|LANG|USER)=", re.MULTILINE)
_EXPORT = re.compile(r"^\s*(export|setenv|set -g?x|unset|declare -x)\s", re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6} \S.*|```|~~~|[-*] .*)$", re.MULTILINE)


def by_name(name: str) -> str:
    """The format a file name tells, empty where it tells none. Needs the last two folders."""
    tail = "/".join(name.replace("\\", "/").split("/")[-3:])
    base = tail.rsplit("/", 1)[-1]
    for pattern, kind in _NAMES:
        if pattern.match(base) or ("/" in pattern.pattern and pattern.match(tail)):
            return kind
    return ""


def yaml_format(text: str) -> str:
    """compose, kubernetes, ansible or plain yaml."""
    if re.search(r"^apiVersion:", text, re.MULTILINE) and re.search(r"^kind:", text, re.MULTILINE):
        return "kubernetes"
    if re.search(r"^services:", text, re.MULTILINE):
        return "compose"
    if re.search(r"^\s*-?\s*(hosts|tasks|ansible\.builtin\.\w+|become|gather_facts):", text, re.M):
        return "ansible"
    if re.search(r"^\s*-\s+name:\s*[\"']?NCCL_", text, re.MULTILINE):
        return "kubernetes"
    return "yaml"


def fragment_format(text: str) -> str:
    """The grammar of a piece of text without a name: a fenced block, a here-document."""
    if _LOG.search(text):
        return "log"
    if _DIFF.search(text):
        return "diff"
    if _SYSTEMD.search(text):
        return "systemd"
    if _DOCKER.search(text):
        return "dockerfile"
    if _JSON_PAIR.search(text):
        return "json"
    if "os.environ" in text or "os.putenv" in text:
        return "python"
    if _YAML.search(text) or (_YAML_ITEM.search(text) and "\\" not in text):
        return yaml_format(text)
    return "shell"


def detect(name: str, text: str, data: bytes | None = None) -> str:
    """The format of a whole source, `markdown` (running text) where nothing tells better."""
    if data is not None and b"\0" in data[:65536]:
        return "proc-environ"
    kind = by_name(name)
    head = text[:200_000]
    if kind == "config" and _SYSTEMD.search(head):
        return "systemd"
    if kind:
        return kind
    if re.match(r".*\.ya?ml$", name, re.IGNORECASE):
        return yaml_format(head)
    if head.startswith("#!"):
        return "python" if "python" in head.partition("\n")[0] else "shell"
    if re.match(r"\s*(\{|\[)\s*[\"{\[/]", head):
        return "json"
    if len(_HISTORY.findall(head)) >= 2:
        return "history"
    if _LISTING.search(head) and not _EXPORT.search(head):
        return "env-listing"
    kind = fragment_format(head)
    if kind != "shell":
        return kind
    if _PYTHON.search(head) and "import " in head:
        return "python"
    if re.search(r"^#SBATCH|^#PBS", head, re.MULTILINE):
        return "shell"
    return _text_format(head)


def is_assignments(text: str) -> bool:
    """Whether every line is NAME=value, a comment or blank."""
    rows = [row for row in text.split("\n") if row.strip()]
    return bool(rows) and all(re.match(r"\s*(#|[A-Za-z_]\w*=)", row) for row in rows)


def _text_format(text: str) -> str:
    rows = [row for row in text.split("\n") if row.strip()]
    if not rows:
        return "markdown"
    commands = sum(
        bool(re.match(r"\s*(#|export |setenv |[A-Za-z_]\w*=|python|docker |srun )", row))
        for row in rows
    )
    if "```" in text or re.search(r"^#{1,3} \S.*\n\s*\n", text, re.MULTILINE):
        return "markdown"
    if is_assignments(text):
        return "env"
    if commands == len(rows) or (_EXPORT.search(text) and commands * 2 > len(rows)):
        return "shell"
    return "markdown"
