"""Contract of a score: how it ranks inactive edges, and what it costs and needs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple, Protocol, get_args

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.scores.kernels import Measure, Scoring
from graftviz.learning.scores.pair_test import judge, pair_test
from graftviz.learning.weights.network import FittedNetwork
from graftviz.learning.weights.noise import impurity_of
from graftviz.model.pairwise import PairwiseModel

# The objectives that weights are fitted to.
Objective = Literal["bethe", "pseudo-likelihood"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
BETHE, PSEUDO_LIKELIHOOD = OBJECTIVES
GroupWeight = Literal["count", "sqrt"]


class Scorer(Protocol):
    """Interface of scorers, which update the arrays that the kernels of a score read.

    Attributes
    ----------
    scoring : Scoring
        Input of the kernels, as of the last `refresh`.
    drift : float64 array, shape (n,)
        Increases at a node whenever scores of its pairs may have changed.
    """

    scoring: Scoring

    @property
    def drift(self) -> np.ndarray:
        """Accumulated change of scores at each node."""

    def refresh(self) -> None:
        """Update `scoring` to the current fit."""


class ScorerInput(NamedTuple):
    """Parts of a run that a scorer follows.

    Attributes
    ----------
    network : ActiveNetwork or PseudoNetwork
        The fit.
    table : DiscreteTable
    counts : PairCounts
    measure : Measure
    """

    network: FittedNetwork
    table: DiscreteTable
    counts: PairCounts
    measure: Measure


class PairFit(NamedTuple):
    """One pair, and the model in which it is scored.

    Attributes
    ----------
    table : DiscreteTable
    model : PairwiseMRF
    beliefs : sequence of float arrays
        Node beliefs of the fit.
    i, j : int
    """

    table: DiscreteTable
    model: PairwiseModel
    beliefs: Sequence[np.ndarray]
    i: int
    j: int

    @property
    def frequencies(self) -> np.ndarray:
        """p_D(e): the relative frequency of each pair of states, shape (s_i, s_j)."""
        return self.table.joint_counts(self.i, self.j) / self.table.total_weight

    @property
    def independent(self) -> np.ndarray:
        """b_i b_jᵀ, shape (s_i, s_j)."""
        return np.outer(self.beliefs[self.i], self.beliefs[self.j])

    @property
    def independent_variance(self) -> float:
        """(1 − ‖b_i‖²)(1 − ‖b_j‖²)."""
        return float(impurity_of(self.beliefs[self.i]) * impurity_of(self.beliefs[self.j]))


class Expectation(NamedTuple):
    """Counts of a pair that a score expects, and their variance.

    Attributes
    ----------
    counts : float64 array, shape (s_i, s_j)
        E.
    variance : float
        M, the mean of ‖E − O‖² / N if the pair is independent given all others.
    """

    counts: np.ndarray
    variance: float


class PairNorm(NamedTuple):
    """Norm of one pair, whose d_e-th part is the score, and its test.

    Attributes
    ----------
    value : float
    multiple, needed : float
        What multiple of its noise the norm is, and the threshold that it must exceed; 0 if the pair
        cannot vary.
    share : float
        Share of the threshold that is reached, rare states considered; above 1: it passes.
    """

    value: float
    multiple: float = 0.0
    needed: float = 0.0
    share: float = 0.0


class Score(ABC):
    """A score of inactive edges; the registry finds it in its file.

    The options that all scores read are λ, κ and the group weight d, see
    :class:`graftviz.learning.scores.kernels.Measure`.

    Attributes
    ----------
    name : str
        Value of the option `score`.
    formula : str
        The score as a formula, for pseudo-code.
    help : str
        What it measures, for the help of the option.
    when_to_use : str
        One line for the side of a page.
    reads_rows : bool
        Whether the rows of the table must be in memory; counts suffice otherwise.
    noise_factor : float
        The norm is so many times ‖E − O‖ / N.
    bounded_by_drift : bool
        Whether the path of the node beliefs bounds the change of a score.
    """

    name: ClassVar[str] = ""
    formula: ClassVar[str]
    help: ClassVar[str]
    when_to_use: ClassVar[str]
    reads_rows: ClassVar[bool] = False
    noise_factor: ClassVar[float] = 1.0
    bounded_by_drift: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Check the attributes where the class is defined.

        Raises
        ------
        TypeError
            If one is missing, unknown or inconsistent.
        """
        super().__init_subclass__()
        allowed = {name for name in (*Score.__annotations__, *vars(Score)) if name[0] != "_"}
        where = f"The score {cls.__module__}.{cls.__qualname__}"
        unknown = [name for name in vars(cls) if name[0] != "_" and name not in allowed]
        if unknown:
            names = ", ".join(sorted(allowed))
            raise TypeError(f"{where} has the unknown attribute {unknown[0]!r}; there are {names}.")
        for name in ("name", "formula", "help", "when_to_use"):
            if not getattr(cls, name, ""):
                raise TypeError(f"{where} needs the attribute {name!r}, a text.")

    @abstractmethod
    def scorer(self, fit: ScorerInput) -> Scorer:
        """Return the scorer of a run."""

    @abstractmethod
    def expectation(self, at: PairFit) -> Expectation:
        """Return what is expected of one pair in plain NumPy."""

    def of_pair(self, at: PairFit, significance: float = 0.0) -> PairNorm:
        """Return the norm of one pair and its test at the level of κ standard deviations."""
        found = self.expectation(at)
        rows, observed = at.table.total_weight, at.frequencies * at.table.total_weight
        margins = [at.table.state_counts(k).astype(np.float64) for k in (at.i, at.j)]
        offsets = np.cumsum([0, *map(len, margins)])
        test = pair_test(np.concatenate(margins), offsets, rows, significance)
        gap = float(np.linalg.norm(found.counts - observed))
        cells = (np.ascontiguousarray(counts).reshape(-1) for counts in (found.counts, observed))
        expected, seen = cells
        judged = judge(test, 0, 1, gap**2, found.variance, expected, seen)
        return PairNorm(self.noise_factor * gap / rows, *judged)


def edge_dimension(cardinality_i: int, cardinality_j: int, group_weight: GroupWeight) -> float:
    """Return d_e: the number of joint states of two variables ("count"), or its root ("sqrt")."""
    joint_states = int(cardinality_i) * int(cardinality_j)
    return math.sqrt(joint_states) if group_weight == "sqrt" else float(joint_states)
