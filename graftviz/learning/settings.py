"""Resolved options of grafting learners: presets and default rules.

Defaults depend on the number of rows N and the numbers of states, never on the structure sought:

- λ is three times σ, the score that two independent variables have by sampling noise alone
  (:func:`graftviz.learning.weights.noise.score_noise`); the score by pseudo-likelihood has twice
  the noise of the others. With κ > 0, λ only has to exclude significant but tiny scores, and is σ /
  10. With other scores or objectives, shrunken weights cause such scores. As the number of pairs
  grows faster than that of edges, more of them pass: λ then rises from σ at 50 variables to 2 σ at
  200 and more.
- κ under preset best is so large that about one pair in 50 variables passes by chance
  (:func:`graftviz.learning.scores.pair_test.usual_significance`). It is one level for all pairs, in
  standard deviations of a normal distribution; the threshold of a pair follows from its numbers of
  states and their shares (:func:`graftviz.learning.scores.pair_test.pair_test`). Where a run ends
  among many weak edges, κ is lowered
  (:func:`graftviz.learning.scores.pair_test.separating_significance`) for pairs of variables with
  several edges, and the run continues, with weights that λ = σ / 2 shrinks.
- λ₂ is 4 / √N under the Bethe likelihood, whose weights must stay small for belief propagation to
  be accurate, and 2 / N under the pseudo-likelihood, which equals one or two rows of evidence. At
  the end λ₂, and whether λ shrinks, are what predicts rows left out of the fit best
  (:mod:`graftviz.learning.weights.final_fit`).
- Preset best reads pair counts only if the rows are not in memory or if their conditionals would
  fill it. So many variables are joined by a sparse graph, which is nearly a tree around each of
  them, and λ₂ is 2 / N then too.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.scores.base import BETHE, PSEUDO_LIKELIHOOD, Objective
from graftviz.learning.scores.kernels import COUNT, ROOT, Measure
from graftviz.learning.scores.pair_test import ALL_ALIKE, UsualLevel, usual_significance
from graftviz.learning.scores.registry import SCORES
from graftviz.learning.trace import ActivationTest
from graftviz.learning.weights.noise import score_noise
from graftviz.learning.weights.penalty import Penalty
from graftviz.utils.errors import InputError
from graftviz.utils.options import option

Rescoring = Literal["needed", "all"]


def rescoring_option(scored: str) -> Any:
    """Return the option `rescoring` of a learner that scores edges or features."""
    return option(
        "needed",
        f"which inactive {scored} a step scores again. needed: those that could be the best, by "
        f"bounds on the change of their scores; all: every one, as in the paper. The {scored} are "
        "the same, the tests and the time are not",
        label="Rescoring",
    )


OBJECTIVE_NAMES = {BETHE: "Bethe likelihood", PSEUDO_LIKELIHOOD: "pseudo-likelihood"}
_LAM_TO_NOISE = 3.0
_TINY_LAM_TO_NOISE = 0.1  # with κ
_PRICE_TO_NOISE = 0.5  # with a lowered κ
_SMALL_LAM_TO_NOISE = 1.0, 2.0  # with κ and other scores, for few and many variables
_LEAST_SIGNIFICANCE = 3.0  # of other scores, whose noise is only approximate
_FEW, _MANY = 50, 200
_MOST_ROW_BYTES = 8 << 30  # of conditionals
_FALLBACK_LAM = 1e-3  # if no variable varies, so that there is no noise


class Methods(NamedTuple):
    """Score, objective and tests of a run, or those of a preset; see :class:`Settings`.

    The significance is None if it depends on data, score and objective.
    """

    score: str
    objective: Objective
    significance: float | None
    refit: bool
    penalise_nodes: bool = False

    @property
    def reads_rows(self) -> bool:
        """Whether the rows must be in memory."""
        by_rows = self.objective == PSEUDO_LIKELIHOOD
        return by_rows or self.refit or SCORES[self.score].reads_rows


PRESETS = {
    "best": Methods("pseudo-likelihood", PSEUDO_LIKELIHOOD, None, True),
    "paper": Methods("belief", BETHE, 0.0, False),
    "literal": Methods("belief", BETHE, 0.0, False, penalise_nodes=True),
}
# If the rows are not in memory or too many, only their counts are used.
_BEST_BY_COUNTS = Methods("belief", BETHE, None, False)


class Settings(NamedTuple):
    """Resolved options of one run.

    Attributes
    ----------
    score, objective : str
    significance : float
        κ; 0: the plain test s_e > λ.
    refit : bool
    lam : float
        λ, the threshold of scores.
    penalty : Penalty
        Its λ is 0 with κ > 0, unless κ was lowered: weights of significant edges are not shrunk.
    usual : UsualLevel
        Variables that keep the usual κ if it was lowered.
    """

    score: str
    objective: Objective
    significance: float
    refit: bool
    lam: float
    penalty: Penalty
    usual: UsualLevel = ALL_ALIKE

    @property
    def is_by_rows(self) -> bool:
        """Whether score and objective are the pseudo-likelihood."""
        return self.score == self.objective == PSEUDO_LIKELIHOOD

    def lowered(self, significance: float, usual: UsualLevel, *, keeps_lam: bool) -> Settings:
        """Return the settings with a lower κ and, unless λ was chosen, weights shrunk by λ.

        Pairs of the variables in `usual` keep the usual κ.
        """
        if keeps_lam or self.penalty.lam > 0.0:
            return self._replace(significance=significance, usual=usual)
        lam = float(f"{self.lam * _PRICE_TO_NOISE / _TINY_LAM_TO_NOISE:.2g}")
        penalty = self.penalty._replace(lam=lam)
        return self._replace(significance=significance, lam=lam, penalty=penalty, usual=usual)

    @property
    def measure(self) -> Measure:
        """Unit and tests of scores, for kernels."""
        unit = ROOT if self.penalty.square_root else COUNT
        return Measure(unit, self.lam, self.significance, self.usual)

    @property
    def test(self) -> ActivationTest:
        """The activation test C₂."""
        return ActivationTest(self.score, self.lam, self.significance, *self.usual)


def rows_fit(sizes: np.ndarray, rows: float) -> bool:
    """Return whether the conditionals of all rows, and what scores need of them, fit into 8 GB.

    Parameters
    ----------
    sizes : array, shape (n,)
        Number of states of each variable, or their mean.
    rows : float
    """
    needed = 4 * float((sizes + 1).sum())  # a column per state, and one of the impurity
    return rows * needed <= _MOST_ROW_BYTES


def methods(options: Any, *, has_rows: bool = True, fits: bool = True) -> Methods:
    """Resolve the automatic values of `options` (GraftingOptions) that need no data.

    Parameters
    ----------
    has_rows : bool
        Whether the rows are in memory, as the pseudo-likelihood needs them.
    fits : bool
        Whether :func:`rows_fit` holds.

    Raises
    ------
    InputError
        If the options require the pseudo-likelihood and the rows are not in memory, or if they
        cannot be combined.
    """
    preset = PRESETS[options.preset]
    if options.preset == "best" and not (has_rows and fits):
        preset = _BEST_BY_COUNTS
    objective = options.objective or preset.objective
    score = options.score or preset.score
    if not options.score and options.objective is not None:
        # The norm of the gradient of the objective.
        score = "belief" if objective == BETHE else "pseudo-likelihood"
    significance = preset.significance if options.significance is None else options.significance
    refit = preset.refit if options.refit is None else options.refit
    nodes = options.penalise_nodes
    nodes = preset.penalise_nodes if nodes is None else nodes
    chosen = Methods(score, objective, significance, bool(refit), bool(nodes))
    if not has_rows and chosen.reads_rows:
        by_counts = [name for name, kind in SCORES.items() if not kind.reads_rows]
        raise InputError(
            "The pseudo-likelihood needs the rows in memory, and this table has only the counts of "
            f"its pairs: choose objective=bethe, score={' or '.join(by_counts)} and refit=false."
        )
    return chosen


def resolve(options: Any, counts: PairCounts, *, has_rows: bool) -> Settings:
    """Resolve all automatic values of `options` (GraftingOptions) for the counted data.

    Raises
    ------
    InputError
        See :func:`methods`.
    """
    fits = rows_fit(counts.cardinalities, counts.n_rows)
    chosen = methods(options, has_rows=has_rows, fits=fits)
    score, objective, significance, refit, penalise_nodes = chosen
    root = options.group_weight == "sqrt"
    lam, lam2 = options.lam, options.lam2
    margins = counts.packed.margins, counts.packed.node_offsets, counts.packed.rows
    by_rows = score == objective == PSEUDO_LIKELIHOOD
    if significance is None:
        usual = usual_significance(*margins[:2])
        significance = float(f"{usual if by_rows else max(usual, _LEAST_SIGNIFICANCE):.3g}")
    if lam is None:
        noise = score_noise(*margins, root=root)
        factor = _LAM_TO_NOISE * SCORES[score].noise_factor
        if significance > 0.0 and by_rows:
            factor = _TINY_LAM_TO_NOISE
        elif significance > 0.0:  # linear in log n between few and many variables
            bounds = np.log([_FEW, _MANY])
            factor = float(np.interp(math.log(counts.n_variables), bounds, _SMALL_LAM_TO_NOISE))
        lam = float(f"{factor * noise:.2g}") or _FALLBACK_LAM
    if lam2 is None:
        rows = counts.n_rows
        # Shrunk weights explain less, so that indirect pairs pass as edges.
        shrinks = objective == BETHE and (fits or options.preset != "best")
        lam2 = float(f"{4.0 / math.sqrt(rows) if shrinks else 2.0 / rows:.2g}")
    price = 0.0 if significance > 0.0 else float(lam)
    penalty = Penalty(price, float(lam2), root, penalise_nodes)
    return Settings(score, objective, significance, refit, float(lam), penalty)
