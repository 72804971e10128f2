"""Gibbs sampling with many chains from an annealed start.

Population annealing: initial states of Gibbs chains that are right even where mixing is slow. At a
hub with many neighbours a chain freezes: the hub and its neighbours hold each other in place.
Chains that start at random then keep the hub states of their first sweeps, whose frequencies are
not those of the model. So the chains are annealed as a population (Hukushima and Iba 2003; Machta
2010): they sample from p_β(x) ∝ exp(β · score(x)) with β increasing from 0 to 1, and at each
increase the population is resampled, each chain with weight exp(Δβ · score(x)). Every hub state
gets its share while the chains still mix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graftviz.data.synthetic.potentials import generator
from graftviz.data.synthetic.sweep import SweepModel, advance, conditionals_of, stars
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import freeze, read_only
from graftviz.utils.compiling import kernel
from graftviz.utils.errors import InputError
from graftviz.utils.memory import free_bytes, size_text

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


MIXED_RHAT = 1.1
ENOUGH_ROWS = 100
_MONITORED_NODES = 16
_RARE = 0.01  # the share of a rarer state has a small error even with few effective rows


@dataclass(frozen=True, eq=False)
class MixingDiagnostic:
    """Split R̂ and effective sample size of the recorded draws, for each statistic.

    Attributes
    ----------
    chains, draws : int
        Number of chains, and number of draws recorded from each.
    burn_in, thin : int
        Sweeps before the first recorded draw, and between consecutive draws.
    statistics : tuple of str
        Names of the statistics: the log-score of the row, and "variable = label" indicators of the
        nodes with most neighbours (which mix most slowly) and of some others, except rare states.
    split_rhat : float64 array, one per statistic
        Potential scale reduction of the half chains (Gelman et al., Bayesian Data Analysis, 3rd
        edition, section 11.4): 1 when draws vary within a chain as much as between chains, larger
        when draws of one chain resemble each other, infinite when no chain moves.
    effective_rows : float64 array, one per statistic
        Number of independent rows that would estimate the statistic's mean equally well. Families
        of chains with a common ancestor in the annealing are independent of each other, so the
        variance of the mean is estimated from the spread of their sums. At most chains · draws.
    """

    chains: int
    draws: int
    burn_in: int
    thin: int
    statistics: tuple[str, ...]
    split_rhat: np.ndarray
    effective_rows: np.ndarray

    @property
    def worst_rhat(self) -> float:
        """The largest split R̂."""
        return float(self.split_rhat.max())

    @property
    def fewest_effective_rows(self) -> float:
        """The smallest effective sample size."""
        return float(self.effective_rows.min())

    def sentence(self) -> str:
        """Return a one-sentence summary with a verdict."""
        rhat = f"{self.worst_rhat:.2f}" if np.isfinite(self.worst_rhat) else "infinite"
        slowest = self.statistics[int(self.split_rhat.argmax())]
        if self.fewest_effective_rows < ENOUGH_ROWS:
            verdict = "the frequencies of the slowest variable are rough; more chains would help"
        elif self.worst_rhat <= MIXED_RHAT:
            verdict = "the chains mixed well"
        else:
            verdict = (
                "some variables change slowly or not at all within a chain, "
                "so their frequencies rest on the annealed start"
            )
        return (
            f"Over {len(self.statistics)} statistics of {self.chains:,} chains with {self.draws:,} "
            f"draws each, split R-hat is at most {rhat} ({slowest}) and the "
            f"effective sample size at least {self.fewest_effective_rows:,.0f}: {verdict}."
        )


def diagnose(
    model: PairwiseModel, draws: np.ndarray, ancestors: np.ndarray, burn_in: int, thin: int
) -> MixingDiagnostic:
    """Compare the draws within each chain with those of the other chains.

    Parameters
    ----------
    model : PairwiseMRF
    draws : integer array, shape (variables, draws per chain, chains)
        At least four draws from each of at least two chains.
    ancestors : int array, shape (chains,)
        Chains with the same number are one family.
    burn_in, thin : int
        Copied to the result.
    """
    n, length, chains = draws.shape
    names = ["log-score"]
    series = [model.log_scores(draws.reshape(n, -1)).reshape(length, chains)]
    for i in _monitored_nodes(model):
        # With two states, the indicator of the second determines that of the first.
        states = int(model.cardinalities[i])
        for k in range(1 if states == 2 else 0, states):
            indicator = (draws[i] == k).astype(np.float64)
            if _RARE <= indicator.mean() <= 1 - _RARE:
                names.append(f"{model.names[i]} = {model.labels[i][k]}")
                series.append(indicator)
    rhat = np.array([split_rhat(values) for values in series])
    effective = np.array([effective_rows(values, ancestors) for values in series])
    freeze(rhat, effective)
    return MixingDiagnostic(chains, length, burn_in, thin, tuple(names), rhat, effective)


def split_rhat(values: np.ndarray) -> float:
    """Return R̂ over half chains; `values` has shape (draws, chains)."""
    half = len(values) // 2
    halves = np.concatenate([values[:half], values[-half:]], axis=1)
    within = halves.var(axis=0, ddof=1).mean()
    between = halves.mean(axis=0).var(ddof=1)
    rounding = _rounding(values)
    if within <= rounding:
        return 1.0 if between <= rounding else np.inf
    return float(np.sqrt((half - 1) / half + between / within))


def effective_rows(values: np.ndarray, ancestors: np.ndarray) -> float:
    """Return the effective sample size; `values` has shape (draws, chains)."""
    deviations = values.mean(axis=0) - values.mean()
    families = np.unique(ancestors, return_inverse=True)[1]
    sums = np.bincount(families, weights=deviations)
    spread = values.var()
    if spread <= _rounding(values):
        return float(values.size)
    if len(sums) == 1:
        return 1.0
    # The sums add up to zero, so there is one degree of freedom less.
    variance_of_mean = (sums @ sums) * len(sums) / (len(sums) - 1) / values.shape[1] ** 2
    if variance_of_mean * values.size <= spread:
        return float(values.size)
    return float(spread / variance_of_mean)


def _rounding(values: np.ndarray) -> float:
    """Return the variance that rounding can produce for equal numbers of this magnitude."""
    return float((1e-12 * np.abs(values).max()) ** 2)


def _monitored_nodes(model: PairwiseModel) -> list[int]:
    """Return nodes with more than one state, half by degree and half evenly spread."""
    moving = np.flatnonzero(model.cardinalities > 1)
    if len(moving) == 0:
        return []
    by_degree = moving[np.argsort(-model.degrees()[moving], kind="stable")]
    spread = moving[np.linspace(0, len(moving) - 1, _MONITORED_NODES // 2).astype(np.int64)]
    return list(dict.fromkeys([*by_degree[: _MONITORED_NODES // 2].tolist(), *spread.tolist()]))


THIN = 25
MAX_STATES = 256  # a state is recorded in one byte

LARGEST_SAMPLE = 1_000_000_000  # rows, chains or sweeps; more would take months
_LEAST_CHAINS = 2  # the diagnostic compares chains
_LEAST_DRAWS = 4  # the diagnostic compares halves of chains, of at least two draws each
_USUAL_DRAWS = 8
_FEWEST_USUAL_CHAINS, _MOST_USUAL_CHAINS = 1024, 4096


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows drawn from a model, with a diagnostic of mixing.

    Attributes
    ----------
    table : DiscreteTable
        Neighbouring rows come from different chains.
    diagnostic : MixingDiagnostic
    """

    table: DiscreteTable
    diagnostic: MixingDiagnostic


def sample_gibbs(
    model: PairwiseModel,
    rows: int,
    *,
    seed: int = 0,
    burn_in: int | None = None,
    thin: int = THIN,
    chains: int | None = None,
    join_hubs: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Sample:
    """Draw rows by systematic-scan Gibbs sampling, hubs and their neighbours together.

    Parameters
    ----------
    model : PairwiseMRF
        All weights finite, at most 256 states a variable.
    rows : int
        At least 1.
    seed : int
        The same seed gives the same rows in every process.
    burn_in : int, optional
        Sweeps (visits to all variables) before the first recorded draw, which anneal uniformly
        random states (:mod:`graftviz.data.synthetic.gibbs`); default: 100 to 1,000, depending
        on the size of the model and the strength of its potentials.
    thin : int
        Sweeps from one recorded draw to the next.
    chains : int, optional
        At least 2; default: an eighth of the rows, but 1,024 to 4,096. Every chain contributes the
        same number of draws, at least 4; surplus draws, the earliest, are dropped.
    join_hubs : bool
        Draw a hub and some of its neighbours together (:mod:`graftviz.data.synthetic.sweep`),
        without which chains hardly move at strong hubs. False visits one variable at a time, as the
        papers do.
    progress : callable (done, total), optional
        Called from time to time with the numbers of sweeps, summed over chains.

    Raises
    ------
    InputError
        For numbers out of range, infinite weights, or more than 256 states.
    """
    check_settings(model, rows, burn_in=burn_in, thin=thin, chains=chains)
    if chains is None:
        eighth = -(-rows // _USUAL_DRAWS)
        chains = min(max(eighth, _FEWEST_USUAL_CHAINS), _MOST_USUAL_CHAINS)
    draws = max(_LEAST_DRAWS, -(-rows // chains))
    rng = generator(seed, "gibbs")
    start = new_population(model, chains, rng)
    if burn_in is None:
        burn_in = usual_sweeps(model, start)

    swept = 0
    total = chains * (burn_in + (draws - 1) * thin)

    def done(sweeps: int) -> None:
        nonlocal swept
        swept += sweeps
        if progress is not None:
            progress(swept, total)

    conditionals = conditionals_of(model, stars(model) if join_hubs else ())
    population = anneal(model, conditionals, start, burn_in, rng, done)
    recorded = np.empty((model.n_variables, draws, chains), dtype=np.uint8)
    for draw in range(draws):
        if draw:
            advance(conditionals, population.states, population.generators, thin, done)
        recorded[:, draw] = population.states
    diagnostic = diagnose(model, recorded, population.ancestors, burn_in, thin)
    flat = recorded.reshape(model.n_variables, draws * chains)
    codes = read_only(np.ascontiguousarray(flat[:, draws * chains - rows :]))
    return Sample(DiscreteTable(codes, model.names, model.labels), diagnostic)


def check_settings(
    model: PairwiseModel,
    rows: int,
    *,
    burn_in: int | None = None,
    thin: int = THIN,
    chains: int | None = None,
) -> None:
    """Raise the errors of :func:`sample_gibbs` without drawing anything."""
    for name, value, least in (
        ("rows", rows, 1),
        ("sweeps of burn-in", burn_in, 0),
        ("sweeps of thinning", thin, 1),
        ("chains", chains, _LEAST_CHAINS),
    ):
        if value is not None and value < least:
            raise InputError(f"The number of {name} must be at least {least}; got {value}.")
        if value is not None and value > LARGEST_SAMPLE:
            raise InputError(
                f"The number of {name} must be at most {LARGEST_SAMPLE:,}; got {value:,}."
            )
    # The recorded draws and the returned rows are two arrays of one byte per cell.
    drawn = max(rows, _LEAST_DRAWS * (chains or 0))
    needed, free = 2 * drawn * model.n_variables, free_bytes()
    if needed > free:
        raise InputError(
            f"{drawn:,} draws of {model.n_variables:,} variables take {size_text(needed)}, "
            f"and {size_text(free)} are free; draw fewer rows or take fewer chains."
        )
    if not np.isfinite(model.weights).all():
        raise InputError(
            "Gibbs sampling needs positive potentials: with a zero (weight −infinity) its chains "
            "may never reach parts of the space. Exact sampling takes such models when small."
        )
    if model.cardinalities.max() > MAX_STATES:
        raise InputError(f"Gibbs sampling takes variables of at most {MAX_STATES} states.")
