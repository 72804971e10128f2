"""Page of the command line, from the parsers of the commands."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

from graftviz.cli import COMMANDS, module_of

_HEAD = """# Command line

`graftviz COMMAND`, or `python -m graftviz COMMAND`. [The guide](../command_line.md) has examples,
files and exit codes. `--help` prints the arguments as they are listed here; what `learn` and
`dynamics` print below them, the options of learners, is on [the pages of the
methods](../methods/README.md). Written by `python -m docs.making` from the parsers.
"""
_MAIN = ("positional arguments", "options")  # argparse's own groups


def command_line_page() -> str:
    """Return ``docs/reference/command_line.md``."""
    return "\n".join([_HEAD, *(_section(name, summary) for name, summary in COMMANDS.items())])


def _section(name: str, summary: str) -> str:
    """Return the heading, usage and arguments of a command."""
    parser = argparse.ArgumentParser(prog=f"graftviz {name}", add_help=False)
    importlib.import_module(module_of(name)).add_arguments(parser)
    lines = [f"## {name}", "", f"{summary}.", "", "```sh", _usage(parser), "```", ""]
    groups = parser._action_groups
    main = [row for group in groups if group.title in _MAIN for row in _rows(group)]
    others = [(group.title, list(_rows(group))) for group in groups if group.title not in _MAIN]
    for title, rows in [("", main), *others]:
        heading = [f"**{title}**", ""] if title else []
        lines += [*heading, "| argument | what it does |", "| --- | --- |", *rows, ""]
    return "\n".join(lines)


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return the command with what it requires."""
    actions = sorted(parser._actions, key=lambda action: bool(action.option_strings))
    words = [_written(action) for action in actions if action.required]
    rest = [] if all(action.required for action in actions) else ["[options]"]
    return " ".join([parser.prog, *words, *rest])


def _rows(group: argparse._ArgumentGroup) -> Iterator[str]:
    """Yield the row of every argument."""
    formatter = argparse.HelpFormatter("graftviz")
    for action in group._group_actions:
        if action.help and action.help != argparse.SUPPRESS:
            choices = f"{', '.join(map(str, action.choices))}; " if action.choices else ""
            text = " ".join(f"{choices}{formatter._expand_help(action)}".split())
            yield f"| `{_written(action)}` | {text} |"


def _written(action: argparse.Action) -> str:
    """Return an argument as it is written on the command line."""
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        return f"{value} …" if action.nargs == "+" else value
    flag = action.option_strings[-1]
    if action.nargs == 0:
        return flag
    return f"{flag} {value} …" if action.nargs == "+" else f"{flag} {value}"
