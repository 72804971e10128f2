"""Forced pruning: a fixed number of edges, of which the k worst are exchanged for the k best.

Most learners find the number of edges by a penalty. Here the number M is fixed and the best M edges
are sought: starting from the Chow–Liu tree and random further edges, each exchange removes k edges
that contribute little to the pseudo-likelihood and adds the k pairs with the largest gain, even if
the pseudo-likelihood falls at first. Parameters are tied: they share K values, which are learned.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse.csgraph import connected_components

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner, checked_budget
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.prior import PriorOptions
from graftviz.learning.pruning.run import ExchangeRun
from graftviz.learning.trace import Outcome, Step
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, checked_seed, option

_WARM_UP_EXCHANGES = 2  # exchanges of a run that only compiles

Heuristic = Literal["greedy", "rejection", "mcmc"]
# Deletion rules: choice → its name.
HEURISTICS: Mapping[str, str] = MappingProxyType(
    {"greedy": "greedy", "rejection": "rejection", "mcmc": "MCMC"}
)
EXCHANGE = 5
CLUSTERS = 16
MCMC_SWAPS = 50  # per exchanged edge
MOST_DRAWS = 100_000


@dataclass(frozen=True)
class ForcedPruning(PriorOptions):
    """Learner of models with exactly M edges, improved by exchanges of k edges.

    The first step is the start: the Chow–Liu tree and M − (n − 1) random further edges, fitted.
    Every further step is one exchange. The fit maximises the mean pseudo-likelihood per row minus
    λ₂ Σ θ_j² with automatic parameter tying: first the θ_j are pulled to the nearest of K centres
    by the penalty β Σ_j (θ_j − μ_{a_j})², alternating with exact 1-D k-means until nothing moves;
    then θ_j = μ_{a_j}, and the K values are fitted again. Nodes and edges are tied in one pool, as
    log-odds of deviations from the mean of the data (:mod:`graftviz.learning.weights.deviations`):
    this parametrisation is minimal, and in it tying and pruning disturb the other parameters least.

    The contribution of an edge is the loss of pseudo-likelihood without it, all other weights
    fixed; the gain of an inactive pair is the increase when only the pair's weights are fitted. The
    score of an activated edge is its gain; the score of an edge of a start, or of an edge that
    returns with the best model, is its contribution. The result is the best model visited, by
    pseudo-likelihood of the training rows; if it is not the last one, the last step returns to it.

    Required edges are in every start and never exchanged, forbidden pairs in no tree, start or
    exchange. With required edges the first step has only these, before the start adds the others.

    The certificate checks whether one more exchange would gain: its score of an inactive pair is
    the pair's gain minus the smallest contribution in the model. A pair with a constant variable
    has gain 0 and is never an edge. Greedy exchanges stop when the next one would lead to a model
    already visited, with the same edges and values; random ones continue to the limit.

    Source: Abdelatty, Sahoo and Roy, "Structure learning using forced pruning", algorithm 2; tying:
    Chou et al., "Automatic parameter tying" (2018).

    Examples
    --------
    >>> gv.learn(survey, gv.ForcedPruning(max_edges=11, exchanges=3)).model.n_edges
    11
    """

    name: ClassVar[str] = "forced-pruning"
    title: ClassVar[str] = "Forced pruning"
    idea: ClassVar[str] = (
        "Keeps the number of edges fixed and repeatedly swaps the k worst for the k best. For "
        "models of a chosen size with few distinct weights."
    )
    source: ClassVar[str] = "Abdelatty, Sahoo and Roy, “Structure learning using forced pruning”"
    sentences: ClassVar[str] = "exchange"
    pace: ClassVar[float] = 60.0
    has_budget: ClassVar[bool] = False
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("start", 0, "P = Chow–Liu tree ∪ random other edges, M in all"),
        CodeLine("loop", 0, "repeat"),
        CodeLine("fit", 1, "θ = argmax PLL(P) − β Σ (θⱼ − μ_aⱼ)² − λ₂ Σ θⱼ²; a, μ = k-means of θ"),
        CodeLine("tie", 1, "θⱼ = μ_aⱼ; fit the K values μ again"),
        CodeLine("keep", 1, "keep P, θ if their PLL is the best so far"),
        CodeLine("delete", 1, "D = k edges of P that contribute least (or a drawn subset)"),
        CodeLine("add", 1, "A = the k pairs outside P with the largest gain"),
        CodeLine("exchange", 1, "P = (P − D) ∪ A"),
        CodeLine("best", 0, "return the best P, θ"),
    )

    max_edges: int | None = option(
        None,
        "M, the number of edges of the model: at least n − 1, the size of a tree, for n variables "
        "that vary",
        label="Edges M",
        minimum=1,
        none_means="2 (n − 1)",
    )
    exchange: int | None = option(
        None,
        "k, the number of edges per exchange; 0: only the start is fitted",
        label="Exchange k",
        minimum=0,
        maximum=100_000,
        none_means=f"{EXCHANGE}, at most M",
    )
    heuristic: Heuristic = option(
        "greedy",
        "deletion rule: the edges with the smallest contribution (greedy), or a subset drawn from "
        "the distribution ∝ exp(PLL without it), by rejection sampling or a Markov chain (mcmc)",
        label="Deletion",
        titles=tuple(HEURISTICS.values()),
    )
    clusters: int | None = option(
        None,
        "K, the number of distinct parameter values",
        label="Clusters K",
        minimum=1,
        maximum=1_000_000,
        none_means=f"{CLUSTERS}, at most one per parameter",
    )
    exchanges: int = option(
        50,
        "maximum number of exchanges per start",
        label="Exchanges",
        minimum=0,
        maximum=10_000,
    )
    restarts: int = option(
        0,
        "number of further starts from the tree with other random edges",
        label="Restarts",
        minimum=0,
        maximum=1000,
    )
    sample_additions: bool = option(
        False,
        "draw the added pairs with probabilities proportional to their gains, instead of taking "
        "the largest",
        label="Draw pairs",
        advanced=True,
    )
    tied: bool = option(
        True,
        "tie the parameters; false: every parameter has its own value",
        label="Tie values",
        advanced=True,
    )
    beta: float = option(
        0.01,
        "β: strength of the pull towards the centres before tying, per row",
        label="β (tying)",
        minimum=0.0,
        maximum=1000.0,
        scale="log",
        advanced=True,
    )
    lam2: float | None = option(
        None,
        "λ₂: weight of the squared-parameter penalty",
        label="λ₂",
        minimum=0.0,
        maximum=10.0,
        scale="log",
        none_means="1 / (2N), a standard normal prior",
        advanced=True,
    )
    tries: int | None = option(
        None,
        "maximum number of subsets (rejection) or swaps (mcmc) per exchange",
        label="Tries",
        minimum=1,
        maximum=10_000_000,
        none_means=f"{MOST_DRAWS:,} (rejection), {MCMC_SWAPS}k (mcmc)",
        advanced=True,
    )

    def check(self, table: DiscreteTable) -> None:
        """Raise :class:`InputError` if the table and the options are incompatible."""
        super().check(table)
        if not table.has_rows:
            raise InputError(
                "Forced pruning needs the rows in memory, not only the counts of pairs; use a "
                "learner such as chow-liu."
            )
        edges = self.model_edges(table.n_variables, int(table.varying.sum()))
        least = self._tree_size(table)
        if edges < least:
            raise InputError(
                f"{edges:,} edges are too few: forced pruning starts from a tree, which has "
                f"{least:,} edges on the variables that vary. Use at least {least:,} edges."
            )
        if self.exchange is not None and self.exchange > edges:
            raise InputError(
                f"The exchange size {self.exchange:,} exceeds the number of edges, {edges:,}. Use "
                f"an exchange of at most {edges:,}, or more edges."
            )
        if self.tied and self.clusters is not None:
            free = table.cardinalities - 1
            pairs = np.triu(np.outer(free, free), 1)[np.triu_indices(len(free), 1)]
            most = int(free.sum() + np.sort(pairs)[::-1][:edges].sum())
            if self.clusters > most:
                raise InputError(
                    f"{self.clusters:,} clusters exceed the number of parameters, at most {most:,} "
                    f"with {edges:,} edges on these variables. Use at most {most:,} clusters, or "
                    "untied parameters (tied=false)."
                )

    def _tree_size(self, table: DiscreteTable) -> int:
        """Return the number of edges of a tree over the variables that vary.

        It is a forest if forbidden pairs separate groups of variables.
        """
        allowed = np.outer(table.varying, table.varying)
        i, j = self.prior(table.names).forbidden.T
        allowed[i, j] = allowed[j, i] = False
        return table.n_variables - int(connected_components(allowed, return_labels=False))

    def edge_budget(self, n: int) -> int:
        """Return M, the number of edges among n variables that vary.

        Raises
        ------
        InputError
            If M exceeds the number of pairs.
        """
        if self.max_edges is None:
            return min(2 * max(n - 1, 0), n * (n - 1) // 2)
        return checked_budget(self.max_edges, n)

    def model_edges(self, n: int, varying: int) -> int:
        """Return M for n variables, of which so many vary."""
        return self.edge_budget(varying if self.max_edges is None else n)

    def weight_penalty(self, rows: float) -> float:
        """Return λ₂ for so many rows, the sum of their weights."""
        return 0.5 / rows if self.lam2 is None else self.lam2

    def exchange_size(self, edges: int) -> int:
        """Return k for a model with `edges` edges."""
        return min(EXCHANGE, edges) if self.exchange is None else self.exchange

    def cluster_count(self, parameters: int) -> int:
        """Return K for a model with `parameters` parameters; `parameters` if they are not tied."""
        if not self.tied:
            return parameters
        return min(CLUSTERS if self.clusters is None else self.clusters, parameters)

    def most_tries(self, exchange: int) -> int:
        """Return the largest number of subsets drawn for an exchange of k edges."""
        if self.tries is not None:
            return self.tries
        return MCMC_SWAPS * exchange if self.heuristic == "mcmc" else MOST_DRAWS

    def automatic(self, counts: PairCounts, *, has_rows: bool = True) -> dict[str, Any]:
        """Return the values that rules give to options, by name."""
        return self.automatic_for(counts.n_variables, int(counts.varying.sum()), counts.n_rows)

    def automatic_for(self, n: int, varying: int, rows: float) -> dict[str, Any]:
        """Return the values for n variables, of which so many vary, and the sum of row weights."""
        edges = self.model_edges(n, varying)
        values: dict[str, Any] = {
            "max_edges": edges,
            "exchange": self.exchange_size(edges),
            "lam2": self.weight_penalty(rows),
            "tries": self.most_tries(self.exchange_size(edges)),
        }
        clusters = CLUSTERS if self.clusters is None else self.clusters
        return {**values, "clusters": clusters} if self.tied else values

    def for_warm_up(self) -> Self:
        """Return the learner for few exchanges, without options that require data of some size."""
        few = min(self.exchanges, _WARM_UP_EXCHANGES)
        learner = super().for_warm_up()
        return replace(learner, exchange=None, clusters=None, exchanges=few)

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; `seed` draws the random edges and, if requested, the subsets."""
        run = ExchangeRun(table, self, checked_seed(seed))
        while run.advance():
            sent = yield run.step()
            run.clock.resume()
            if isinstance(sent, ForcedPruning):
                run.switch(sent)
        return run.finish()
