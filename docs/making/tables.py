"""Tables of options, generated from the declarations of the options.

A page marks the place of a table by ``<!-- options: KIND NAME … -->`` and ``<!-- end -->``:

- ``learner chow-liu`` and ``dynamics dense``: the fields of the learner's dataclass;
- ``infer tolerance max_sweeps``: these arguments of :func:`graftviz.infer`;
- ``local``: the arguments of :func:`graftviz.local_marginal`.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from graftviz.cli import infer as infer_command, local as local_command
from graftviz.dynamics.learners import dynamics_learner
from graftviz.inference.local.marginal import local_marginal
from graftviz.inference.methods import infer
from graftviz.learning.registry import learner_class
from graftviz.utils.options import OptionSpec, format_value, option_specs

_MARKED = re.compile(r"(<!-- options: ([^\n]+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_OBJECTS = ("model", "method", "query")  # not options


def with_tables(page: str) -> str:
    """Return the text of a page with every marked table updated."""
    return _MARKED.sub(lambda found: f"{found[1]}{table_of(found[2])}{found[4]}", page)


def table_of(mark: str) -> str:
    """Return the table of a mark, as Markdown."""
    kind, *names = mark.split()
    if kind in ("learner", "dynamics"):
        cls: Any = learner_class(names[0]) if kind == "learner" else dynamics_learner(names[0])
        return _table(("option", "default", "values", "what it does"), map(_row, option_specs(cls)))
    commands: dict[str, tuple[ModuleType, Callable[..., Any]]] = {
        "infer": (infer_command, infer),
        "local": (local_command, local_marginal),
    }
    command, function = commands[kind]
    rows = _argument_rows(function, command, names)
    return _table(("argument", "default", "flag", "what it does"), rows)


def _table(head: tuple[str, ...], rows: Any) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _row(spec: OptionSpec) -> tuple[str, str, str, str]:
    automatic = f" Automatic: {spec.none_means}." if spec.none_means else ""
    default = "auto" if spec.default is None else f"`{format_value(spec.default)}`"
    return f"`{spec.name}`", default, _values(spec), _cell(f"{spec.help}.{automatic}")


def _values(spec: OptionSpec) -> str:
    """Write what an option may be."""
    if spec.choices:
        return ", ".join(f"`{choice}`" for choice in spec.choices)
    if spec.kind == "bool":
        return "`true`, `false`"
    if spec.kind == "text":
        return "text"
    bounds = [
        ("≥", spec.minimum),
        (">", spec.above),
        ("≤", spec.maximum),
    ]
    number = "whole number" if spec.kind == "int" else "number"
    limits = [f"{sign} {limit:,.12g}" for sign, limit in bounds if limit is not None]
    return f"{number} {', '.join(limits)}".strip()


def _cell(text: str) -> str:
    """Make a text fit for one cell of a table."""
    return text.replace("``", "`").replace("|", r"\|").replace("..", ".")


def _argument_rows(
    function: Callable[..., Any], command: ModuleType, names: list[str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the row of each argument (all if `names` is empty), from signature and docstring."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    flags = {action.dest: action.option_strings for action in parser._actions}
    descriptions = _descriptions(inspect.getdoc(function) or "")
    for name, parameter in inspect.signature(function).parameters.items():
        if name in _OBJECTS or (names and name not in names):
            continue
        default = "none" if parameter.default is None else f"`{parameter.default}`"
        flag = f"`{flags[name][0]}`" if flags.get(name) else "Python only"
        yield f"`{name}`", default, flag, _cell(descriptions[name])


def _descriptions(docstring: str) -> dict[str, str]:
    """Return the description of each argument in the section "Parameters" of a docstring."""
    section = docstring.split("Parameters\n----------\n")[1].split("\n\n")[0]
    descriptions: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            choices = kind.replace('"', "`").strip("{}")
            descriptions[name] = f"{choices}:" if kind.startswith("{") else ""
        else:
            descriptions[name] = f"{descriptions[name]} {line.strip()}".strip()
    return descriptions
