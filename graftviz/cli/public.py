"""Public data sets as ``NAME:PATH`` in place of a table, for ``learn``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from graftviz.data.coding import TableOptions
from graftviz.data.sets.dataset import DataSet
from graftviz.data.sets.generated import is_generated
from graftviz.data.sets.public import PUBLIC
from graftviz.utils.errors import InputError
from graftviz.utils.options import OptionSpec, option_specs, parse_options
from graftviz.utils.wording import nearest

_FOR_TABLES = tuple(spec.name for spec in option_specs(TableOptions))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of public data sets; those of tables must be added before."""
    parser.add_argument(
        "--read",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="an option of a public data set, see below; may be repeated",
    )
    parser.set_defaults(table_defaults={flag: parser.get_default(flag) for flag in _FOR_TABLES})


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


def read(arguments: argparse.Namespace) -> DataSet | None:
    """Read the public data set that TABLE names, or return None if it names none.

    Raises
    ------
    InputError
        If its files cannot be read, or a flag is set that applies to other data only.
    """
    name, colon, path = arguments.table.partition(":")
    if not colon or name not in PUBLIC or Path(arguments.table).exists():
        is_other = not colon or is_generated(arguments.table) or Path(arguments.table).exists()
        hint = nearest(name, PUBLIC, shown=lambda near: f"{near}:{path}")
        if hint and not is_other:
            raise InputError(f"There is no file and no public data set {name!r}; {hint}")
        if arguments.read:
            prefixes = ", ".join(f"{name}:PATH" for name in PUBLIC)
            raise InputError(
                f"--read is for public data sets, {prefixes}, not for {arguments.table}."
            )
        return None
    if not path:
        raise InputError(f"{name}: needs a path; {name}:PATH takes {PUBLIC[name].files}.")
    for flag, default in arguments.table_defaults.items():
        if getattr(arguments, flag) != default:
            raise InputError(
                f"--{flag.replace('_', '-')} is for tables; {name} has its own options, set by "
                "--read, see --help."
            )
    reader = PUBLIC[name]
    texts = settings(arguments.read, "--read", f"{option_specs(reader)[0].name}=VALUE")
    return reader(**parse_options(reader, texts)).read(path)


def data_help(option_line: Callable[[OptionSpec], str]) -> list[str]:
    """Return the public data sets and their options as lines for the end of the help."""
    lines = ["public data sets (download them, then use NAME:PATH as TABLE):"]
    lines += [f"  {name}:PATH  {PUBLIC[name].files}" for name in PUBLIC]
    for name in PUBLIC:
        lines.append(f"options of {name}:PATH (--read OPTION=VALUE, shown with defaults):")
        lines += [option_line(spec) for spec in option_specs(PUBLIC[name])]
    return lines
