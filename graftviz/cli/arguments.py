"""Command-line arguments of several commands: numbers, paths, options, models and folders."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.reading import read_model_file
from graftviz.utils.errors import InputError
from graftviz.utils.options import OptionSpec, format_value, option_specs
from graftviz.utils.wording import quoted

INTERRUPTED = 130  # exit code after Ctrl-C
_MOST_DIGITS = 40
# Limits of Linux; other systems have lower ones and fail when the file is opened.
_LONGEST_NAME = 255  # bytes
_LONGEST_PATH = 4095
_MODEL_HELP = (
    "a model: UAI (names are read from MODEL.names.json beside it), GraphML, node-link JSON, or a "
    "folder of results"
)


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


def add_learner(
    parser: argparse.ArgumentParser, names: Iterable[str], default: str, options: Sequence[str]
) -> None:
    """Add the arguments ``--out``, ``--learner`` and ``--set`` to `parser`.

    Parameters
    ----------
    names : iterable of str
        The learners.
    default : str
        The learner that is used if none is set.
    options : sequence of str
        Description of the options of all learners, in lines, for the end of the help.
    """
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(options)
    parser.add_argument("--out", type=path, required=True, metavar="DIR", help="folder for results")
    parser.add_argument(
        "--learner",
        default=default,
        metavar="NAME",
        help=f"one of: {', '.join(names)} (default: {default})",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="an option of the learner, see below; may be repeated",
    )


def add_held_out(parser: argparse.ArgumentParser, help: str, default: float | None = None) -> None:
    """Add the arguments ``--test-fraction`` and ``--test``, which exclude each other."""
    held_out = parser.add_mutually_exclusive_group()
    held_out.add_argument("--test-fraction", type=number, default=default, metavar="F", help=help)
    held_out.add_argument("--test", type=path, metavar="FILE", help="held-out rows")


def add_seed(parser: argparse.ArgumentParser, of: str) -> None:
    """Add the argument ``--seed`` to `parser`."""
    parser.add_argument("--seed", type=integer, default=0, help=f"seed of {of} (default: 0)")


def add_options(group: argparse._ActionsContainer, cls: type) -> None:
    """Add a flag for every option of a dataclass: choices, whole numbers and numbers."""
    kinds: dict[str, dict[str, Any]] = {
        "int": {"type": integer, "metavar": "N"},
        "float": {"type": number, "metavar": "X"},
        "text": {"metavar": "TEXT"},
    }
    for spec in option_specs(cls):
        group.add_argument(
            f"--{spec.name.replace('_', '-')}",
            default=spec.default,
            help=f"{spec.help} (default: {format_value(spec.default)})",
            **kinds.get(spec.kind, {"choices": spec.choices}),
        )


def chosen_options(arguments: argparse.Namespace, cls: type) -> dict[str, Any]:
    """Return the values of the flags of :func:`add_options`."""
    return {spec.name: getattr(arguments, spec.name) for spec in option_specs(cls)}


def settings(texts: list[str], flag: str, example: str) -> dict[str, str]:
    """Parse repeated ``OPTION=VALUE`` arguments into a dict.

    Raises
    ------
    InputError
        If a text has no equals sign.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{flag} needs OPTION=VALUE, for example {example}; got {text!r}.")
        found[name.strip()] = value
    return found


def checked_path(text: str) -> Path:
    """Parse a path that is part of a longer argument such as ``NAME=PATH``.

    Raises
    ------
    InputError
        If the text cannot be a path.
    """
    encoded = os.fsencode(text)
    if not encoded:
        raise InputError("A file or folder needs a name.")
    names = encoded.split(os.sep.encode())
    if len(encoded) > _LONGEST_PATH or max(map(len, names)) > _LONGEST_NAME:
        raise InputError(f"{quoted(text)} is longer than the name of a file can be.")
    return Path(text)


def option_line(spec: OptionSpec) -> str:
    """Return ``name=default``, the help of an option, its choices and the meaning of auto."""
    automatic = f" [auto: {spec.none_means}]" if spec.none_means else ""
    choices = f" [{', '.join(spec.choices)}]" if spec.choices else ""
    default = "auto" if spec.default is None else format_value(spec.default)
    return f"  {spec.name}={default}  {spec.help}{choices}{automatic}"


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument ``model`` to `parser`."""
    parser.add_argument("model", type=path, metavar="MODEL", help=_MODEL_HELP)


def read_model_argument(path: Path) -> PairwiseModel:
    """Read a model and print notes about its interpretation to standard error.

    Raises
    ------
    InputError
        If there is no model, or it is malformed.
    """
    found = read_model_file(path)
    for note in found.notes:
        print(f"Note: {note}", file=sys.stderr)
    return found.model


def add_evidence_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--evidence`` to `parser`."""
    parser.add_argument(
        "--evidence",
        action="append",
        default=[],
        metavar="VARIABLE=STATE",
        help="an observed state, by name or index; may be repeated",
    )


def evidence_argument(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the observed states by variable.

    Raises
    ------
    InputError
        If one is not written as VARIABLE=STATE, or a variable has two states.
    """
    found: dict[str, str] = {}
    for text in arguments.evidence:
        variable, sign, state = text.rpartition("=")
        if not sign or not variable:
            raise InputError(f"--evidence is written as VARIABLE=STATE, not {quoted(text)}.")
        if found.setdefault(variable, state) != state:
            raise InputError(f"--evidence gives {quoted(variable)} two different states.")
    return found


@contextlib.contextmanager
def writing(file: Path) -> Iterator[None]:
    """Raise :class:`InputError` if a file cannot be written in the body."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}.") from None


def create_folder(folder: Path) -> Path:
    """Create a folder and check that it is writable, before the work begins.

    Raises
    ------
    InputError
        If it cannot be created or written, or is not a folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError):
        raise InputError(
            f"Nothing can be written to {folder}: it is a file, not a folder."
        ) from None
    except OSError as error:
        raise InputError(f"Nothing can be written to {folder}: {error.strerror}.") from None
    return folder
