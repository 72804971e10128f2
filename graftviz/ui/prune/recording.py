"""From a plan of forced pruning to a run that the Prune page can be fed with."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from graftviz.errors import InputError
from graftviz.fitting.structure_fit import Rows, rows_of
from graftviz.layout import static_layout
from graftviz.learners.forced_pruning import HEURISTICS, ForcedPruning
from graftviz.player.prune_records import prune_head, prune_outcome, prune_record
from graftviz.runs import Result, Run
from graftviz.ui.material import Material
from graftviz.ui.recording import Plan
from graftviz.ui.scheduler import Turns
from graftviz.ui.session_run import SessionRun
from graftviz.ui.warm_up import rehearse_learner


class PruneRecorder:
    """Recorder of a :class:`Run` of forced pruning: the JSON records of docs/player.md.

    Parameters
    ----------
    run : Run
    token : str
    """

    def __init__(self, run: Run, token: str) -> None:
        self.run = run
        self.token = token

    @cached_property
    def _rows(self) -> Rows:
        return rows_of(self.run.table)

    def advance(self) -> bool:
        """Compute one more step; False when the run has ended."""
        return self.run.advance()

    def header(self) -> Mapping[str, Any]:
        """Return what is known after the first step."""
        return prune_head(self.run, self.token)

    def record(self, t: int) -> Mapping[str, Any]:
        """Return the record of step `t`."""
        return prune_record(self.run, t, self._rows)

    def outcome(self) -> Mapping[str, Any]:
        """Return how the run ended."""
        return prune_outcome(self.run)

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse: the page asks nothing."""
        raise InputError(f"The Prune page has no queries of kind {question.get('kind')!r}.")

    def result(self) -> Result:
        """Return what has been learned so far."""
        return self.run.result()


def rehearse_prune_page() -> None:
    """Do once, on a few rows, whatever the page asks for: what is compiled now is not later."""
    for heuristic in HEURISTICS:
        rehearse_learner(ForcedPruning(heuristic=heuristic))
    static_layout(3, np.array([[0, 1], [1, 2]]))


def start_pruning(plan: Plan, material: Material, turns: Turns) -> SessionRun:
    """Return a run of `plan`, without credit.

    Raises
    ------
    InputError
        When plan and material do not fit together.
    """
    run = Run(material.train, plan.learner, seed=plan.seed, truth=material.truth)
    token = secrets.token_hex(4)
    return SessionRun(PruneRecorder(run, token), token, turns)
