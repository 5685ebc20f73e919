"""The version of this program, as its installed package says."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def written_version() -> str:
    """The version, or `unknown` when the package is not installed."""
    try:
        return version("spec-console")
    except PackageNotFoundError:
        return "unknown"
