"""Bounded inference complexity: greedy maximum likelihood under a bound on the inference cost.

Most learners stop when the data support no further edge. This one stops when inference would become
too expensive: the edge with the largest likelihood gradient is activated as long as the cost of
inference stays within a bound that is chosen in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.bounded.clique_tables import EdgePenalty
from graftviz.learning.bounded.run import BoundedRun
from graftviz.learning.prior import PriorOptions
from graftviz.learning.trace import Outcome, Step
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, checked_seed, option, plain_name

Norm = Literal["group", "feature"]
Complexity = Literal["treewidth", "bp-sweeps", "trbp-sweeps", "seconds", "circuit-size"]
# Choices of the complexity → their names.
MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "treewidth": "treewidth",
        "bp-sweeps": "number of BP sweeps",
        "trbp-sweeps": "number of TRBP sweeps",
        "seconds": "inference time",
        "circuit-size": "circuit size",
    }
)
EXACT_LIMIT = 1 << 17


@dataclass(frozen=True)
class BoundedInference(PriorOptions):
    """Greedy maximum likelihood subject to R(model) ≤ τ.

    Every step activates one edge: of all pairs that keep R at most τ, the pair with the largest
    gradient norm ‖p_D(i, j) − p_w(i, j)‖₂ of the mean log-likelihood. Then all weights are fitted
    again, starting from their current values. The objective is the exact mean negative
    log-likelihood per row plus λ₂ Σ ‖w_e‖₂² + λ₁ Σ ‖w_e‖, with the 2-norm or, for `norm=feature`,
    the 1-norm. The gradients are exact, and the score of an edge is its gradient norm; with λ₁ that
    of the least subgradient, so that only pairs that violate the optimality conditions are added.
    Weights that λ₁ makes zero remain in the graph.

    With `stage_step` ε the weights are not fitted completely: after an edge with gradient norm g
    has been activated, the weights of every active edge with a gradient of at least g move towards
    those that maximise the likelihood over this edge, by at most ε at a time, until the gradient of
    no edge is above g. The weights of the nodes are always fitted. So all active edges have about
    the gradient of the best remaining pair, as on the path of a group-ℓ₁ penalty, which the paper's
    stage-wise gradient descent follows approximately. The run ends with the last feasible edge.

    The option `complexity` defines R. Two kinds follow from the graph, before a fit:

    - ``treewidth``: the width of the elimination order that the step reports, which is an upper
      bound of the treewidth. A pair is feasible if the current order keeps the width with it, or if
      min-fill (eliminating no variable with more than τ neighbours) finds an order that does. A
      refused pair is checked again later: with the current order at every step, with min-fill at
      every step for the first pairs of the ranking, and for all pairs before the run ends. A pair
      is excluded permanently if a subgraph proves that it raises the treewidth above τ.
    - ``circuit-size``: additions and multiplications of variable elimination, counting states,
      along the best of the current order and the orders of exact inference; see
      :meth:`graftviz.inference.exact.ordering.Elimination.operations`.

    The others are measured after a fit: the edge is fitted, R is measured, and the edge is removed
    again if R exceeds τ. Refused pairs are checked again when no other pair is left, and the run
    ends when a whole round adds no edge. With ``literal=True`` every step checks all pairs
    again, and R is measured as in algorithm 1, at the weights before the fit and zero for the new
    edge; the fitted model may then exceed τ.

    - ``bp-sweeps``, ``trbp-sweeps``: sweeps of (tree-reweighted) belief propagation from uniform
      messages until no message changes by a relative 10⁻⁶.
    - ``seconds``: processor time of inference, the median of three. As it is measured, two runs
      with the same seed may differ.
    - A function of the model that returns R, from Python.

    Required edges are added one after the other in the first step. If one of them exceeds the
    bound, or no order is found that keeps it, an :class:`InputError` says so.

    Exact inference is used as long as the cliques of the order have at most `exact_limit` entries
    in total. Beyond that, gradients, weights and the objective come from the inference named by
    `inference`, by moment matching (:mod:`graftviz.learning.bounded.likelihood_fit`). The
    tree-reweighted bound may loosen with an edge, as all edges share its trees. Such pairs are
    refused if `inference` is exact, and with a penalty or small steps, for which moment matching
    has no closed form.

    Data marginals include `pseudo_count` imaginary rows in which the variables are independent, so
    that the maximum exists even if combinations never occur. The paper's extensions, higher-order
    cliques and context-specific features, are not learned.

    Source: Das Gupta, Srinivasan, Sharma and Greiner, "Learning Markov networks with bounded
    inference complexity" (2013), algorithm 1.

    Examples
    --------
    >>> found = gv.learn(survey, gv.BoundedInference(complexity="treewidth", bound=1))
    >>> found.model.n_edges, found.trace.steps[-1].complexity.value
    (10, 1.0)
    """

    name: ClassVar[str] = "bounded-inference"
    title: ClassVar[str] = "Bounded inference"
    idea: ClassVar[str] = (
        "Adds the edge with the largest likelihood gradient as long as inference stays within a "
        "bound: a treewidth, a circuit size, sweeps or seconds. For models with cheap inference, "
        "exact likelihoods and a proven width."
    )
    source: ClassVar[str] = (
        "Das Gupta, Srinivasan, Sharma and Greiner, “Learning Markov networks with bounded "
        "inference complexity”, algorithm 1"
    )
    sentences: ClassVar[str] = "bound"
    pace: ClassVar[float] = 20.0
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("start", 0, "E = ∅; w_V = argmax ℓ(w); C = all pairs"),
        CodeLine("loop", 0, "repeat"),
        CodeLine("gradient", 1, "‖∇ₑℓ‖ = ‖p_D(e) − p_w(e)‖ of every pair e of C"),
        CodeLine("choose", 1, "e = the largest of them with R(V, E ∪ {e}) ≤ τ"),
        CodeLine("refuse", 1, "pairs that came before e passed τ: refused"),
        CodeLine("activate", 1, "E = E ∪ {e}; C = C − {e}"),
        CodeLine("fit", 1, "w = argmax ℓ(w), from where it was"),
        CodeLine("end", 0, "until no pair keeps R ≤ τ, or no gradient is left"),
    )

    complexity: Complexity | Callable[[PairwiseModel], float] = option(
        "treewidth",
        "R, the bounded measure: width of an elimination order, sweeps of (tree-reweighted) belief "
        "propagation, seconds of inference, or operations of exact inference; in Python also a "
        "function of the model",
        label="Complexity R",
        titles=tuple(MEASURES.values()),
    )
    bound: float | None = option(
        None,
        "τ, the upper bound of R",
        label="Bound τ",
        minimum=0.0,
        none_means="width 3, 30 sweeps, 0.01 s, or 50 operations per state",
    )
    max_edges: int | None = option(
        None,
        "edge budget: stop at this number of edges",
        label="Edge budget",
        minimum=1,
        none_means="until no edge keeps the bound",
    )
    inference: Literal["exact", "bp", "trbp"] | None = option(
        None,
        "inference whose seconds are measured; it also gives the gradients when exact inference is "
        "infeasible (exact: such pairs are refused)",
        label="Inference",
        titles=("exact", "belief propagation", "tree-reweighted belief propagation"),
        none_means="bp for bp-sweeps, else trbp",
        advanced=True,
    )
    lam2: float = option(
        0.0,
        "λ₂: weight of the squared-weight penalty on edges",
        label="λ₂",
        minimum=0.0,
        maximum=10.0,
        scale="log",
        advanced=True,
    )
    lam1: float = option(
        0.0,
        "λ₁: weight of the ℓ₁ penalty on edges",
        label="λ₁",
        minimum=0.0,
        maximum=1.0,
        scale="log",
        advanced=True,
    )
    norm: Norm = option(
        "group",
        "norm that λ₁ weights: ‖w_e‖₂ of every edge (group), or the sum of |w| of its weights "
        "(feature)",
        label="Norm of the ℓ₁ penalty",
        advanced=True,
    )
    stage_step: float | None = option(
        None,
        "ε of a stage-wise fit: after each edge, active edges whose gradient is at least that of "
        "the new one move by steps of at most ε; weights stay small, as with an ℓ₁ penalty",
        label="Small steps ε",
        minimum=0.001,
        maximum=10.0,
        scale="log",
        none_means="all weights are fitted after each edge",
        advanced=True,
    )
    pseudo_count: float = option(
        1.0,
        "pseudo-rows with independent variables added to the data; they give unseen combinations "
        "a positive probability",
        label="Pseudo-count",
        minimum=0.0,
        maximum=1_000_000.0,
        advanced=True,
    )
    exact_limit: int = option(
        EXACT_LIMIT,
        "total entries of all cliques up to which inference is exact",
        label="Exact up to",
        minimum=1,
        maximum=100_000_000,
        advanced=True,
    )
    literal: bool = option(
        False,
        "follow algorithm 1 to the letter: every step takes the best of all candidates, and R is "
        "measured before the fit, with weights of zero for the new edge; otherwise measured bounds "
        "hold for the fitted model, and refused pairs are checked again when no other is left",
        label="To the letter",
        advanced=True,
    )

    def edge_penalty(self) -> EdgePenalty:
        """Return the penalty of the edge weights."""
        return EdgePenalty(float(self.lam2), float(self.lam1), self.norm == "feature")

    def check(self, table: DiscreteTable) -> None:
        """Raise :class:`InputError` if the table and the options are incompatible."""
        super().check(table)
        if callable(self.complexity) and self.bound is None:
            raise InputError(
                f"No bound is given for the complexity {self.measure_name}. Give bound=τ."
            )
        if self.stage_step is not None and not self.edge_penalty().is_zero:
            raise InputError(
                "Small steps and a penalty are given, but both limit the weights. Use stage_step, "
                "or lam1 and lam2."
            )

    @property
    def measure_name(self) -> str:
        """Name of the complexity in sentences."""
        name: str = plain_name(self.complexity)
        return MEASURES.get(name, name)

    def resolved_inference(self) -> str:
        """Return the inference that is measured, with the automatic value resolved."""
        if self.inference is not None:
            return self.inference
        return "bp" if self.complexity == "bp-sweeps" else "trbp"

    def for_warm_up(self) -> Self:
        """Return the learner without options that require data of a certain size."""
        return replace(super().for_warm_up(), bound=None)

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; the seed is unused, as the algorithm is deterministic."""
        checked_seed(seed)
        run = BoundedRun(table, self)
        while run.add_required() or (run.has_room and run.add_edge()):
            sent = yield run.step()
            run.clock.resume()
            if isinstance(sent, BoundedInference):
                run.switch(sent)
        return run.finish()
