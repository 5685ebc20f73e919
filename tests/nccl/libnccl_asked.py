"""Asks a real libnccl what it makes of values, without a GPU: a program that runs in a process of
its own, since the library reads most of its environment once.

Standard input: JSON with `library`, `functions` (addresses by mangled name), `get` (names),
`integers`, `levels`, `lists` (values) and `id` (whether to make a unique id). The answers go to
standard error as JSON; what the library logs, at any time, goes to standard output. Imports
nothing of the project.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

DEFAULT = -77
"""What a parameter holds that was refused or left out."""

_UNSET = -(2**63)
_PROTOCOLS = (b"LL", b"LL128", b"Simple")
_FUNCTIONS = (b"Broadcast", b"Reduce", b"AllGather", b"ReduceScatter", b"AllReduce")


def main() -> None:
    """Answer what was asked."""
    asked = json.load(sys.stdin)
    library = ctypes.CDLL(asked["library"])
    functions = asked["functions"]
    start: int = ctypes.cast(library.ncclGetVersion, ctypes.c_void_p).value or 0
    start -= functions["ncclGetVersion"]

    def place(begins: str) -> int:
        exact = [name for name in functions if name.startswith(begins) and "." not in name]
        offset: int = functions[exact[0]]
        return start + offset

    answer: dict[str, object] = {}
    answer["levels"] = [level(place("_Z12ncclGetLevel"), *pair) for pair in asked["levels"]]
    answer["integers"] = [integer(place("_Z13ncclLoadParam"), text) for text in asked["integers"]]
    if asked["lists"]:
        parse = place("_Z9parseList")
        answer["lists"] = [listed(parse, text) for text in asked["lists"]]
    if asked["get"]:
        get = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_char_p)(place("_Z10ncclGetEnv"))
        answer["get"] = {
            name: None if (value := get(name.encode())) is None else value.decode("latin-1")
            for name in asked["get"]
        }
    if asked["id"]:
        answer["id"] = library.ncclGetUniqueId(ctypes.create_string_buffer(128))
    json.dump(answer, sys.stderr)


def integer(address: int, text: str) -> int:
    """What a 64-bit parameter holds after reading `text`."""
    kind = ctypes.CFUNCTYPE(
        None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
    )
    os.environ["NCCL_BUFFSIZE"] = text
    held, mark = ctypes.c_int64(_UNSET), ctypes.c_int8(0)
    kind(address)(b"NCCL_BUFFSIZE", DEFAULT, _UNSET, ctypes.byref(held), ctypes.byref(mark))
    return held.value


def level(address: int, disable: str | None, text: str | None) -> int:
    """The distance that P2P_DISABLE and P2P_LEVEL give; below 0 where both were ignored."""
    for name, value in (("NCCL_P2P_DISABLE", disable), ("NCCL_P2P_LEVEL", text)):
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    held = ctypes.c_int(-1)
    kind(address)(ctypes.byref(held), b"NCCL_P2P_DISABLE", b"NCCL_P2P_LEVEL")
    return held.value


def listed(address: int, text: str) -> int:
    """The result code of reading `text` as a list of protocols."""
    words = ctypes.POINTER(ctypes.c_char_p)
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.c_char_p,
        words,
        ctypes.c_int,
        words,
        ctypes.c_int,
        ctypes.c_void_p,
    )
    prefixes = (ctypes.c_char_p * len(_FUNCTIONS))(*_FUNCTIONS)
    known = (ctypes.c_char_p * len(_PROTOCOLS))(*_PROTOCOLS)
    held = (ctypes.c_int * (len(_FUNCTIONS) * len(_PROTOCOLS)))()
    counts = (len(_FUNCTIONS), len(_PROTOCOLS))
    return int(
        kind(address)(
            text.encode(),
            ctypes.cast(prefixes, words),
            counts[0],
            ctypes.cast(known, words),
            counts[1],
            held,
        )
    )


if __name__ == "__main__":
    main()
