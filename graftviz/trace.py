"""What a learner reports: immutable Steps, an Outcome at the end, a Trace of all.

A learner's *state* is what its next step needs and lives with the learner; what stands here is the
*report*, made for observers: the app, the command line, tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graftviz.complexity import Complexity
from graftviz.exchange import Exchange
from graftviz.history import Changes, History
from graftviz.model import PairwiseMRF

# Verdicts of one edge test, in the order the activation test (Alg. 3) asks.
ADMITTED = 0  # violates, and the reservoir had room
DISPLACED_MINIMUM = 1  # violates, and replaced the weakest of a full reservoir
TOO_WEAK = 2  # violates, but no better than the weakest of a full reservoir
PASSED = 3  # does not violate: effective score ≤ λ
VERDICT_WORDS = {
    ADMITTED: "entered the reservoir",
    DISPLACED_MINIMUM: "entered the full reservoir in place of its weakest edge",
    TOO_WEAK: "violated, but was weaker than everything in the full reservoir",
    PASSED: "did not violate: its score was not above the threshold",
}


NO_PAIRS = np.zeros((0, 2), dtype=np.int32)
NO_PAIRS.flags.writeable = False


class ActivationTest(NamedTuple):
    """The test C₂: an inactive edge violates if its score is above λ, and above κ times its noise.

    Attributes
    ----------
    score : str
        Name of the score, e.g. "belief".
    lam : float
        λ.
    significance : float
        κ; 0: λ alone decides.
    """

    score: str
    lam: float
    significance: float = 0.0

    @property
    def symbol(self) -> str:
        """Which of the two decides: "κ" or "λ"."""
        return "κ" if self.significance > 0.0 else "λ"

    @property
    def words(self) -> str:
        """What a score must exceed: "λ = 0.001", "κ = 3 times its noise"."""
        if self.significance > 0.0:
            return f"κ = {self.significance:g} times its noise"
        return f"λ = {self.lam:g}"


class ScoredEdge(NamedTuple):
    """An edge (source < target) with the activation score it was chosen by."""

    source: int
    target: int
    score: float


class ScoredFeature(NamedTuple):
    """One joint state (a, b) of a pair i < j, with the score it was activated by."""

    source: int
    target: int
    source_state: int
    target_state: int
    score: float


class Seconds(NamedTuple):
    """Engine time so far, in seconds: no reading, compiling, metrics or writing."""

    total: float = 0.0
    statistics: float = 0.0
    scoring: float = 0.0
    fitting: float = 0.0
    other: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class EdgeTests:
    """The edge tests of one step, in the order they were made.

    Attributes
    ----------
    edges : int32 array, shape (k, 2)
    scores : float64 array, shape (k,)
    verdicts : int8 array, shape (k,)
        Keys of :data:`VERDICT_WORDS`.
    """

    edges: np.ndarray
    scores: np.ndarray
    verdicts: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class ReservoirView:
    """The reservoir R at the moment of choice, best score first.

    Attributes
    ----------
    edges : int32 array, shape (k, 2)
    scores : float64 array, shape (k,)
    mean, tau, maximum : float
        μ, τ_α = (1 − α) μ + α max, and the maximum; the interval I_α is [τ_α, max].
    capacity : int
        |R|.
    """

    edges: np.ndarray
    scores: np.ndarray
    mean: float
    tau: float
    maximum: float
    capacity: int


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One activation step, as an observer sees it. Immutable.

    Attributes
    ----------
    index : int
        Activation steps done so far, this one included: the first step has index 1.
    activated : tuple of ScoredEdge
        The edges of this step, best score first.
    edges : int
        Number of active edges after this step.
    removed : int32 array, shape (k, 2)
        Active edges that this step took out.
    objective, previous_objective : float
        𝕃(w) after and before this step (nats per row; previous of step 1: the model without edges).
    kkt_residual : float
        Largest violation of the optimality conditions over nodes and active edges after the refit.
    reservoir : ReservoirView or None
        None for learners that keep no reservoir.
    skipped_adjacent, replaced, dropped : int32 arrays, shape (k, 2)
        Reservoir edges above τ_α passed over because they touch an edge chosen in this step;
        edges pushed out of the full reservoir by a better one; edges that ceased to violate after
        the *previous* refit.
    queue, frozen, unseen : int
        Sizes: stored queue entries, frozen list L, pairs drawn never and stored nowhere.
    tests, tests_total : int
        Edge tests in this step, and so far.
    test_limit : int or None
        t_max, or on the first step the cap on first tests; None: no limit.
    tables_counted, tables_possible : int
        Pair tables counted so far, of how many edge grafting would need.
    hubs : int32 array
        Nodes whose centrality is above the threshold.
    seconds : Seconds
    tested : EdgeTests
        Empty for learners that score every pair in every step.
    lines : tuple of str
        Keys of the learner's pseudo-code lines that ran in this step.
    notes : tuple of str
        Sentences worth saying, e.g. that the first filling of R stopped at its cap.
    changes : Changes
    history : History
    test : ActivationTest or None
        What made an edge violate in this step; None for learners that test nothing.
    features : tuple of ScoredFeature
        The features of this step, of learners that activate single features: also those of edges
        that were active before. Empty for learners that activate whole edges.
    exchange : Exchange or None
        What forced pruning exchanged.
    complexity : Complexity or None
        What inference takes, of learners that bound it.
    """

    index: int
    activated: tuple[ScoredEdge, ...]
    edges: int
    removed: np.ndarray
    objective: float
    previous_objective: float
    kkt_residual: float
    reservoir: ReservoirView | None
    skipped_adjacent: np.ndarray
    replaced: np.ndarray
    dropped: np.ndarray
    queue: int
    frozen: int
    unseen: int
    tests: int
    tests_total: int
    test_limit: int | None
    tables_counted: int
    tables_possible: int
    hubs: np.ndarray
    seconds: Seconds
    tested: EdgeTests
    lines: tuple[str, ...]
    notes: tuple[str, ...]
    changes: Changes
    history: History
    test: ActivationTest | None = None
    features: tuple[ScoredFeature, ...] = ()
    exchange: Exchange | None = None
    complexity: Complexity | None = None

    def model(self) -> PairwiseMRF:
        """Return the model after this step."""
        return self.history.state_at(self.index).model

    def active_edges(self) -> np.ndarray:
        """Return all active edges after this step, in order of activation, shape (m, 2)."""
        return self.history.edges_at(self.index)

    def feature_counts(self) -> np.ndarray:
        """Return how many features of each active edge are active, of how many, shape (m, 2)."""
        return self.history.feature_counts_at(self.index)

    def degrees(self) -> np.ndarray:
        """Return the degree of every node after this step, shape (n,)."""
        return np.bincount(
            self.active_edges().reshape(-1), minlength=self.history.start.n_variables
        )


class Certificate(NamedTuple):
    """What was checked about the inactive edges (or features), at the final weights.

    Attributes
    ----------
    scored : int
        Inactive edges (or features) scored at the final weights.
    possible : int
        All inactive edges (or features).
    worst_score : float or None
        The largest of their scores; None when none was scored.
    worst_edge : tuple of int or None
    threshold : float
        An edge above it violates.
    score : str
        Name of the score, e.g. "belief".
    objective : str
        Name of the objective, e.g. "Bethe likelihood".
    symbol : str
        What the threshold is called: "λ", or "κ" where scores are multiples of their noise.
    unit : str
        What was counted and scored: "edge", or "feature".
    worst_states : tuple of int or None
        The joint state of `worst_edge`, where features were scored.
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

    @property
    def proves_optimality(self) -> bool:
        """Every inactive edge was scored and none violates."""
        worst = self.worst_score
        return self.scored == self.possible and (worst is None or worst <= self.threshold)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How a run ended; the value a learner's generator returns.

    Attributes
    ----------
    stop_reason : str
        A sentence.
    converged : bool
        Claimed only when the certificate proves it.
    certificate : Certificate
    objective, kkt_residual : float
        At the final, polished weights.
    bp_restart_gap : float or None
        Largest difference between tracked node beliefs and those of BP started cold on the final
        model; large means the model sits on an unstable fixed point.
    tests : int
        All edge tests, those after the last step included.
    tables_counted, tables_possible : int
    seconds : Seconds
    history : History
        Its last entry is the final polish.
    objective_name : str
        What `objective` is: of a run with a final refit, that of the refit.
    """

    stop_reason: str
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
    objective_name: str = "Bethe likelihood"

    @property
    def dropped_at_the_end(self) -> np.ndarray:
        """Edges that the final fit took out, shape (k, 2)."""
        pairs = [self.history.activations[e] for e in self.history.removals[-1]]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def model(self) -> PairwiseMRF:
        """Return the final model."""
        return self.history.state_at(len(self.history.counts)).model

    def feature_counts(self) -> np.ndarray:
        """Return how many features of each edge are active, of how many, shape (m, 2)."""
        return self.history.feature_counts_at(len(self.history.counts))


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """All steps of a run and, once it has ended, its outcome."""

    steps: tuple[Step, ...]
    outcome: Outcome | None

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, index: int) -> Step:
        return self.steps[index]
