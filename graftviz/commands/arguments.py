"""Types of command-line arguments: numbers and paths, with short error messages."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import Any

from graftviz.errors import InputError
from graftviz.options import option_specs
from graftviz.wording import quoted

_MOST_DIGITS = 40
# Limits of Linux; other systems have lower ones and fail when the file is opened.
_LONGEST_NAME = 255  # bytes
_LONGEST_PATH = 4095


def integer(text: str) -> int:
    """Parse a whole number of at most 40 digits.

    Raises
    ------
    argparse.ArgumentTypeError
        For any other text.
    """
    try:
        # Parsing an integer of many digits takes seconds, and above 4,300 digits Python refuses.
        if len(text.strip()) <= _MOST_DIGITS:
            return int(text)
    except ValueError:
        pass
    else:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is too long for a whole number")
    raise argparse.ArgumentTypeError(f"{quoted(text)} is not a whole number")


def number(text: str) -> float:
    """Parse a number, which may be infinite.

    Raises
    ------
    argparse.ArgumentTypeError
        For any other text, and "nan".
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a number")
    return value


def path(text: str) -> Path:
    """Parse a path.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text cannot be a path.
    """
    try:
        return checked_path(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from None


def add_options(group: argparse._ArgumentGroup, cls: type) -> None:
    """Add a flag for every option of a dataclass: choices and whole numbers."""
    for spec in option_specs(cls):
        values = {"choices": spec.choices} if spec.choices else {"type": integer, "metavar": "N"}
        group.add_argument(
            f"--{spec.name.replace('_', '-')}",
            default=spec.default,
            help=f"{spec.help} (default: {spec.default})",
            **values,
        )


def chosen_options(arguments: argparse.Namespace, cls: type) -> dict[str, Any]:
    """Return the values of the flags of :func:`add_options`."""
    return {spec.name: getattr(arguments, spec.name) for spec in option_specs(cls)}


def checked_path(text: str) -> Path:
    """Parse a path that is part of a longer argument such as ``NAME=PATH``.

    Raises
    ------
    InputError
        If the text cannot be a path.
    """
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:  # a lone surrogate
        encoded = b"\0"
    if b"\0" in encoded:
        raise InputError(f"No file can be called {quoted(text)}.")
    if not encoded:
        raise InputError("A file or folder needs a name.")
    names = encoded.split(os.sep.encode())
    if len(encoded) > _LONGEST_PATH or max(map(len, names)) > _LONGEST_NAME:
        raise InputError(f"{quoted(text)} is longer than the name of a file can be.")
    return Path(text)
