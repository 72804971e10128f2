"""All experiments that can be reproduced, by name."""

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
        When there is none; the message names the nearest.
    """
    known = {item.name: item for item in EXPERIMENTS}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(
            f"There is no experiment {name!r}; {hint}`reproduce list` names all of them."
        )
    return known[name]
