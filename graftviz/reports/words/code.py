"""Commands and Python code that repeat the run of a page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from graftviz.data.coding import TableOptions
from graftviz.data.sets.generated import GENERATED, generated
from graftviz.data.sets.public import PUBLIC
from graftviz.dynamics.base import DynamicsLearner
from graftviz.learning.base import Learner
from graftviz.learning.run import Branch
from graftviz.utils.options import format_value, option_specs

# --- command line ---------------------------------------------------------------------------------


def learn_command(
    data: str,
    learner: Learner,
    seed: int,
    reading: Mapping[str, Any],
    file: str = "TABLE.csv",
    *,
    rows: int | None = None,
    test_fraction: float = 0.0,
) -> str:
    """Return the command that performs the run of a page.

    Parameters
    ----------
    data : str
        Key of a built-in data set, name of a public one, or ``"upload"``.
    learner : Learner
    seed : int
    reading : mapping
        How an upload is read, or data are generated, where that differs from the defaults.
    file : str
        Placeholder for an uploaded file.
    rows : int, optional
        Number of the training rows that are used; by default all.
    test_fraction : float
        Share of the rows that is held out.
    """
    if data == GENERATED:
        data, reading = generated(reading).key, {}
    is_public = data in PUBLIC
    table = {"upload": file}.get(data, f"{data}:PATH" if is_public else data)
    words = ["python", "-m", "graftviz", "learn", table]
    words += ["--out", "results", "--learner", learner.name]
    words += _settings(learner)
    if seed:
        words += ["--seed", str(seed)]
    if test_fraction:
        words += ["--test-fraction", format_value(test_fraction)]
    if rows is not None:
        words += ["--rows", str(rows)]
    for name, value in reading.items():
        text = format_value(value)
        flag = f"--{name.replace('_', '-')}"
        words += ["--read", f"{name}={text}"] if is_public else [flag, text]
    return shlex.join(words)


def dynamics_command(
    file: str, learner: DynamicsLearner, seed: int, test_fraction: float, parents: str = ""
) -> str:
    """Return the command that learns a system from a file of series.

    Parameters
    ----------
    file : str
    learner : DynamicsLearner
    seed : int
    test_fraction : float
        Share of the rows that is held out.
    parents : str
        File of the parents, for a learner that needs them.
    """
    words = ["python", "-m", "graftviz", "dynamics", file, "--out", "results"]
    words += ["--learner", learner.name, *_settings(learner)]
    words += ["--seed", str(seed)] if seed else []
    words += ["--parents", parents] if parents else []
    return shlex.join([*words, "--test-fraction", format_value(test_fraction)])


def model_command(command: str, file: str, **flags: object) -> str:
    """Return a command on a model file; flags whose value is None are left out."""
    words = ["python", "-m", "graftviz", command, file]
    for name, value in flags.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", format_value(value)]
    return shlex.join(words)


def _settings(learner: Learner | DynamicsLearner) -> list[str]:
    """Return the flags of the options that are not the defaults."""
    words = []
    for spec in option_specs(learner):
        value = getattr(learner, spec.name)
        if value != spec.default:
            words += ["--set", f"{spec.name}={format_value(value)}"]
    return words


# --- Python ---------------------------------------------------------------------------------------

MODEL_FILE, SERIES_FILE, TABLE_FILE = "graph.json", "series.csv", "TABLE.csv"


def learn_code(
    data: str,
    learner: Learner,
    seed: int,
    reading: Mapping[str, Any],
    file: str = TABLE_FILE,
    *,
    rows: int | None = None,
    test_fraction: float = 0.0,
    branch: Branch | None = None,
) -> str:
    """Return the code that performs the run of a page and saves its result.

    Parameters
    ----------
    data, learner, seed, reading, file, rows, test_fraction
        See :func:`learn_command`.
    branch : Branch, optional
        Change of the learner during the run.
    """
    lines = ["import graftviz as gv", "", f"table = {_table_code(data, reading, file)}"]
    test = ""
    if test_fraction:
        split = _call("table.split", test_fraction=test_fraction, seed=seed)
        lines, test = [*lines, f"table, test = {split}"], ", test=test"
    if rows is not None:
        lines.append(f"table = table.sample({rows}, {seed})")
    text = learner_code(learner)
    if branch is None:
        lines.append(f"result = gv.learn(table, {text}, seed={seed}{test})")
    else:
        change = f"({branch.at}, {learner_code(branch.learner)})"
        lines += [
            f"branch = {change}",
            f"run = gv.Run(table, {text}, seed={seed}{test}, branch=branch)",
            "while run.advance():",
            "    pass",
            "result = run.result()",
        ]
    return "\n".join([*lines, "print(result)", 'result.save("results")'])


def learner_code(learner: Learner | DynamicsLearner, module: str = "gv") -> str:
    """Return the expression that creates a learner, with the options that are not its defaults."""
    chosen = {
        spec.name: getattr(learner, spec.name)
        for spec in option_specs(learner)
        if getattr(learner, spec.name) != spec.default
    }
    return _call(f"{module}.{type(learner).__name__}", **chosen)


def model_code(lines: Sequence[str]) -> str:
    """Return the code that reads the downloaded model and runs `lines`."""
    return "\n".join(
        ["import graftviz as gv", "", f'model = gv.read_model("{MODEL_FILE}")', *lines]
    )


def dynamics_code(
    learner: DynamicsLearner, seed: int, test_fraction: float, parents: str = ""
) -> str:
    """Return the code that learns a system from the downloaded series.

    Parameters
    ----------
    learner, seed, test_fraction, parents
        See :func:`dynamics_command`.
    """
    text = learner_code(learner, "dynamics")
    if parents:
        found = f"dynamics.read_parents({parents!r}, series.names)"
        text = f"dynamics.{type(learner).__name__}(adjacency={found}, centre={learner.centre})"
    return "\n".join(
        [
            "from graftviz import dynamics",
            "",
            f'series = dynamics.read_series("{SERIES_FILE}")',
            f"train, test = series.split({test_fraction!r})",
            f"learner = {text}",
            f"result = dynamics.learn(train, learner, seed={seed}, test=test)",
            "print(result.pred_error_test, result.system.matrix)",
        ]
    )


def _table_code(data: str, reading: Mapping[str, Any], file: str) -> str:
    if data == GENERATED:
        data, reading = generated(reading).key, {}
    if data in PUBLIC:
        return f"{_call('gv.read_public', data, 'PATH', **reading)}.table"
    if data != "upload":
        return f"gv.load_dataset({data!r}).table"
    usual = TableOptions().arguments()
    arguments = {**usual, **TableOptions(**reading).arguments()}
    chosen = {name: value for name, value in arguments.items() if value != usual[name]}
    return _call("gv.read_table", file, **chosen)


def _call(function: str, *positional: Any, **named: Any) -> str:
    arguments = [repr(value) for value in positional]
    arguments += [f"{name}={value!r}" for name, value in named.items()]
    return f"{function}({', '.join(arguments)})"
