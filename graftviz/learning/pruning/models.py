"""Fitted models of a run of forced pruning, and the transfer of parameters between structures.

Automatic parameter tying: a pseudo-likelihood fit in which parameters share K values. It alternates
between steps on the loss plus β Σ_j (θ_j − μ_{a_j})² and exact 1-D k-means, which finds the best μ
and a for the current parameters; both lower the objective. At the end every parameter is set to the
value of its cluster, and the K values are fitted again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from graftviz.learning.history import Changes
from graftviz.learning.pruning.contributions import Contributions, contributions
from graftviz.learning.pruning.structure_fit import (
    Penalties,
    Solved,
    StructureFit,
    Tying,
    fit_free,
    fit_tied,
    tie,
)
from graftviz.learning.weights.deviations import Deviations, centred_weights
from graftviz.learning.weights.network import frozen_changes

_ROUNDS = 300  # alternations, at most; usually 10 to 100 are needed
_STEPS = 3  # Newton steps between two clusterings
_SAME_OBJECTIVE, _SAME_VALUE = 1e-9, 1e-3
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
    settled : bool
        Whether the alternation ended because neither parameters nor clusters moved any more.
    """

    values: np.ndarray
    tying: Tying
    solved: Solved
    penalised: tuple[float, ...]
    settled: bool = True

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
        has_moved = len(solved.objectives) > 1 or solved.violation > _ROUND_TOLERANCE
        settled = not has_moved and np.array_equal(before.assignment, tying.assignment)
        if settled:
            break
    solved = fit_tied(fit, tying, lam2, tolerance=tolerance)
    centres = tying.centres.copy()
    centres[tying.assignment] = solved.point.parameters
    return TiedFit(values, Tying(tying.assignment, centres), solved, tuple(objectives), settled)


OBJECTIVE = "pseudo-likelihood"

Pair = tuple[int, int]


class FittedModel(NamedTuple):
    """Fitted structure.

    Attributes
    ----------
    pairs : list of pairs
        In the order of the layout.
    fit : StructureFit
        Several fits may share the buffer of conditionals, so a method that reads conditionals
        evaluates the fit first.
    tied : TiedFit
    step : int
        Index of the step that produced it.
    """

    pairs: list[Pair]
    fit: StructureFit
    tied: TiedFit
    step: int

    @property
    def value(self) -> float:
        """Mean training pseudo-likelihood per row."""
        return -self.tied.loss

    @property
    def shared_values(self) -> np.ndarray:
        """The value of every parameter, edges in the order of their nodes."""
        parameters, starts = self.tied.solved.point.parameters, self.fit.layout.edge_starts
        order = sorted(range(len(self.pairs)), key=self.pairs.__getitem__)
        of_edges = [parameters[starts[e] : starts[e + 1]] for e in order]
        return np.concatenate([parameters[: starts[0]], *of_edges])

    def repeats(self, other: FittedModel) -> bool:
        """Whether another model of the same edges has the same values, up to rounding.

        Tied values depend on those that a fit starts from, so equal edges may have other values.
        """
        same = abs(self.objective - other.objective) <= _SAME_OBJECTIVE * (1.0 + self.objective)
        return same and np.allclose(self.shared_values, other.shared_values, atol=_SAME_VALUE)

    @property
    def objective(self) -> float:
        """Loss plus λ₂ Σ θ²."""
        return self.tied.solved.objective

    def contributions(self) -> Contributions:
        """Return the contribution of every edge; the fit is evaluated at this model."""
        parameters = self.tied.solved.point.parameters
        self.fit.evaluate(parameters)
        return contributions(self.fit, self.fit.layout.weights(parameters)[1])

    def carried(
        self,
        vector: np.ndarray,
        layout: Deviations,
        pairs: Sequence[Pair],
        entering: Mapping[Pair, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return a vector of this model's parameters, rearranged for another structure.

        Parameters of edges in both structures are copied, `entering` supplies those of other edges,
        and the rest is 0.
        """
        return _carried(vector, self.fit.layout, self.pairs, layout, pairs, entering or {})

    def changes(self, ids: Mapping[Pair, int]) -> Changes:
        """Return all centred weights; `ids` are the ids of the edges in the history."""
        point, layout = self.tied.solved.point, self.fit.layout
        weights = layout.weights(point.parameters)
        nodes, tables = centred_weights(layout.structure, *weights)
        return frozen_changes(
            nodes=np.arange(len(layout.references)),
            edges=np.array([ids[pair] for pair in self.pairs], dtype=np.int64),
            node_weights=nodes,
            node_beliefs=point.beliefs.copy(),
            edge_weights=tables,
        )


def no_changes() -> Changes:
    """Return empty changes."""
    groups, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
    return frozen_changes(groups, groups, numbers, numbers, numbers)


def _carried(
    vector: np.ndarray,
    old: Deviations,
    old_pairs: Sequence[Pair],
    new: Deviations,
    new_pairs: Sequence[Pair],
    entering: Mapping[Pair, np.ndarray],
) -> np.ndarray:
    """Return a vector of parameters of one structure, rearranged for another."""
    result = np.zeros(new.size, dtype=vector.dtype)
    nodes = int(new.node_starts[-1])
    result[:nodes] = vector[:nodes]
    positions = {pair: e for e, pair in enumerate(old_pairs)}
    for e, pair in enumerate(new_pairs):
        part = slice(int(new.edge_starts[e]), int(new.edge_starts[e + 1]))
        if pair in entering:
            result[part] = entering[pair]
        elif pair in positions:
            at = positions[pair]
            result[part] = vector[int(old.edge_starts[at]) : int(old.edge_starts[at + 1])]
    return result


def reordered(
    tied: TiedFit,
    old: Deviations,
    old_pairs: Sequence[Pair],
    new: Deviations,
    new_pairs: Sequence[Pair],
) -> TiedFit:
    """Return the same fit with the edges in another order."""

    def in_order(vector: np.ndarray) -> np.ndarray:
        return _carried(vector, old, old_pairs, new, new_pairs, {})

    point = tied.solved.point
    point = point._replace(parameters=in_order(point.parameters), slopes=in_order(point.slopes))
    return tied._replace(
        values=in_order(tied.values),
        tying=Tying(in_order(tied.tying.assignment), tied.tying.centres),
        solved=tied.solved._replace(point=point),
    )
