"""The part of ``learn`` that reads public data sets: ``NAME:PATH`` in place of a table."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable
from pathlib import Path

from graftviz.datasets import DataSet, public_names, public_reader
from graftviz.errors import InputError
from graftviz.options import OptionSpec, option_specs, parse_options

_FOR_TABLES = ("missing", "continuous", "bins", "max_states", "header", "chunked")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that only public data sets have, after those of tables."""
    parser.add_argument(
        "--read",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="an option of a public data set, see below; may be repeated",
    )
    parser.set_defaults(table_defaults={flag: parser.get_default(flag) for flag in _FOR_TABLES})


def settings(texts: list[str], flag: str, example: str) -> dict[str, str]:
    """Return repeated ``OPTION=VALUE`` arguments as a dict.

    Raises
    ------
    InputError
        For a text without an equals sign.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{flag} needs OPTION=VALUE, for example {example}; got {text!r}.")
        found[name.strip()] = value
    return found


def read(arguments: argparse.Namespace) -> DataSet | None:
    """Return the public data set that is asked for, or None where TABLE is none.

    Raises
    ------
    InputError
        When its files cannot be used, or a flag that has a meaning for other data only is given.
    """
    name, colon, path = arguments.table.partition(":")
    if not colon or name not in public_names() or Path(arguments.table).exists():
        near = difflib.get_close_matches(name, public_names(), n=1) if colon else []
        if near and not Path(arguments.table).exists():
            raise InputError(
                f"There is no file and no public data set {name!r}; did you mean {near[0]}:{path}?"
            )
        if arguments.read:
            raise InputError(
                f"--read is for public data sets, {_prefixes()}; {arguments.table} is none."
            )
        return None
    if not path:
        raise InputError(f"{name}: needs a path; {name}:PATH takes {public_reader(name).files}.")
    for flag, default in arguments.table_defaults.items():
        if getattr(arguments, flag) != default:
            raise InputError(
                f"--{flag.replace('_', '-')} is for tables; {name} has its own options, given by "
                "--read, see --help."
            )
    reader = public_reader(name)
    texts = settings(arguments.read, "--read", f"{option_specs(reader)[0].name}=VALUE")
    return reader(**parse_options(reader, texts)).read(path)


def data_help(option_line: Callable[[OptionSpec], str]) -> list[str]:
    """Return what there is to read and how, as lines for the end of the help text."""
    lines = ["public data sets (download them, then give NAME:PATH for TABLE):"]
    lines += [f"  {name}:PATH  {public_reader(name).files}" for name in public_names()]
    for name in public_names():
        lines.append(f"options of {name}:PATH (--read OPTION=VALUE, here with the defaults):")
        lines += [option_line(spec) for spec in option_specs(public_reader(name))]
    return lines


def _prefixes() -> str:
    return ", ".join(f"{name}:PATH" for name in public_names())
