"""Convergence diagnostic of Gibbs sampling, from many short chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import freeze

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
