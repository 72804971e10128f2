"""Catalogue of all experiments by name."""

from __future__ import annotations

import difflib

from graftviz.errors import InputError
from graftviz.experiments.reproduction import (
    best_choice,
    bounded,
    localized,
    pruning,
    thesis,
    thesis_dynamics,
)
from graftviz.experiments.reproduction.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *best_choice.EXPERIMENTS,
    *pruning.EXPERIMENTS,
    *thesis_dynamics.EXPERIMENTS,
    *thesis.EXPERIMENTS,
    *localized.EXPERIMENTS,
    *bounded.EXPERIMENTS,
)


def experiment(name: str) -> Experiment:
    """Return the experiment of that name.

    Raises
    ------
    InputError
        If there is none; the message suggests a similar name.
    """
    by_name = {item.name: item for item in EXPERIMENTS}
    if name not in by_name:
        near = difflib.get_close_matches(name, by_name, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(
            f"There is no experiment {name!r}; {hint}`reproduce list` lists all of them."
        )
    return by_name[name]
