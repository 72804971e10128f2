"""Nodewise group-ℓ₁ pseudo-likelihood: one penalised regression per variable, along a path of λ.

Every variable is regressed on all others (multinomial logistic regression), with a group penalty
per neighbour. The neighbours with non-zero weights are its neighbourhood, and a rule combines the
two neighbourhoods of a pair into the decision on its edge. This is the most common method for
structure learning.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, Literal

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.nodewise.path import PathRun
from graftviz.learning.prior import PriorOptions
from graftviz.learning.scores.base import GroupWeight
from graftviz.learning.trace import Outcome, Step
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, option


@dataclass(frozen=True)
class NodewiseL1(PriorOptions):
    """Group-ℓ₁ penalised nodewise pseudo-likelihood.

    λ decreases along a path, evenly spaced in its logarithm, from the largest score of any pair
    (above which there is no edge) to `lam`. At each λ the sum over variables i of

        −(1/N) Σ_m log p(x_i | x_others) + λ Σ_j d_ij ‖W_ij‖₂ + λ₂ Σ_j ‖W_ij‖₂²

    is minimised, starting from the previous weights; intercepts are free. This sum is the
    objective; it falls along the path because λ does. Each edge is estimated twice, by W_ij and by
    W_ji, and `rule` defines how the two norms decide. One step is one λ at which the graph changes;
    edges may also be removed. The score of an activated edge is the gradient norm of its group
    divided by d_ij at the time the group entered; the rule combines the two directions.

    The model has w_ij = (W_ij + W_jiᵀ) / 2, and node weights that are fitted again by
    pseudo-likelihood with fixed edges: the mean of p(x_i | x_others) over the rows equals the
    observed shares. The KKT residual is that of the regressions, over all variables and neighbours.
    The certificate scores each inactive pair in every direction in which its weights are zero.

    Required edges are in the graph at every λ; they are penalised like others, so at a large λ
    their weights are zero. Forbidden pairs are in no regression.

    Without `lam`, each pair has its own threshold, and one level holds for all: about one edge per
    50 variables is added by chance. λ is the mean of threshold / d over pairs, with d of
    `group_weight`, and d_ij is scaled such that λ d_ij at the last λ of the path is the threshold

        σ_ij √(q_ij / k_ij),   σ_ij² = (1 − ‖p_i‖²)(1 − ‖p_j‖²) / N,

    of ‖p_i p_jᵀ − p_D‖, with the quantile q_ij of the gamma distribution of shape k_ij, which
    follows from the numbers of states and their shares
    (:func:`graftviz.learning.scores.pair_test.pair_test`). A number for `lam` is the last λ of all
    pairs, and d_ij is that of `group_weight`, so that noise is above λ in pairs of few states
    first.

    Source: Ravikumar, Wainwright and Lafferty, "High-dimensional Ising model selection using
    ℓ₁-regularized logistic regression" (2010); with groups: Jalali et al. (2011).

    Examples
    --------
    >>> gv.learn(survey, gv.NodewiseL1(max_edges=10)).model.n_edges
    10
    """

    name: ClassVar[str] = "nodewise-l1"
    title: ClassVar[str] = "Nodewise group-ℓ₁"
    idea: ClassVar[str] = (
        "Regresses every variable on all others with a penalty per neighbour, and lowers λ step by "
        "step. The usual way to learn a graph: accounts for indirect dependence, at the cost of "
        "using every pair at every λ."
    )
    source: ClassVar[str] = "Ravikumar, Wainwright and Lafferty (2010); Jalali et al. (2011)"
    sentences: ClassVar[str] = "path"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("count", 0, "s = ‖pᵢpⱼᵀ − p_D‖ / d of all pairs; λ starts at the largest"),
        CodeLine("lower", 0, "for each λ of the path, downwards"),
        CodeLine("fit", 1, "for each i: fit log p(xᵢ | x_active) with penalty λ d ‖Wᵢⱼ‖"),
        CodeLine("check", 1, "score all pairs: where ‖gradient‖ / d > λ, let j in and fit again"),
        CodeLine("rule", 1, "edges: where both (either, the mean) of ‖Wᵢⱼ‖, ‖Wⱼᵢ‖ are above 0"),
        CodeLine("average", 1, "w = mean of the two estimates; fit the node weights again"),
    )

    lam: float | None = option(
        None,
        "λ: the last one of the path; weight of the group penalty per neighbour",
        label="λ",
        above=0.0,
        maximum=1.0,
        scale="log",
        none_means="a threshold for each pair, such that chance adds one edge per 50 variables",
    )
    path: int = option(
        12,
        "number of values of λ from the largest useful one down to the last",
        label="Path length",
        minimum=1,
        maximum=1000,
    )
    rule: Literal["and", "or", "mean"] = option(
        "or",
        "combination of the two estimates of an edge: the smaller norm (and), the larger (or), or "
        "their mean",
        label="Rule",
    )
    min_norm: float = option(
        0.0,
        "norm of the weights, as the rule takes it, that an edge must exceed",
        label="Least norm",
        minimum=0.0,
        advanced=True,
    )
    lam2: float = option(
        0.0,
        "λ₂: weight of the squared norm; larger values shrink the weights",
        label="λ₂",
        minimum=0.0,
        maximum=10.0,
        scale="log",
    )
    max_edges: int | None = option(
        None,
        "edge budget: the path ends where it would be exceeded, with the strongest edges",
        label="Edge budget",
        minimum=1,
        none_means="until λ is reached",
    )
    group_weight: GroupWeight = option(
        "count",
        "d in penalty and score: the number of joint states, or its square root; without a number "
        "for λ, only the unit of λ and of scores",
        label="Group weight d",
        advanced=True,
    )

    def check(self, table: DiscreteTable) -> None:
        """Raise :class:`InputError` if `table` is too small or has no rows."""
        super().check(table)
        if not table.has_rows:
            raise InputError(
                "The regressions need the rows in memory, not only the counts of pairs; use a "
                "learner such as chow-liu."
            )

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; the seed is unused, as the algorithm is deterministic."""
        run = PathRun(table.repeated(), self)
        while run.has_more:
            if run.begin_required() or run.lower():
                sent = yield run.step()
                run.clock.resume()
                if isinstance(sent, NodewiseL1):
                    run.switch(sent)
        return run.finish()
