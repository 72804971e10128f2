"""Options of all commands, and the files of a few small runs."""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import io
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import graftviz as gv
from graftviz.__main__ import main
from graftviz.dynamics.learners import LEARNERS
from graftviz.learning.registry import learner_class, learner_names
from graftviz.model.readwrite.reading import GRAPHML, NODE_LINK
from graftviz.reports.files.tables import result_model
from graftviz.utils.options import option_specs
from tests.golden.commands import run
from tests.golden.files import folder_values, parsed_graphml, parsed_node_link

_GENERATED = {
    "scale-free": ("--graph", "scale-free", "--nodes", "12", "--states", "3"),
    "grid": ("--graph", "grid", "--shape", "3x4", "--states", "2"),
    "random": ("--graph", "random", "--nodes", "10", "--edges", "14", "--states", "3"),
    "karate": ("--graph", "karate", "--states", "2", "--edge-sigma", "0.5"),
    "les-miserables": ("--graph", "les-miserables", "--states", "2", "--rows", "40"),
}
_METHODS = ("exact", "bp", "trbp", "mean-field")
_LOCAL = {
    "default": ("--query", "5"),
    "mean-field": ("--query", "x3", "--cut", "mean-field", "--max-size", "5"),
    "random": ("--query", "0", "--expansion", "random", "--seed", "3", "--tolerance", "0.2"),
}
_OPTION_FIELDS = (
    *("kind", "default", "minimum", "maximum", "above", "choices", "scale", "optional"),
    "advanced",
)
_REFUSED = (
    (),
    ("unknown",),
    ("learn", "survey"),
    ("learn", "unknown", "--out", "out"),
    ("learn", "survey", "--out", "out", "--learner", "unknown"),
    ("learn", "survey", "--out", "out", "--set", "alpha=2"),
    ("learn", "survey", "--out", "out", "--max-edges", "0"),
    ("generate", "mrf", "--out", "out", "--graph", "grid", "--nodes", "10"),
    ("infer", "unknown.uai", "--out", "out"),
    ("local", "unknown.uai", "--query", "1"),
    ("dynamics", "unknown.csv", "--out", "out"),
    ("reproduce", "unknown", "--out", "out"),
)


def recordings() -> dict[str, Callable[[], Any]]:
    """Return the functions that compute options and files of commands, by name."""
    found: dict[str, Callable[[], Any]] = {
        "commands/options": _command_options,
        "commands/learner-options": _learner_options,
        "commands/refused": _exit_codes,
        "commands/learn": _learned,
        "commands/learn-files": _learned_files,
        "commands/selection": _selected,
        "commands/graphs": _graphs,
        "commands/experiments": _experiments,
    }
    for name, arguments in _GENERATED.items():
        found[f"commands/generate.{name}"] = functools.partial(_generated, *arguments)
    for method in _METHODS:
        found[f"commands/infer.{method}"] = functools.partial(_inferred, method)
    for name, arguments in _LOCAL.items():
        found[f"commands/local.{name}"] = functools.partial(_local, *arguments)
    return found


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


# ------------------------------------------------------------------------------------- options


def _command_options() -> dict[str, Any]:
    """Return the options of every command by flag; positional arguments by number."""
    _, parser = _parser_of("learn")
    return {command: _options_of(_parser_of(command)[0]) for command in parser}


def _parser_of(command: str) -> tuple[argparse.ArgumentParser, tuple[str, ...]]:
    """Return the parser of a command, and the names of all commands."""
    parsers: list[argparse.ArgumentParser] = []

    def stopped(parser: argparse.ArgumentParser, *_: Any) -> None:
        parsers.append(parser)
        raise SystemExit

    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", stopped),
        contextlib.suppress(SystemExit),
    ):
        main([command])
    (parser,) = parsers
    (commands,) = (
        action.choices
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return commands[command], tuple(commands)


def _options_of(parser: argparse.ArgumentParser) -> dict[str, Any]:
    actions = [action for action in parser._actions if action.default != argparse.SUPPRESS]
    positional = [action for action in actions if not action.option_strings]
    named = {f"argument {k}": action for k, action in enumerate(positional, start=1)}
    named |= {" ".join(a.option_strings): a for a in actions if a.option_strings}
    return {name: _option_record(action) for name, action in named.items()}


def _option_record(action: argparse.Action) -> dict[str, Any]:
    default = action.default
    return {
        "action": type(action).__name__.strip("_"),
        "default": str(default) if isinstance(default, Path) else default,
        "choices": None if action.choices is None else list(action.choices),
        "nargs": action.nargs,
        "required": action.required,
    }


def _learner_options() -> dict[str, Any]:
    """Return names, defaults and bounds of the options of all learners."""
    classes = {name: learner_class(name) for name in learner_names()}
    return {
        name: {
            spec.name: {field: getattr(spec, field) for field in _OPTION_FIELDS}
            for spec in option_specs(cls)
        }
        for name, cls in {**classes, **LEARNERS}.items()
    }


def _exit_codes() -> dict[str, int]:
    """Return the exit code of each command line that is refused."""
    codes = {}
    with _folder() as folder, contextlib.chdir(folder):
        for words in _REFUSED:
            errors = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
                try:
                    code = main(words)
                except SystemExit as stop:
                    code = stop.code
            codes[" ".join(words)] = code
            assert len(errors.getvalue().splitlines()) == 1
    return codes


# --------------------------------------------------------------------------------------- runs


def _generated(*arguments: str) -> dict[str, Any]:
    """Return the files of ``graftviz generate``."""
    with _folder() as folder:
        run("generate", "mrf", "--rows", 60, "--seed", 1, *arguments, "--out", folder)
        return folder_values(folder)


def _learned() -> dict[str, Any]:
    """Return the files of ``graftviz learn``, with a truth and held-out rows."""
    with _folder() as folder:
        table, out = folder / "table", folder / "out"
        run("generate", "mrf", *_GENERATED["scale-free"], "--rows", 800, "--out", table)
        held_out = ("--test-fraction", "0.25", "--truth", table / "truth_edges.csv")
        options = ("--set", "alpha=0.5", "--set", "lam=0.004", "--set", "preset=paper")
        run("learn", table / "table.csv", *held_out, *options, "--seed", 3, "--out", out)
        return folder_values(out)


def _learned_files() -> dict[str, Any]:
    """Return what is learned from files with missing and continuous values, in several ways."""
    draw = random.Random(5)
    rows = [[draw.choice("abc"), draw.choice(["x", "y"]), draw.gauss(0, 1)] for _ in range(120)]
    for row in rows:
        row[1] = row[1] if row[0] == "a" else "x"
        row.append(f"{row[2] + draw.gauss(0, 0.3):.3f}")
    for row in rows[::10]:
        row[0] = ""
    found = {}
    with _folder() as folder:
        table = folder / "mixed.csv"
        with table.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([["first", "second", "third", "fourth"], *rows])
        binned = ("--continuous", "bin", "--missing")
        for name, words in {
            "dropped": (table, *binned, "drop", "--bins", "3"),
            "a state": (table, *binned, "state", "--bins", "4"),
            "tested": (table, *binned, "drop", "--test", table),
        }.items():
            out = folder / name
            run("learn", *words, "--out", out)
            values = folder_values(out)
            kept = ("result.json", "trace.csv", "edges.csv", "model.names.json")
            found[name] = {file: values[file] for file in kept}
    return found


def _selected() -> dict[str, Any]:
    """Return the files of a path over λ and of subsamples."""
    chosen = ("--choose-lam", "ebic", "--lam-values", "4", "--stability", "4", "--seed", "1")
    with _folder() as folder:
        run("learn", "survey", "--set", "preset=paper", *chosen, "--out", folder)
        values = folder_values(folder)
        files = ("result.json", "edges.csv", "path.csv", "stability.csv")
        return {"files": list(values), **{name: values[name] for name in files}}


def _inferred(method: str) -> dict[str, Any]:
    """Return marginals and log Z of a small model, without evidence and with it."""
    with _folder() as folder:
        run("generate", "mrf", *_GENERATED["grid"], "--rows", 10, "--seed", 4, "--out", folder)
        observed = folder / "observed.evid"
        observed.write_text("2 0 1 7 0\n", encoding="utf-8")
        found = {}
        for name, more in {"free": (), "observed": ("--evidence", observed)}.items():
            out = folder / name
            run("infer", folder / "model.uai", "--method", method, *more, "--out", out)
            found[name] = folder_values(out)
        return found


def _local(*arguments: str) -> Any:
    """Return the output of ``graftviz local``."""
    with _folder() as folder:
        generated = _GENERATED["scale-free"]
        run("generate", "mrf", *generated, "--rows", 10, "--seed", 2, "--out", folder)
        return json.loads(run("local", folder / "model.uai", *arguments))


def _graphs() -> dict[str, Any]:
    """Return the exported graphs of a learned model, as networkx reads them."""
    table = gv.load_dataset("survey").table
    result = gv.learn(table, gv.BestChoice(preset="paper"), seed=0)
    return {
        "graphml": parsed_graphml(result_model(GRAPHML, result).decode()),
        "node-link": parsed_node_link(result_model(NODE_LINK, result)),
    }


def _experiments() -> list[str]:
    """Return the names that ``graftviz reproduce list`` prints."""
    return [line for line in run("reproduce", "list").splitlines() if " " not in line]
