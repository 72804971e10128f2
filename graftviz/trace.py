"""What a learner reports: immutable Steps, an Outcome at the end, a Trace of all.

A learner's *state* is what its next step needs and lives with the learner; what stands here is the
*report*, made for observers: the app, the command line, tests.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit

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
class Changes:
    """Which groups of weights one step changed, and to what.

    Attributes
    ----------
    nodes, edges : int64 arrays
        Indices of the nodes, and ids of the active edges (see :class:`History`), that changed.
    node_weights, node_beliefs, edge_weights : float64 arrays, flat
        The new values, group after group.
    """

    nodes: np.ndarray
    edges: np.ndarray
    node_weights: np.ndarray
    node_beliefs: np.ndarray
    edge_weights: np.ndarray


class ModelState(NamedTuple):
    """A model at one step, with the node beliefs the learner tracked (flat, like node weights)."""

    model: PairwiseMRF
    node_beliefs: np.ndarray


@dataclass(slots=True, eq=False)
class History:
    """Append-only record of a run's weights; a Step looks up its own model in it.

    Storing only what changed keeps a run of thousands of steps small; what has been appended is
    never altered, so a Step that holds a History is still an immutable snapshot.

    Attributes
    ----------
    start : PairwiseMRF
        The model without edges.
    start_beliefs : float64 array, flat
    activations : list of (int, int)
        Every activation of the run. An edge's *id* is its place in this list; an edge that was
        removed and comes back has a new one.
    counts : list of int
        Activations up to and with each recorded step.
    removals : list of tuples of int
        Ids of the edges each recorded step took out.
    changes : list of Changes
    """

    start: PairwiseMRF
    start_beliefs: np.ndarray
    activations: list[tuple[int, int]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    removals: list[tuple[int, ...]] = field(default_factory=list)
    changes: list[Changes] = field(default_factory=list)

    def append(
        self,
        activated: Iterable[tuple[int, int]],
        changes: Changes,
        removed: Iterable[int] = (),
    ) -> None:
        """Record one activation step (or, with no edges, the final polish).

        Parameters
        ----------
        activated : pairs i < j
        changes : Changes
        removed : ids of edges taken out in this step
        """
        self.activations.extend((int(i), int(j)) for i, j in activated)
        self.removals.append(tuple(int(e) for e in removed))
        self.changes.append(changes)
        self.counts.append(len(self.activations))

    def ids_at(self, step: int) -> np.ndarray:
        """Return the ids of the active edges after `step` recorded steps, int64, ascending."""
        alive = np.ones(self.counts[step - 1] if step else 0, dtype=np.bool_)
        for removed in self.removals[:step]:
            alive[list(removed)] = False
        return np.flatnonzero(alive)

    def edges_at(self, step: int) -> np.ndarray:
        """Return the active edges after `step` recorded steps, shape (m, 2); 0 is the start."""
        pairs = [self.activations[e] for e in self.ids_at(step).tolist()]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def activated_in(self, edge: int) -> int:
        """Return the step, from 1, in which the edge of that id was activated."""
        return bisect_right(self.counts, edge) + 1

    def state_at(self, step: int) -> ModelState:
        """Return model and beliefs after `step` recorded steps; 0 is the start."""
        cardinalities = self.start.cardinalities
        every = np.array(self.activations[: self.counts[step - 1] if step else 0], dtype=np.int64)
        every = every.reshape(-1, 2)
        node_offsets = self.start.node_offsets
        n_node_weights = int(node_offsets[-1])
        sizes = cardinalities[every].prod(axis=1)
        edge_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        node_weights = self.start.weights[:n_node_weights].copy()
        beliefs = self.start_beliefs.copy()
        edge_weights = np.zeros(int(edge_offsets[-1]))
        for change in self.changes[:step]:
            at_nodes = flat_positions(node_offsets, change.nodes)
            node_weights[at_nodes] = change.node_weights
            beliefs[at_nodes] = change.node_beliefs
            edge_weights[flat_positions(edge_offsets, change.edges)] = change.edge_weights
        beliefs.flags.writeable = False
        alive = self.ids_at(step)
        kept = edge_weights[flat_positions(edge_offsets, alive)]
        model = PairwiseMRF(
            cardinalities,
            every[alive],
            np.concatenate([node_weights, kept]),
            self.start.names,
            self.start.labels,
        )
        return ModelState(model, beliefs)


@njit(cache=True, nogil=True)
def flat_positions(offsets, groups):
    """Return the flat positions that `groups` own: arange(o[g], o[g + 1]), group after group."""
    size = 0
    for g in groups:
        size += offsets[g + 1] - offsets[g]
    positions = np.empty(size, dtype=np.int64)
    k = 0
    for g in groups:
        for at in range(offsets[g], offsets[g + 1]):
            positions[k] = at
            k += 1
    return positions


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

    def model(self) -> PairwiseMRF:
        """Return the model after this step."""
        return self.history.state_at(self.index).model

    def active_edges(self) -> np.ndarray:
        """Return all active edges after this step, in order of activation, shape (m, 2)."""
        return self.history.edges_at(self.index)

    def degrees(self) -> np.ndarray:
        """Return the degree of every node after this step, shape (n,)."""
        return np.bincount(
            self.active_edges().reshape(-1), minlength=self.history.start.n_variables
        )


class Certificate(NamedTuple):
    """What was checked about the inactive edges, at the final weights.

    Attributes
    ----------
    scored : int
        Inactive edges scored at the final weights.
    possible : int
        All inactive edges.
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
    """

    scored: int
    possible: int
    worst_score: float | None
    worst_edge: tuple[int, int] | None
    threshold: float
    score: str
    objective: str
    symbol: str = "λ"

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
