"""Options of the learners that activate single features, and their default values.

Default λ: σ √(2 ln F), where σ is the score that a feature has by sampling noise alone
(:func:`graftviz.learning.weights.noise.feature_noise`) and F the number of features. This is about
the largest of F noisy scores, so noise alone activates hardly any feature. (Learners of whole edges
use a few times σ, as the norm of many cells hardly varies; here every cell is a separate test.)
Default λ₂: 4 / √N, as for whole edges under the Bethe likelihood.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.features.solver import FIT
from graftviz.learning.prior import PriorOptions
from graftviz.learning.rescoring import Rescoring, rescoring_option
from graftviz.learning.trace import ActivationTest
from graftviz.learning.weights.noise import feature_noise
from graftviz.learning.weights.penalty import Penalty
from graftviz.utils.errors import InputError
from graftviz.utils.options import option

_SCORE = "feature"  # |∂L/∂w_k| of the Bethe likelihood
_FALLBACK_LAM = 1e-3  # if no variable varies, so that there is no noise


class FeatureSettings(NamedTuple):
    """Resolved options of one run: the penalty, whose λ is also the threshold of scores."""

    penalty: Penalty

    @property
    def lam(self) -> float:
        """Threshold λ of scores."""
        return self.penalty.lam

    @property
    def test(self) -> ActivationTest:
        """The activation test C₁ (TH 3.9)."""
        return ActivationTest(_SCORE, self.penalty.lam)


@dataclass(frozen=True)
class FeatureOptions(PriorOptions):
    """Options of every learner that activates single features under the ℓ₁ objective.

    All features of the required edges are activated first; the penalty may make their weights zero.

    Attributes
    ----------
    one_step : bool
        Whether the active weights take one step after an activation instead of a full fit.
    """

    sentences: ClassVar[str] = "feature"
    by_score: ClassVar[bool] = True
    by_feature: ClassVar[bool] = True
    one_step: ClassVar[bool] = False

    lam: float | None = option(
        None,
        "λ: the gradient that a feature must exceed, and the penalty of its absolute weight",
        label="λ",
        above=0.0,
        maximum=1.0,
        scale="log",
        none_means="the largest score of all features under noise alone",
    )
    lam2: float | None = option(
        None,
        "λ₂: weight of the squared weights; larger values shrink them",
        label="λ₂",
        minimum=0.0,
        maximum=10.0,
        scale="log",
        none_means="4 / √N",
    )
    max_edges: int | None = option(
        None,
        "edge budget: stop when so many edges have an active feature",
        label="Edge budget",
        minimum=1,
        none_means="until no remaining feature passes the test",
    )
    max_features: int | None = option(
        None,
        "feature budget: stop when so many features are active",
        label="Feature budget",
        minimum=1,
        none_means="until no remaining feature passes the test",
    )
    rescoring: Rescoring = rescoring_option("features")

    @property
    def update(self) -> int:
        """Kind of the update of active weights, see :mod:`graftviz.learning.features.solver`."""
        return FIT

    def check(self, table: DiscreteTable) -> None:
        """Raise :class:`InputError` if `table` is too small or does not fit the options."""
        super().check(table)
        required = self.prior(table.names).required
        features = int(table.cardinalities[required].astype(np.int64).prod(axis=1).sum())
        if self.max_features is not None and features > self.max_features:
            raise InputError(
                f"The required edges have {features:,} features, more than the feature budget of "
                f"{self.max_features:,}; raise the budget."
            )

    def activation_test(self, counts: PairCounts) -> ActivationTest:
        """Return the test that activates features."""
        return self.settings(counts).test

    def settings(self, counts: PairCounts) -> FeatureSettings:
        """Return the options with automatic values resolved for the counted data."""
        lam, lam2 = self.lam, self.lam2
        if lam is None:
            packed = counts.packed
            noise = feature_noise(packed.margins, packed.node_offsets, packed.rows)
            sizes = np.asarray(counts.cardinalities, dtype=np.float64)
            features = (sizes.sum() ** 2 - (sizes**2).sum()) / 2.0
            largest = noise * math.sqrt(2.0 * math.log(max(features, 2.0)))
            lam = min(float(f"{largest:.2g}"), 1.0) or _FALLBACK_LAM
        if lam2 is None:
            lam2 = float(f"{4.0 / math.sqrt(counts.n_rows):.2g}")
        return FeatureSettings(Penalty(float(lam), float(lam2), False, False))

    def automatic(self, counts: PairCounts, *, has_rows: bool = True) -> dict[str, Any]:
        """Return the values that rules give to λ and λ₂."""
        settings = self.settings(counts)
        return {"lam": settings.lam, "lam2": settings.penalty.lam2}
