"""`make nccl-check`: the catalogue against the names that real libraries read.

Downloads the wheels (the newest, and those of `VERSIONS`), says what was added and what is gone,
and writes the names down in libnccl.toml, which a test holds the catalogue against.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from console.nccl.catalogue import catalogue
from console.nccl.version import parse_version
from tests.nccl.elf import read_library
from tests.nccl.wheel import PACKAGE, Unfetched, fetch, library_in, version_of

RESULT = Path(__file__).with_name("libnccl.toml")
_HEAD = f"""\
# Environment names that the library of the wheel {PACKAGE} reads, by version,
# without the NCCL_ before each. Written by `make nccl-check`.
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`added`: read by the library, unknown to the catalogue in that version; `gone`: the other
    way round."""

    added: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether both name the same."""
        return not (self.added or self.gone)


def compare(version: str, names: Iterable[str]) -> Comparison:
    """The catalogue against the names that the library of `version` reads."""
    parsed = parse_version(version)
    assert parsed is not None, version
    known = {name for name, one in catalogue().items() if one.lives_in(parsed)}
    read = {*names}
    return Comparison(tuple(sorted(read - known)), tuple(sorted(known - read)))


def results() -> dict[str, tuple[str, ...]]:
    """The names written down, by version, oldest first."""
    text = RESULT.read_text("utf-8") if RESULT.exists() else ""
    return {
        version: tuple(f"NCCL_{name}" for name in names.split())
        for version, names in tomllib.loads(text).items()
    }


def write(held: dict[str, tuple[str, ...]]) -> None:
    """Write the names down, versions in their order."""
    parts = [_HEAD]
    for version in sorted(held, key=lambda text: parse_version(text) or (0, 0, 0)):
        words = " ".join(name.removeprefix("NCCL_") for name in held[version])
        parts.append(f'\n"{version}" = """\n{textwrap.fill(words, 99)}\n"""\n')
    RESULT.write_text("".join(parts), "utf-8")


def main(argv: Sequence[str]) -> int:
    """0 where the catalogue agrees with every library, 1 where one differs, 2 where none came."""
    parser = argparse.ArgumentParser(prog="make nccl-check", description=__doc__)
    parser.add_argument("version", nargs="*", help="versions of the wheel; the newest if none")
    versions = parser.parse_args(argv).version or [""]
    held, code = results(), 0
    with tempfile.TemporaryDirectory(prefix="nccl-check-") as folder:
        for version in versions:
            try:
                wheel = fetch(version, Path(folder))
            except Unfetched as error:
                print(f"nccl-check: {error}", file=sys.stderr)
                return 2
            library = library_in(wheel, Path(folder))
            number = version_of(wheel)
            held[number] = read_library(library).names_read()
            library.unlink()
            found = compare(number, held[number])
            word = "the catalogue agrees" if found.same else "the catalogue differs"
            print(f"{PACKAGE} {number}: reads {len(held[number])} names, {word}")
            for title, names in (("added", found.added), ("gone", found.gone)):
                for name in names:
                    print(f"  {title} {name}")
            code = code if found.same else 1
            write(held)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
