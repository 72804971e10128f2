"""Files of the repository's top level, which an installed package contains as well."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def beside_package(name: str) -> Path:
    """Return the path of a file or folder beside the package, such as ``sample_data``.

    A wheel has copies of them in ``graftviz/_app``; see pyproject.toml.
    """
    copy = _PACKAGE / "_app" / name
    return copy if copy.exists() else _PACKAGE.parent / name
