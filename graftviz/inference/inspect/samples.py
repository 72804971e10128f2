"""Gibbs samples of a model beside rows of the data, and the pair marginals of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError

SAMPLES = 4096
MOST_STATES = 1000  # of all variables together
_CHAINS = 512
_MOST_CELLS = 4_000_000  # indicators of the data rows that are compared


@dataclass(frozen=True, eq=False)
class SampleComparison:
    """Samples of a model and rows of a table, with the probabilities of all pairs of states.

    Attributes
    ----------
    model : PairwiseMRF
    data, drawn : DiscreteTable
        The compared rows, and the samples.
    states : int array, shape (k, 4)
        Of every pair of states of two variables i < j: i, j, and the states of both.
    in_data, in_model : float array, shape (k,)
        Their relative frequencies.
    is_edge : bool array, shape (k,)
        Whether the variables are joined in the model.
    split_rhat : float
        The largest of the mixing diagnostic; near 1 if the chains agree.
    """

    model: PairwiseModel
    data: DiscreteTable
    drawn: DiscreteTable
    states: np.ndarray
    in_data: np.ndarray
    in_model: np.ndarray
    is_edge: np.ndarray
    split_rhat: float

    @property
    def noise(self) -> float:
        """The largest standard error of a difference, of independent rows and samples."""
        return 0.5 * float(np.sqrt(1 / self.data.total_weight + 1 / self.drawn.n_rows))

    @property
    def largest(self) -> int:
        """Index of the pair of states whose frequencies differ most."""
        return int(np.argmax(np.abs(self.in_model - self.in_data)))


def compare_samples(
    model: PairwiseModel, table: DiscreteTable, *, seed: int = 0
) -> SampleComparison:
    """Draw `SAMPLES` samples of a model, and compare them with rows of a table.

    Parameters
    ----------
    model : PairwiseMRF
    table : DiscreteTable
        Of the variables of the model; of a large table the first rows are compared.
    seed : int
        The same seed gives the same samples.

    Raises
    ------
    InputError
        For more than `MOST_STATES` states in all, or fewer than two variables, and as
        :func:`graftviz.data.synthetic.gibbs.sample_gibbs`.
    """
    total = int(model.cardinalities.sum())
    if total > MOST_STATES or model.n_variables < 2:
        raise InputError(
            f"Samples are compared for at least two variables of at most {MOST_STATES:,} states "
            f"in all; this model has {model.n_variables:,} of {total:,}."
        )
    sample = sample_gibbs(model, SAMPLES, seed=seed, chains=_CHAINS)
    rows = min(table.n_rows, _MOST_CELLS // total)
    data = table.rows(slice(rows))
    of = np.repeat(np.arange(model.n_variables), model.cardinalities)
    first, second = np.nonzero(of[:, None] < of[None, :])
    starts = np.cumsum(model.cardinalities) - model.cardinalities
    states = np.column_stack([of[first], of[second], first - starts[of[first]]])
    states = np.column_stack([states, second - starts[of[second]]])
    joined = np.zeros((model.n_variables, model.n_variables), dtype=bool)
    joined[model.edges[:, 0], model.edges[:, 1]] = True
    return SampleComparison(
        model,
        data,
        sample.table,
        read_only(states),
        read_only(data.joint_shares()[first, second]),
        read_only(sample.table.joint_shares()[first, second]),
        read_only(joined[of[first], of[second]]),
        float(np.nanmax(sample.diagnostic.split_rhat, initial=1.0)),
    )
