"""Population annealing: initial states of Gibbs chains that are right even where mixing is slow.

At a hub with many neighbours a chain freezes: the hub and its neighbours hold each other in place.
Chains that start at random then keep the hub states of their first sweeps, whose frequencies are
not those of the model. So the chains are annealed as a population (Hukushima and Iba 2003; Machta
2010): they sample from p_β(x) ∝ exp(β · score(x)) with β increasing from 0 to 1, and at each
increase the population is resampled, each chain with weight exp(Δβ · score(x)). Every hub state
gets its share while the chains still mix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graftviz.data.synthetic.sweep import SweepModel, advance
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import kernel

SWEEPS_PER_STEP = 5
_EFFECTIVE_SHARE = 0.85  # smallest effective share of the population after an increase of β
_FEWEST_SWEEPS = 100
_MOST_SWEEPS = 1000


class Population(NamedTuple):
    """States, random generators and ancestry of a population of chains.

    Attributes
    ----------
    states : uint8 array, shape (n, chains)
    generators : uint32 array, shape (4, chains)
        Resampling leaves them in place, so that copies of one chain diverge.
    ancestors : int64 array, shape (chains,)
        Index of the initial chain that each chain descends from.
    """

    states: np.ndarray
    generators: np.ndarray
    ancestors: np.ndarray


def new_population(model: PairwiseModel, chains: int, rng: np.random.Generator) -> Population:
    """Return `chains` chains at uniformly random states, the distribution at β = 0."""
    generators = rng.integers(0, 2**32, size=(4, chains), dtype=np.uint32)
    shape = (model.n_variables, chains)
    states = rng.integers(0, model.cardinalities[:, None], size=shape).astype(np.uint8)
    return Population(states, generators, np.arange(chains))


def usual_sweeps(model: PairwiseModel, start: Population) -> int:
    """Return the default number of annealing sweeps for a model, between 100 and 1,000.

    For normally distributed scores an increase Δβ leaves the share exp(−(Δβ · σ)²) of the
    population effective; σ, their standard deviation, is largest at β = 0, where it is measured.
    """
    spread = float(scores(model, start.states).std())
    steps = np.ceil(spread / np.sqrt(-np.log(_EFFECTIVE_SHARE)))
    return int(np.clip(SWEEPS_PER_STEP * steps, _FEWEST_SWEEPS, _MOST_SWEEPS))


def anneal(
    model: PairwiseModel,
    conditionals: SweepModel,
    start: Population,
    sweeps: int,
    rng: np.random.Generator,
    done: Callable[[int], None] | None = None,
) -> Population:
    """Anneal the population from β = 0 to 1 in `sweeps` sweeps.

    Each increase of β leaves 85 % of the population effective, less only if the sweeps would not
    suffice otherwise; remaining sweeps are made at β = 1. With fewer than five sweeps there is no
    annealing.

    Returns
    -------
    Population
        New arrays; `start` is not changed.
    """
    states, generators, ancestors = (array.copy() for array in start)
    beta = 0.0
    left = sweeps
    while beta < 1 and left >= SWEEPS_PER_STEP:
        score = scores(model, states)
        rise = max(_rise(score, 1 - beta), (1 - beta) / (left // SWEEPS_PER_STEP))
        chosen = resample(np.exp(rise * (score - score.max())), rng.random())
        states = np.ascontiguousarray(states[:, chosen])
        ancestors = ancestors[chosen]
        # The sum of the increases must reach 1 exactly, despite rounding.
        beta = 1.0 if rise > (1 - beta) * (1 - 1e-9) else beta + rise
        advance(conditionals.tempered(beta), states, generators, SWEEPS_PER_STEP, done)
        left -= SWEEPS_PER_STEP
    advance(conditionals, states, generators, left, done)
    return Population(states, generators, ancestors)


def resample(weights: np.ndarray, offset: float) -> np.ndarray:
    """Draw as many indices as there are weights, index k about weights[k] / mean times.

    Systematic resampling: evenly spaced points, all shifted by `offset` in [0, 1), along the
    cumulative weights. Every index is drawn its expected number of times, rounded up or down.
    """
    cumulative = np.cumsum(weights)
    points = (np.arange(len(weights)) + offset) * (cumulative[-1] / len(weights))
    # Rounding may move the last point to the end of the interval.
    return np.minimum(np.searchsorted(cumulative, points, side="right"), len(weights) - 1)


def scores(model: PairwiseModel, states: np.ndarray) -> np.ndarray:
    """Return the unnormalised log-probability of every chain's state, float64, shape (chains,)."""
    total = np.zeros(states.shape[1])
    _add_scores(
        model.cardinalities,
        model.edges,
        model.node_offsets.copy(),
        model.edge_offsets.copy(),
        model.weights,
        states,
        total,
    )
    return total


def _rise(score: np.ndarray, most: float) -> float:
    """Return the largest increase of β, at most `most`, that satisfies the effective share."""
    centred = score - score.max()

    def effective_share(rise: float) -> float:
        weights = np.exp(rise * centred)
        return float(weights.sum() ** 2 / (weights @ weights) / len(weights))

    if effective_share(most) >= _EFFECTIVE_SHARE:
        return most
    low, high = 0.0, most
    while high - low > 1e-3 * most:
        middle = (low + high) / 2
        low, high = (middle, high) if effective_share(middle) >= _EFFECTIVE_SHARE else (low, middle)
    return low


@kernel
def _add_scores(cardinalities, edges, node_offsets, edge_offsets, weights, states, total):
    for i in range(len(cardinalities)):
        own = states[i]
        for c in range(len(total)):
            total[c] += weights[node_offsets[i] + own[c]]
    for e in range(len(edges)):
        first, second = states[edges[e, 0]], states[edges[e, 1]]
        columns = cardinalities[edges[e, 1]]
        for c in range(len(total)):
            total[c] += weights[edge_offsets[e] + first[c] * columns + second[c]]
