"""Reports of a learner: immutable Steps, an Outcome at the end, and a Trace of all.

The *state* that a learner needs for its next step is internal to the learner. The *reports* defined
here are for observers: the app, the command line, tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from graftviz.inference.prediction import PairwiseMRF
from graftviz.learning.history import Changes, History
from graftviz.utils.arrays import freeze, read_only

Kind = Literal["start", "exchange", "restart", "best"]


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Exchange of edges and the following fit with tied parameters. Immutable.

    All values are mean pseudo-likelihoods per training row, in nats.

    Attributes
    ----------
    kind : {"start", "exchange", "restart", "best"}
        The first model; an exchange of k edges; a new start from the tree; or the return to the
        best model, as the last step of a run that ends at another model.
    removed, added : int32 arrays, shapes (k, 2)
        Removed edges, smallest contribution first; added edges, largest gain first.
    contributions : float64 array, shape (k,)
        Loss of pseudo-likelihood without each removed edge, all other weights fixed.
    gains : float64 array, shape (k,)
        Gain of each added edge when only its weights are fitted, all other weights fixed. For
        edges that were not chosen by gain (those of a start or of the best model) it is the
        contribution after the fit.
    before, after : float
        Pseudo-likelihood before the exchange and after the fit.
    best : float
        Largest pseudo-likelihood so far.
    tries, accepted : int
        Numbers of subsets drawn and accepted for the deletion; 0 for greedy deletion.
    fallback : bool
        Whether no subset was accepted within the allowed tries; one of those drawn was used then.
    values : float64 array, shape (p,)
        All parameters before tying, nodes first.
    centres : float64 array, shape (K,)
        Shared values, ascending at the time of clustering and fitted again afterwards.
    assignment : int64 array, shape (p,)
        Index of the centre of each parameter; ``centres[assignment]`` are the model's parameters.
    tree : int
        Number of the model's edges that are edges of the Chow–Liu tree.
    required : int
        Number of the model's edges that are required, and not in the tree.
    """

    kind: Kind
    removed: np.ndarray
    contributions: np.ndarray
    added: np.ndarray
    gains: np.ndarray
    before: float
    after: float
    best: float
    tries: int
    accepted: int
    fallback: bool
    values: np.ndarray
    centres: np.ndarray
    assignment: np.ndarray
    tree: int
    required: int = 0

    def __post_init__(self) -> None:
        freeze(
            self.removed,
            self.contributions,
            self.added,
            self.gains,
            self.values,
            self.centres,
            self.assignment,
        )

    @property
    def acceptance(self) -> float | None:
        """Share of drawn subsets that were accepted; None if none was drawn."""
        return self.accepted / self.tries if self.tries else None


# Verdicts of one edge test, in the order of the checks of the activation test (alg. 3).
ADMITTED = 0  # violates, and the reservoir was not full
DISPLACED_MINIMUM = 1  # violates, and replaced the weakest of a full reservoir
TOO_WEAK = 2  # violates, but is not better than the weakest of a full reservoir
PASSED = 3  # does not violate: effective score ≤ λ
NO_PAIRS = read_only(np.zeros((0, 2), dtype=np.int32))


FEATURE_TOLERANCE = 1e-8  # of fits of features: a score must exceed λ by more


class ActivationTest(NamedTuple):
    """Activation test C₂: an edge violates if its score is above λ and if it passes the test of κ.

    Attributes
    ----------
    score : str
        Name of the score, e.g. "belief".
    lam : float
        λ.
    significance : float
        κ, the level of :func:`graftviz.learning.scores.pair_test.pair_test` in standard deviations;
        0: only λ applies.
    usual : float
        κ before it was lowered; 0 if it was not.
    usual_for : frozenset of int
        Variables with fewer than two edges then, whose pairs keep it.
    by_noise : bool
        Whether scores of features are divided by units that follow from their noise
        (:func:`graftviz.learning.weights.noise.feature_thresholds`).
    """

    score: str
    lam: float
    significance: float = 0.0
    usual: float = 0.0
    usual_for: frozenset[int] = frozenset()
    by_noise: bool = False

    def significance_of(self, i: int, j: int) -> float:
        """Return κ of a pair."""
        return self.usual if i in self.usual_for or j in self.usual_for else self.significance

    @property
    def symbol(self) -> str:
        """Symbol of the deciding threshold: "κ" or "λ"."""
        return "κ" if self.significance > 0.0 else "λ"

    @property
    def words(self) -> str:
        """Threshold of scores as text: "λ = 0.001", "κ = 3.35 standard deviations"."""
        if self.significance > 0.0:
            return f"κ = {self.significance:g} standard deviations"
        return f"λ = {self.lam:g}"


class ScoredEdge(NamedTuple):
    """Edge (source < target) with its score at activation.

    Examples
    --------
    >>> edge = result.trace.steps[0].activated[0]
    >>> edge.source, edge.target, round(edge.score, 3)
    (0, 7, 0.064)
    """

    source: int
    target: int
    score: float


class ScoredFeature(NamedTuple):
    """Joint state (a, b) of a pair i < j with its score at activation."""

    source: int
    target: int
    source_state: int
    target_state: int
    score: float


class Seconds(NamedTuple):
    """Engine time so far in seconds, without reading, compiling, metrics and writing."""

    total: float = 0.0
    statistics: float = 0.0
    scoring: float = 0.0
    fitting: float = 0.0
    other: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class EdgeTests:
    """Edge tests of one step, in order.

    Attributes
    ----------
    edges : int32 array, shape (k, 2)
    scores : float64 array, shape (k,)
    verdicts : int8 array, shape (k,)
        Each one of `ADMITTED`, `DISPLACED_MINIMUM`, `TOO_WEAK`, `PASSED`.
    """

    edges: np.ndarray
    scores: np.ndarray
    verdicts: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class ReservoirView:
    """Reservoir R at the choice of edges, best score first.

    Attributes
    ----------
    edges : int32 array, shape (k, 2)
    scores : float64 array, shape (k,)
    mean, tau, maximum : float
        μ, τ_α = (1 − α) μ + α max, and the maximum; the interval I_α is [τ_α, max].
    capacity : int
        |R|.

    Examples
    --------
    >>> view = result.trace.steps[0].reservoir
    >>> view.capacity, len(view.edges), view.mean < view.tau <= view.maximum
    (11, 11, True)
    """

    edges: np.ndarray
    scores: np.ndarray
    mean: float
    tau: float
    maximum: float
    capacity: int


def _empty(dtype: type) -> np.ndarray:
    return read_only(np.zeros(0, dtype=dtype))


NO_NODES = _empty(np.int32)
NO_TESTS = EdgeTests(NO_PAIRS, _empty(np.float64), _empty(np.int8))


@dataclass(frozen=True, slots=True, eq=False)
class Complexity:
    """Cost of inference after a step, and the choice of the step's edge. Immutable.

    Attributes
    ----------
    measure : str
        "treewidth", "bp-sweeps", "trbp-sweeps", "seconds", "circuit-size", or the name of a
        function.
    value : float
        R of the model after this step; at most `bound`.
    bound : float
        τ.
    infeasible : int
        Number of inactive pairs known to exceed the bound.
    newly_infeasible : int
        Number of these pairs that were found in this step.
    order : int32 array, shape (n,)
        An elimination order of the graph after this step, which proves `width` (and the circuit
        size, if that is the measure).
    width : int
        Largest number of neighbours of a variable when it is summed out in that order.
    gradient_norm : float
        ‖∇_e ℓ‖₂ of the chosen edge: data marginal minus model marginal of the pair.
    inference : str
        Inference that the gradients of this step came from: "exact", "bp" or "trbp".
    """

    measure: str
    value: float
    bound: float
    infeasible: int
    newly_infeasible: int
    order: np.ndarray
    width: int
    gradient_norm: float
    inference: str

    def __post_init__(self) -> None:
        self.order.flags.writeable = False


class Remark(NamedTuple):
    """Stop reason or note of a learner: what happened, with its numbers; no words.

    Attributes
    ----------
    kind : str
        Part and key of its template in ``reports/texts/en/ends.toml``, such as "reasons.budget".
    values : mapping
        Numbers, names of variables and states, and remarks that its sentence contains.

    Examples
    --------
    >>> gv.learn(survey, gv.ChowLiu(max_edges=3)).trace.outcome.stop_reason
    Remark(kind='reasons.budget', values={'budget': 3})
    """

    kind: str
    values: Mapping[str, str | int | float | Remark]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Step:
    """Report of one activation step. Immutable.

    Attributes
    ----------
    index : int
        Number of activation steps so far, including this one.
    activated : tuple of ScoredEdge
        Edges activated in this step, best score first.
    required : bool
        Whether they are the required edges, which are activated without a test.
    n_edges : int
        Number of active edges after this step.
    removed : int32 array, shape (k, 2)
        Edges removed in this step.
    objective, previous_objective : float
        𝕃(w) after and before this step (nats per row); before step 1 the model has no edges.
    kkt_residual : float
        Largest violation of the optimality conditions over nodes and active edges after the refit.
    reservoir : ReservoirView or None
        None for learners without a reservoir.
    skipped_adjacent, replaced, dropped : int32 arrays, shape (k, 2)
        Reservoir edges above τ_α that were skipped, as they share a node with an edge chosen in
        this step; edges displaced from the full reservoir by better ones; edges that no longer
        violated after the *previous* refit.
    queue, frozen, unseen : int
        Numbers of stored queue entries, of edges in the frozen list L, and of pairs never drawn.
    tests, tests_total : int
        Numbers of edge tests in this step and so far.
    test_limit : int or None
        t_max, or on the first step the cap on first tests; None: no limit.
    tables_counted, tables_possible, pairs_screened : int
        Numbers of pair tables counted so far, of all pairs, and of pairs compared on sampled rows.
    hubs : int32 array
        Nodes whose centrality is above the threshold.
    seconds : Seconds
    tested : EdgeTests
        Empty for learners that score every pair at every step.
    lines : tuple of str
        Keys of the learner's pseudo-code lines that ran in this step.
    notes : tuple of Remark
        For instance that the first filling of R stopped at its cap.
    changes : Changes
    history : History
    test : ActivationTest or None
        Activation test of this step; None for learners without a test.
    features : tuple of ScoredFeature
        Features activated in this step, including those of edges that were active before. Empty
        for learners that activate whole edges.
    exchange : Exchange or None
        Exchange of forced pruning.
    complexity : Complexity or None
        Cost of inference, for learners that bound it.

    Examples
    --------
    >>> step = result.trace.steps[0]
    >>> [(survey.names[edge.source], survey.names[edge.target]) for edge in step.activated]
    [('home', 'garden')]
    >>> step.model()
    <PairwiseMRF: 11 variables of 2 to 4 states, 1 edges>
    """

    index: int
    activated: tuple[ScoredEdge, ...]
    n_edges: int
    removed: np.ndarray = field(default_factory=lambda: NO_PAIRS)
    objective: float
    previous_objective: float
    kkt_residual: float
    reservoir: ReservoirView | None = None
    skipped_adjacent: np.ndarray = field(default_factory=lambda: NO_PAIRS)
    replaced: np.ndarray = field(default_factory=lambda: NO_PAIRS)
    dropped: np.ndarray = field(default_factory=lambda: NO_PAIRS)
    queue: int = 0
    frozen: int = 0
    unseen: int = 0
    tests: int
    tests_total: int
    test_limit: int | None = None
    tables_counted: int
    tables_possible: int
    pairs_screened: int = 0
    hubs: np.ndarray = field(default_factory=lambda: NO_NODES)
    seconds: Seconds
    tested: EdgeTests = NO_TESTS
    lines: tuple[str, ...]
    notes: tuple[Remark, ...] = ()
    changes: Changes
    history: History
    test: ActivationTest | None = None
    features: tuple[ScoredFeature, ...] = ()
    exchange: Exchange | None = None
    complexity: Complexity | None = None
    required: bool = False

    def model(self) -> PairwiseMRF:
        """Return the model after this step."""
        return self.history.state_at(self.index).model

    def active_edges(self) -> np.ndarray:
        """Return all active edges after this step, in order of activation, shape (m, 2)."""
        return self.history.edges_at(self.index)

    def feature_counts(self) -> np.ndarray:
        """Return the numbers of active and of all features of each active edge, shape (m, 2)."""
        return self.history.feature_counts_at(self.index)

    def degrees(self) -> np.ndarray:
        """Return the degree of every node after this step, shape (n,)."""
        return np.bincount(
            self.active_edges().reshape(-1), minlength=self.history.start.n_variables
        )


class Screening(NamedTuple):
    """Selection of candidate pairs by their χ² on sampled rows.

    Attributes
    ----------
    rows : int
        Number of sampled rows m.
    pairs, candidates : int
        Numbers of screened pairs and of candidates.
    """

    rows: int
    pairs: int
    candidates: int


class MarginalCheck(NamedTuple):
    """Comparison of the pair marginals of the final model with those of the data.

    Attributes
    ----------
    pairs : int
        Number of inactive pairs compared.
    rows : int
        Number of rows drawn from the model; 0: its marginals were computed exactly.
    deviating : int
        Number of pairs that deviate by more than noise.
    worst_edge : tuple of int or None
        The pair with the largest deviation; None if no pair was compared.
    states : tuple of int or None
        Its joint state with the largest difference.
    observed, expected : float
        Share of that state in the data and in the model.
    node_gap : float or None
        Largest difference between the share of a state of one variable in the model and in the
        data: exact, or in rows drawn from the model; None if it was not measured.
    """

    pairs: int
    rows: int
    deviating: int
    worst_edge: tuple[int, int] | None = None
    states: tuple[int, int] | None = None
    observed: float = 0.0
    expected: float = 0.0
    node_gap: float | None = None


class Certificate(NamedTuple):
    """Check of the inactive edges (or features) at the final weights.

    Attributes
    ----------
    scored : int
        Number of inactive edges (or features) scored at the final weights.
    possible : int
        Number of all inactive edges (or features); after a screening, of all inactive candidates.
    worst_score : float or None
        Largest score; None if none was scored.
    worst_edge : tuple of int or None
    threshold : float
        Score above which an edge violates.
    score : str
        Name of the score, e.g. "belief".
    objective : str
        Name of the objective, e.g. "Bethe likelihood".
    symbol : str
        Symbol of the threshold: "λ", or "κ" if scores are shares of the threshold of their pair,
        times κ.
    unit : str
        Scored items: "edge" or "feature".
    worst_states : tuple of int or None
        Joint state of `worst_edge`, if features were scored.
    screening : Screening or None
        The selection of the candidates; None: all pairs count.
    marginals : MarginalCheck or None
        Comparison of all pair marginals; None if the run does not make it.

    Examples
    --------
    >>> result.certificate.scored, result.certificate.possible, result.certificate.score
    (44, 44, 'pseudo-likelihood')
    """

    scored: int
    possible: int
    worst_score: float | None
    worst_edge: tuple[int, int] | None
    threshold: float
    score: str
    objective: str
    symbol: str = "λ"
    unit: str = "edge"
    worst_states: tuple[int, int] | None = None
    screening: Screening | None = None
    marginals: MarginalCheck | None = None

    @property
    def proves_optimality(self) -> bool:
        """Whether every inactive edge (or candidate) was scored, and none violates or deviates."""
        deviating = self.marginals is not None and self.marginals.deviating > 0
        return self.none_violates and not deviating

    @property
    def none_violates(self) -> bool:
        """Whether every inactive edge (or candidate) was scored, and no score violates."""
        worst = self.worst_score
        limit = self.threshold + (FEATURE_TOLERANCE if self.unit == "feature" else 0.0)
        return self.scored == self.possible and (worst is None or worst <= limit)


class HeldOut(NamedTuple):
    """Mean negative log pseudo-likelihood of rows left out of fits, and their number.

    Attributes
    ----------
    nlpl : float
        Nats per row.
    independent : float
        Loss by independent columns with the shares of the rows that were fitted.
    rows : float
    """

    nlpl: float
    independent: float
    rows: float


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Outcome of a run, returned by a learner's generator.

    Attributes
    ----------
    stop_reason : Remark
        `Result.stop_reason` has its sentence.
    converged : bool
        True only if the certificate proves it, after a screening for the candidates.
    certificate : Certificate
    objective, kkt_residual : float
        Values at the final, polished weights; where node weights were corrected by sampling, the
        residual before.
    bp_restart_gap : float or None
        Largest difference between the learner's node beliefs and those of BP from uniform
        messages on the final model; a large value means that the fixed point is unstable. None
        where the weights were fitted by exact inference.
    tests : int
        Number of all edge tests, including those after the last step.
    tables_counted, tables_possible, pairs_screened : int
        Pairs screened are those compared on sampled rows, which are not counted as tables.
    seconds : Seconds
    history : History
        Its last entry is the final polish.
    objective_name : str
        Name of `objective`; after a final refit, that of the refit.
    infeasible : int or None
        Inactive pairs found to pass a bound on inference, those of the certificate included; None
        without such a bound.
    automatic : mapping
        Values that rules gave to automatic options, by name.
    held_out : HeldOut or None
        Loss of rows left out of fits of the final graph, if penalties were chosen by them.

    Examples
    --------
    >>> outcome = result.trace.outcome
    >>> outcome.converged, outcome.stop_reason.kind
    (True, 'marginals.exact')
    """

    stop_reason: Remark
    converged: bool
    certificate: Certificate
    objective: float
    kkt_residual: float
    bp_restart_gap: float | None
    tests: int
    tables_counted: int
    tables_possible: int
    seconds: Seconds
    history: History
    pairs_screened: int = 0
    objective_name: str = "Bethe likelihood"
    infeasible: int | None = None
    automatic: Mapping[str, Any] = field(default_factory=dict)
    held_out: HeldOut | None = None

    @property
    def dropped_at_the_end(self) -> np.ndarray:
        """Edges that the final fit removed, shape (k, 2)."""
        pairs = [self.history.activations[e] for e in self.history.removals[-1]]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def model(self) -> PairwiseMRF:
        """Return the final model."""
        return self.history.state_at(len(self.history.counts)).model

    def feature_counts(self) -> np.ndarray:
        """Return the numbers of active and of all features of each edge, shape (m, 2)."""
        return self.history.feature_counts_at(len(self.history.counts))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """All steps of a run and, once it has ended, its outcome.

    Examples
    --------
    >>> len(result.trace.steps), result.trace.outcome is None
    (11, False)
    """

    steps: tuple[Step, ...]
    outcome: Outcome | None

    def __repr__(self) -> str:
        ended = "" if self.outcome is not None else ", not ended"
        return f"<Trace: {len(self.steps):,} steps{ended}>"

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, index: int) -> Step:
        return self.steps[index]

    @property
    def stop_reason(self) -> Remark:
        """Stop reason of the learner, or that the run was interrupted after its last step."""
        if self.outcome is None:
            return Remark("reasons.interrupted", {"step": len(self.steps)})
        return self.outcome.stop_reason
