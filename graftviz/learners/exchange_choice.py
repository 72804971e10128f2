"""What forced pruning chooses: edges out, pairs in, and whether one more exchange would gain."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftviz.learners.exchange_models import OBJECTIVE, FittedModel
from graftviz.search.contributions import Contributions, Gains, best_gains, estimated_gains, gain_of
from graftviz.search.deletion import (
    Deletion,
    SubsetLosses,
    by_metropolis,
    by_rejection,
    least_contributing,
)
from graftviz.trace import Certificate

_AT_LEAST = 32  # gains computed for the certificate
_ROW_VISITS = 3e6  # or as many as look at so many rows
_SAMPLED_FROM = 20  # times as many pairs as are drawn have their gain computed


def edges_out(
    options: Any,
    model: FittedModel,
    known: Contributions,
    count: int,
    generator: np.random.Generator,
) -> Deletion:
    """Choose the edges that leave.

    Parameters
    ----------
    options : ForcedPruning
    model : FittedModel
        At which its fit was evaluated last.
    known : Contributions
        Of its edges.
    count : int
        k.
    generator : Generator
        For the random choices.
    """
    if options.heuristic == "greedy" or count == 0:
        return least_contributing(known, count)
    fit = model.fit
    tables = fit.layout.weights(model.tied.solved.point.parameters)[1]
    losses = SubsetLosses(fit, tables, known, fit.node_losses / fit.rows.total)
    draw = by_rejection if options.heuristic == "rejection" else by_metropolis
    return draw(losses, known, count, options.most_tries(count), generator)


def pairs_in(
    options: Any,
    model: FittedModel,
    lam2: float,
    outside: np.ndarray,
    count: int,
    generator: np.random.Generator,
) -> Gains:
    """Choose the pairs that enter, best first.

    Parameters
    ----------
    options : ForcedPruning
    model : FittedModel
        At which its fit was evaluated last.
    lam2 : float
    outside : int64 array, shape (k, 2)
        The pairs there are to choose from.
    count : int
    generator : Generator
    """
    estimates = estimated_gains(model.fit, lam2)
    if not options.sample_additions or count == 0:
        return best_gains(model.fit, lam2, estimates, outside, count)
    found = best_gains(model.fit, lam2, estimates, outside, _SAMPLED_FROM * count)
    weights = np.maximum(found.gains, 1e-300)
    # Exponential race: the k smallest of E / w are a draw without replacement ∝ w.
    arrivals = generator.exponential(size=len(weights)) / weights
    chosen = np.sort(np.argsort(arrivals, kind="stable")[:count])
    return Gains(
        found.edges[chosen], found.gains[chosen], tuple(found.parameters[e] for e in chosen)
    )


def certificate_of(
    model: FittedModel | None, outside: np.ndarray, possible: int, lam2: float
) -> Certificate:
    """Compare the largest gain of a pair outside with the smallest contribution inside.

    Of large data not all gains are computed where one is found that proves that the model is not
    optimal; where none is, all are.

    Parameters
    ----------
    model : FittedModel or None
        None where no pair can say anything.
    outside : int64 array, shape (k, 2)
        Pairs of variables that vary and are no edges; all others gain nothing.
    possible : int
        How many pairs there are.
    lam2 : float
    """
    inactive = possible - (0 if model is None else len(model.pairs))
    scored, worst = inactive - len(outside), 0.0 if inactive > len(outside) else None
    edge: tuple[int, int] | None = None
    if model is not None and len(outside):
        least = float(model.contributions().total.min())
        fit = model.fit
        guesses = estimated_gains(fit, lam2)[outside[:, 0], outside[:, 1]]
        few = max(_AT_LEAST, int(_ROW_VISITS / len(fit.rows.multiplicity)))
        worst = -np.inf
        for k in np.argsort(-guesses, kind="stable"):
            if few <= 0 and worst > 0.0:
                break
            i, j = (int(node) for node in outside[k])
            own = gain_of(fit, lam2, i, j)[0] - least
            scored, few = scored + 1, few - 1
            if own > worst:
                worst, edge = own, (i, j)
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
