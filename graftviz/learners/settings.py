"""The options of grafting learners with everything left open filled in: presets and default rules.

Defaults follow from the number of rows N and the numbers of states, never from what is to be found:

- λ is three times σ, the score that two independent variables have by sampling noise alone
  (:func:`graftviz.fitting.noise.score_noise`); the score by pseudo-likelihood has twice the noise
  of the others. Where κ decides about edges, λ has to keep out those that are significant but tiny,
  which shrunken weights leave at hubs, and the σ of a belief score is enough.
- λ₂ is 4 / √N under the Bethe likelihood, whose weights must stay small for belief propagation to
  be trusted, and 2 / N under the pseudo-likelihood: worth a row or two of evidence.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from graftviz.counts import PairCounts
from graftviz.errors import InputError
from graftviz.fitting.noise import score_noise
from graftviz.fitting.penalty import Penalty
from graftviz.search.scoring import COUNT, ROOT
from graftviz.trace import ActivationTest

BETHE, PSEUDO_LIKELIHOOD = "bethe", "pseudo-likelihood"
SCORES = ("belief", "linear-response", "pseudo-likelihood")
OBJECTIVES = (BETHE, PSEUDO_LIKELIHOOD)
OBJECTIVE_NAMES = {BETHE: "Bethe likelihood", PSEUDO_LIKELIHOOD: "pseudo-likelihood"}
_LAM_TO_NOISE = 3.0
_SMALL_LAM_TO_NOISE = 1.0
_FALLBACK_LAM = 1e-3  # where nothing varies, so that there is no noise


class Preset(NamedTuple):
    """What a preset says where an option was left open."""

    score: str
    objective: str
    significance: float
    refit: bool


PRESETS = {
    "best": Preset("pseudo-likelihood", PSEUDO_LIKELIHOOD, 3.0, True),
    "paper": Preset("belief", BETHE, 0.0, False),
    "thesis": Preset("belief", BETHE, 0.0, False),
    "authors": Preset("belief", BETHE, 0.0, False),
}
# Where the rows stay in a file there are only counts to learn from.
_BEST_BY_COUNTS = Preset("linear-response", BETHE, 3.0, False)


class Settings(NamedTuple):
    """Resolved options of one run.

    Attributes
    ----------
    score, objective : str
    significance : float
        κ; 0: the plain test s_e > λ.
    refit : bool
    lam : float
        λ, which a score must exceed.
    penalty : Penalty
        Its λ is 0 where κ decides: what was activated for being significant is not shrunk.
    """

    score: str
    objective: str
    significance: float
    refit: bool
    lam: float
    penalty: Penalty

    @property
    def unit(self) -> int:
        """What scores are measured in; see :class:`graftviz.search.scoring.Scoring`."""
        return ROOT if self.penalty.square_root else COUNT

    @property
    def test(self) -> ActivationTest:
        """The activation test C₂."""
        return ActivationTest(self.score, self.lam, self.significance)


class Methods(NamedTuple):
    """How edges are scored and tested, and what is fitted; see :class:`Settings`."""

    score: str
    objective: str
    significance: float
    refit: bool


def methods(options: Any, *, has_rows: bool = True) -> Methods:
    """Fill in what `options` (GraftingOptions) leave open and needs no data.

    Parameters
    ----------
    has_rows : bool
        Whether the rows are in memory, as the pseudo-likelihood needs them.

    Raises
    ------
    InputError
        When the options ask for the pseudo-likelihood and the rows are not there, or for a
        combination that means nothing.
    """
    preset = PRESETS[options.preset]
    if not has_rows and options.preset == "best":
        preset = _BEST_BY_COUNTS
    objective = options.objective or preset.objective
    score = options.score or (preset.score if options.objective is None else _score_for(objective))
    significance = preset.significance if options.significance is None else options.significance
    refit = preset.refit if options.refit is None else options.refit
    if not has_rows and (PSEUDO_LIKELIHOOD in (score, objective) or refit):
        raise InputError(
            "The rows of this table stay in their file, and the pseudo-likelihood needs them in "
            "memory: choose objective=bethe, score=belief or linear-response and refit=false."
        )
    if score == "linear-response" and objective != BETHE:
        raise InputError(
            "The score linear-response belongs to a fixed point of belief propagation: choose "
            "objective=bethe with it, or score=pseudo-likelihood."
        )
    return Methods(score, objective, float(significance), bool(refit))


def resolve(options: Any, counts: PairCounts, *, has_rows: bool) -> Settings:
    """Fill in what `options` (GraftingOptions) leave open, for the data counted.

    Raises
    ------
    InputError
        See :func:`methods`.
    """
    score, objective, significance, refit = methods(options, has_rows=has_rows)
    root = options.group_weight == "sqrt"
    lam, lam2 = options.lam, options.lam2
    if lam is None:
        noise = score_noise(
            counts.packed.margins, counts.packed.node_offsets, counts.n_rows, root=root
        )
        plain = 2.0 * _LAM_TO_NOISE if score == PSEUDO_LIKELIHOOD else _LAM_TO_NOISE
        factor = _SMALL_LAM_TO_NOISE if significance > 0.0 else plain
        lam = float(f"{factor * noise:.2g}") or _FALLBACK_LAM
    if lam2 is None:
        rows = counts.n_rows
        lam2 = float(f"{4.0 / math.sqrt(rows) if objective == BETHE else 2.0 / rows:.2g}")
    price = 0.0 if significance > 0.0 else float(lam)
    penalty = Penalty(price, float(lam2), root, options.penalise_nodes)
    return Settings(score, objective, significance, refit, float(lam), penalty)


def _score_for(objective: str) -> str:
    """Return the score that suits an objective chosen by hand: the gradient of that objective."""
    return "belief" if objective == BETHE else "pseudo-likelihood"
