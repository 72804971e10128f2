"""Declared experiments, one file per paper."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cache

from graftviz.reports.reproduction.experiment import Experiment
from graftviz.reports.reproduction.papers import (
    best_choice,
    bounded,
    forced_pruning,
    localized,
    localized_cora,
    thesis_city,
    thesis_dynamics,
    thesis_grafting,
    thesis_systems,
)
from graftviz.utils.errors import InputError

PAPERS = [
    best_choice,
    bounded,
    forced_pruning,
    localized,
    localized_cora,
    thesis_city,
    thesis_dynamics,
    thesis_grafting,
    thesis_systems,
]


@cache
def experiments() -> Mapping[str, Experiment]:
    """Return all experiments by name."""
    found = {item.name: item for paper in PAPERS for item in paper.EXPERIMENTS}
    # Numbers in names are compared as numbers: figure 10 comes after figure 9.
    order = sorted(found, key=lambda name: re.sub(r"\d+", lambda digits: f"{digits[0]:0>3}", name))
    return {name: found[name] for name in order}


def experiment(name: str) -> Experiment:
    """Return the experiment of that name.

    Raises
    ------
    InputError
        If there is none; the message suggests a similar name.
    """
    if name not in experiments():
        near = difflib.get_close_matches(name, experiments(), n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(
            f"There is no experiment {name!r}; {hint}`reproduce list` lists all of them."
        )
    return experiments()[name]
