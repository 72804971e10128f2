"""Automatic parameter tying: a pseudo-likelihood fit in which parameters share K values.

It alternates between steps on the loss plus β Σ_j (θ_j − μ_{a_j})² and exact 1-D k-means, which
finds the best μ and a for the current parameters; both lower the objective. At the end every
parameter is set to the value of its cluster, and the K values are fitted again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftviz.learning.pruning.structure_fit import (
    Penalties,
    Solved,
    StructureFit,
    fit_free,
    fit_tied,
)
from graftviz.learning.pruning.tying import Tying, tie

_ROUNDS = 12  # alternations
_STEPS = 3  # Newton steps between two clusterings
_ROUND_TOLERANCE = 1e-4  # violation allowed before values are tied


class TiedFit(NamedTuple):
    """Fitted model whose parameters share K values.

    Attributes
    ----------
    values : float64 array, shape (p,)
        Parameters before tying.
    tying : Tying
        Assignment, and the K values as fitted at the end.
    solved : Solved
        Fit of the K values.
    penalised : tuple of float
        Penalised objective after every step and every clustering, non-increasing.
    """

    values: np.ndarray
    tying: Tying
    solved: Solved
    penalised: tuple[float, ...]

    @property
    def loss(self) -> float:
        """Mean negative log pseudo-likelihood per row of the tied model."""
        return self.solved.point.loss


def fit_with_tying(
    fit: StructureFit,
    start: np.ndarray,
    *,
    clusters: int,
    beta: float,
    lam2: float,
    tolerance: float = 1e-8,
) -> TiedFit:
    """Fit a structure with automatic parameter tying.

    Parameters
    ----------
    fit : StructureFit
    start : float64 array, shape (p,)
        Initial parameters, before tying.
    clusters : int
        K; if it is p or more, the parameters are not tied.
    beta : float
        β, weight per row of the squared distance of parameters to the value of their cluster.
    lam2 : float
        λ₂, weight of Σ θ_j².
    tolerance : float
        Violation allowed at the end.
    """
    values = start
    objectives: list[float] = []
    if clusters >= len(values):
        free = fit_free(fit, values, Penalties(lam2), tolerance=tolerance)
        tying = tie(free.point.parameters, clusters)
        return TiedFit(free.point.parameters, tying, free, free.objectives)
    tying = tie(values, clusters)
    for _ in range(_ROUNDS):
        penalties = Penalties(lam2, beta, tying.values)
        solved = fit_free(fit, values, penalties, tolerance=_ROUND_TOLERANCE, max_steps=_STEPS)
        objectives += solved.objectives
        values = solved.point.parameters
        before, tying = tying, tie(values, clusters)
        objectives.append(solved.point.loss + Penalties(lam2, beta, tying.values).price(values))
        settled = np.array_equal(before.assignment, tying.assignment)
        if settled and solved.violation <= _ROUND_TOLERANCE:
            break
    solved = fit_tied(fit, tying, lam2, tolerance=tolerance)
    centres = tying.centres.copy()
    centres[tying.assignment] = solved.point.parameters
    return TiedFit(values, Tying(tying.assignment, centres), solved, tuple(objectives))
