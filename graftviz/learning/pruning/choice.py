"""Choice of the edges that forced pruning exchanges, and the certificate of its result."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftviz.learning.pruning.contributions import (
    Contributions,
    Gains,
    best_gains,
    estimated_gains,
    gain_of,
)
from graftviz.learning.pruning.deletion import (
    Deletion,
    SubsetLosses,
    by_metropolis,
    by_rejection,
    least_contributing,
)
from graftviz.learning.pruning.models import OBJECTIVE, FittedModel
from graftviz.learning.trace import Certificate

_LEAST_GAINS = 32  # gains computed for the certificate, at least
_ROW_VISITS = 3e6  # further gains are computed until so many rows are visited
_CANDIDATES_PER_DRAW = 20  # pairs whose gain is computed, per pair drawn


def edges_out(
    options: Any,
    model: FittedModel,
    contributions: Contributions,
    removable: np.ndarray,
    count: int,
    generator: np.random.Generator,
) -> Deletion:
    """Choose the edges to remove.

    Parameters
    ----------
    options : ForcedPruning
    model : FittedModel
        Its fit must have been evaluated at this model last.
    contributions : Contributions
        Contributions of the model's edges.
    removable : int64 array
        Positions of the edges that may be removed.
    count : int
        k.
    generator : Generator
        Random generator.
    """
    own = Contributions(contributions.total[removable], contributions.sides[removable])
    if options.heuristic == "greedy" or count == 0:
        found = least_contributing(own, count)
        return found._replace(edges=removable[found.edges])
    fit = model.fit
    tables = fit.layout.weights(model.tied.solved.point.parameters)[1]
    losses = SubsetLosses(fit, tables, own, fit.node_losses / fit.rows.total, removable)
    draw = by_rejection if options.heuristic == "rejection" else by_metropolis
    found = draw(losses, own, count, options.most_tries(count), generator)
    return found._replace(edges=removable[found.edges])


def pairs_in(
    options: Any,
    model: FittedModel,
    lam2: float,
    outside: np.ndarray,
    count: int,
    generator: np.random.Generator,
) -> Gains:
    """Choose the pairs to activate, best first.

    Parameters
    ----------
    options : ForcedPruning
    model : FittedModel
        Its fit must have been evaluated at this model last.
    lam2 : float
    outside : int64 array, shape (k, 2)
        Candidate pairs.
    count : int
    generator : Generator
    """
    estimates = estimated_gains(model.fit, lam2)
    if not options.sample_additions or count == 0:
        return best_gains(model.fit, lam2, estimates, outside, count)
    found = best_gains(model.fit, lam2, estimates, outside, _CANDIDATES_PER_DRAW * count)
    weights = np.maximum(found.gains, 1e-300)
    # Exponential race: the k smallest of E / w are a draw without replacement ∝ w.
    arrivals = generator.exponential(size=len(weights)) / weights
    chosen = np.sort(np.argsort(arrivals, kind="stable")[:count])
    return Gains(
        found.edges[chosen], found.gains[chosen], tuple(found.parameters[e] for e in chosen)
    )


def certificate_of(
    model: FittedModel | None,
    outside: np.ndarray,
    removable: np.ndarray,
    possible: int,
    lam2: float,
) -> Certificate:
    """Compare the largest gain of a pair outside with the smallest contribution inside.

    On large data the computation stops early once a gain proves that the model is not optimal;
    otherwise all gains are computed.

    Parameters
    ----------
    model : FittedModel or None
        None if fewer than two variables vary.
    outside : int64 array, shape (k, 2)
        Inactive pairs of variables that vary; all other pairs have gain 0.
    removable : int64 array
        Positions of the model's edges that may be removed.
    possible : int
        Number of all pairs that may be edges.
    lam2 : float
    """
    inactive = possible - (0 if model is None else len(model.pairs))
    scored, worst = inactive - len(outside), 0.0 if inactive > len(outside) else None
    edge: tuple[int, int] | None = None
    if model is not None and len(outside) and len(removable) == 0:
        scored = inactive  # no exchange is possible
    elif model is not None and len(outside):
        least = float(model.contributions().total[removable].min())
        fit = model.fit
        estimates = estimated_gains(fit, lam2)[outside[:, 0], outside[:, 1]]
        remaining = max(_LEAST_GAINS, int(_ROW_VISITS / len(fit.rows.multiplicity)))
        worst = -np.inf
        for k in np.argsort(-estimates, kind="stable"):
            if remaining <= 0 and worst > 0.0:
                break
            i, j = (int(node) for node in outside[k])
            gain = gain_of(fit, lam2, i, j)[0] - least
            scored, remaining = scored + 1, remaining - 1
            if gain > worst:
                worst, edge = gain, (i, j)
    return Certificate(
        scored=scored,
        possible=inactive,
        worst_score=worst,
        worst_edge=edge,
        threshold=0.0,
        score="gain of an exchange",
        objective=OBJECTIVE,
        symbol="gain",
    )
