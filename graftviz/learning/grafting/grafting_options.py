"""Options of every learner that activates whole edges by score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.screening import (
    NONE,
    Screens,
    by_size,
    counted_pairs,
    screening_option,
)
from graftviz.learning.prior import PriorOptions
from graftviz.learning.scores.base import GroupWeight, Objective
from graftviz.learning.scores.registry import SCORES
from graftviz.learning.settings import Settings, resolve
from graftviz.learning.trace import ActivationTest
from graftviz.utils.options import option


def settings_of(learner: Learner, counts: PairCounts) -> Settings | None:
    """Return the settings of a grafting learner on the counted data; None for other learners.

    Raises
    ------
    InputError
        When the options do not go together.
    """
    return learner.settings(counts) if isinstance(learner, GraftingOptions) else None


FinalFit = Literal["likelihood", "pseudo-likelihood"]
Preset = Literal["best", "paper", "literal"]


@dataclass(frozen=True)
class GraftingOptions(PriorOptions):
    """Options of every learner that activates whole edges under the group-ℓ₁ objective."""

    by_score: ClassVar[bool] = True
    screens: ClassVar[bool] = False  # whether the automatic screening is by size in preset best

    score: str | None = option(
        None,
        "what ranks and tests inactive edges. "
        + "; ".join(f"{name}: {score.help}" for name, score in SCORES.items()),
        label="Score",
        choices=tuple(SCORES),
        none_means="by preset: pseudo-likelihood in best, belief in paper",
    )
    objective: Objective | None = option(
        None,
        "what the weights are fitted to. bethe: the paper's, from pair counts alone, any number of "
        "rows; pseudo-likelihood: from the rows, right on any graph, better predictions",
        label="Objective",
        none_means="by preset: pseudo-likelihood in best, bethe in paper",
    )
    significance: float | None = option(
        None,
        "κ: an edge must also deviate from what the model expects as clearly as a normal number "
        "beyond κ standard deviations, whatever its numbers of states (3.3: one independent pair "
        "in a thousand); 0: the paper's test, score > λ",
        label="Significance κ",
        minimum=0.0,
        maximum=30.0,
        none_means="by preset: in best one false edge in 50 variables, lower if many weak edges "
        "are left; 0 in paper",
    )
    lam: float | None = option(
        None,
        "λ: the score an edge must exceed, and (with κ = 0) the weight of the group penalty",
        label="λ",
        above=0.0,
        maximum=1.0,
        scale="log",
        none_means="by the sampling noise σ of a score: 3 σ; where κ decides σ / 10, or σ to 2 σ "
        "by other scores",
    )
    lam2: float | None = option(
        None,
        "λ₂: weight of the squared norm; larger values shrink the weights",
        label="λ₂",
        minimum=0.0,
        maximum=10.0,
        scale="log",
        none_means="4 / √N for bethe, 2 / N for the pseudo-likelihood; at the end what predicts "
        "rows left out of the fit best, of 8, 2, 0.5, 0.1 and 0.02 over N",
    )
    max_edges: int | None = option(
        None,
        "edge budget: stop when so many edges are active",
        label="Edge budget",
        minimum=1,
        none_means="until no remaining pair passes the test",
    )
    refit: bool | None = option(
        None,
        "at the end fit the structure by pseudo-likelihood and remove edges that would not pass "
        "the test again or whose weights are zero",
        label="Refit and prune",
        none_means="by preset: yes in best, no in paper",
        advanced=True,
    )
    preset: Preset = option(
        "best",
        "fills in options left on automatic. best: the pseudo-likelihood and κ, then pruning; "
        "paper: the paper's method without a penalty on node weights; literal: with it, as in the "
        "paper's equation 2",
        label="Preset",
        choices=("best", "paper", "literal"),
    )
    screening: Screens | None = screening_option(
        "in preset best all, and sample beyond 500,000 pairs; none in first hit and other presets"
    )
    group_weight: GroupWeight = option(
        "count",
        "d_g in penalty and score: the number of joint states (the paper), or its square root",
        label="Group weight d",
        advanced=True,
    )
    penalise_nodes: bool | None = option(
        None,
        "penalise node weights too (the paper's form; biases beliefs, so weak pairs may pass)",
        label="Penalise nodes",
        none_means="by preset: yes in literal, no in the others",
        advanced=True,
    )

    fit: FinalFit | None = option(
        None,
        "what the final weights of preset best are fitted to. likelihood: exact, so that the model "
        "has the shares of the data; pseudo-likelihood: as during the run",
        label="Final fit",
        choices=get_args(FinalFit),
        none_means="likelihood where exact inference is cheap",
        advanced=True,
    )

    def screening_of(self, n: int) -> str:
        """Return the screening of n variables."""
        if self.screening is None:
            return by_size(n) if self.screens and self.preset == "best" else NONE
        return self.screening

    def counted_pairs(self, n: int) -> int:
        """Return how many pairs of n variables a run counts at most."""
        return counted_pairs(n, self.screening_of(n))

    def settings(self, counts: PairCounts, *, has_rows: bool = True) -> Settings:
        """Return the options with automatic values resolved for the counted data."""
        return resolve(self, counts, has_rows=has_rows)

    def activation_test(self, counts: PairCounts) -> ActivationTest:
        """Return the test that activates edges."""
        return self.settings(counts).test

    def automatic(self, counts: PairCounts, *, has_rows: bool = True) -> dict[str, Any]:
        """Return the values that rules and the preset give to options, by name."""
        settings = self.settings(counts, has_rows=has_rows)
        values: dict[str, Any] = {
            "score": settings.score,
            "objective": settings.objective,
            "significance": settings.significance,
            "refit": settings.refit,
            "penalise_nodes": settings.penalty.nodes,
            "lam": settings.lam,
            "lam2": settings.penalty.lam2,
            "screening": self.screening_of(counts.n_variables),
        }
        budget = self.edge_budget(counts.n_variables)
        return values if budget == counts.tables_possible else {**values, "max_edges": budget}
