"""Commands that reproduce the run of a page on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from graftviz.data.sets.generated import GENERATED, generated
from graftviz.data.sets.public import PUBLIC
from graftviz.dynamics.base import DynamicsLearner
from graftviz.learning.base import Learner
from graftviz.utils.options import format_value, option_specs


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
