"""Chow–Liu tree: the maximum spanning forest of mutual information, weights in closed form.

Among all trees it has the largest likelihood: with the margins of the data on its nodes and edges
the log-likelihood per row is Σ_i −H(x_i) + Σ_(i,j) I(x_i; x_j), so only the information counts, and
Kruskal's algorithm finds the best tree. No iteration is needed, and belief propagation is exact.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import networkx as nx
import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.counts.packed import count_pair
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.grafting.screening import (
    SAMPLE,
    Screens,
    by_size,
    counted_pairs,
    screened,
    screening_option,
)
from graftviz.learning.learner_run import LearnerRun
from graftviz.learning.prior import Prior, PriorOptions
from graftviz.learning.trace import Certificate, Outcome, Remark, ScoredEdge, Step
from graftviz.learning.weights.network import ActiveNetwork, with_margins, zero_mean_logs
from graftviz.learning.weights.penalty import Penalty
from graftviz.utils.compiling import kernel
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, checked_seed, option

# Information below this is a rounding error: the sum has a few dozen terms of at most a few nats.
_ROUNDING = 1e-12


@kernel
def information_of_row(packed, i, partners, pseudo_count, table, out):
    """Write the mutual information of every pair (i, j), j in `partners`, in nats, to `out`.

    With c = `pseudo_count` imaginary rows p(x, y) is (count + c / (s_i s_j)) / (N + c).
    """
    offsets, margins = packed.node_offsets, packed.margins
    states_i = offsets[i + 1] - offsets[i]
    rows = packed.rows + pseudo_count
    for k in range(len(partners)):
        j = np.int64(partners[k])
        states_j = offsets[j + 1] - offsets[j]
        count_pair(packed, i, j, table)
        total = 0.0
        for x in range(states_i):
            at_i = margins[offsets[i] + x] + pseudo_count / states_i
            for y in range(states_j):
                joint = table[x * states_j + y] + pseudo_count / (states_i * states_j)
                if joint > 0.0:
                    at_j = margins[offsets[j] + y] + pseudo_count / states_j
                    total += joint / rows * np.log(joint * rows / (at_i * at_j))
        out[k] = total if total > _ROUNDING else 0.0


@kernel(inline="always")
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def next_edge(order, information, starts, second, at, parent):
    """Advance through the sorted pairs to the first that joins two trees, and join them.

    Parameters
    ----------
    order : int64 array
        Pairs by decreasing information, as positions in `information`.
    information : float64 array, shape (k,)
        Information of all pairs (or candidates) (i, j), i < j, in lexicographic order.
    starts : int64 array, shape (n + 1,)
        The pairs (i, ·) are ``starts[i]`` … ``starts[i + 1]``.
    second : int32 array, shape (k,)
        j of every pair.
    at : int
        Position in `order` to continue from.
    parent : int64 array, shape (n,)
        Forest of the union-find structure, updated in place.

    Returns
    -------
    at, tests, i, j : int
        Position to continue from, number of pairs visited, and the edge; i = -1 if there is none.
    """
    start = at
    while at < len(order):
        pair = order[at]
        if information[pair] <= 0.0:
            break
        at += 1
        i = np.searchsorted(starts, pair, side="right") - 1
        j = np.int64(second[pair])
        root_i, root_j = _root(parent, i), _root(parent, j)
        if root_i != root_j:
            parent[max(root_i, root_j)] = min(root_i, root_j)
            return at, at - start, i, j
    return at, at - start, -1, -1


@kernel
def best_exchange(edges, of_edges, information, starts, second, n):
    """Return (gain, i, j) of the best exchange; i = -1 if every pair is an edge.

    The gain of an inactive pair is its information minus the smallest information on the path
    between its ends (minus 0 if there is no path).

    Parameters
    ----------
    of_edges : float64 array
        Information of the edges.
    """
    first = np.full(n, -1, dtype=np.int64)
    following = np.full(2 * len(edges), -1, dtype=np.int64)
    for e in range(len(edges)):
        for side in range(2):
            following[2 * e + side] = first[edges[e, side]]
            first[edges[e, side]] = 2 * e + side
    weakest = np.empty(n)
    hops = np.empty(n, dtype=np.int64)
    stack = np.empty(n, dtype=np.int64)
    best, best_i, best_j = -np.inf, -1, -1
    for i in range(n - 1):
        weakest[:] = 0.0
        hops[:] = -1
        weakest[i], hops[i], stack[0] = np.inf, 0, i
        stack_size = 1
        while stack_size:
            stack_size -= 1
            node = stack[stack_size]
            incidence = first[node]
            while incidence >= 0:
                other = edges[incidence >> 1, 1 - (incidence & 1)]
                if hops[other] < 0:
                    weakest[other] = min(weakest[node], of_edges[incidence >> 1])
                    hops[other] = hops[node] + 1
                    stack[stack_size] = other
                    stack_size += 1
                incidence = following[incidence]
        for k in range(starts[i], starts[i + 1]):
            if hops[second[k]] != 1:
                gain = information[k] - weakest[second[k]]
                if gain > best:
                    best, best_i, best_j = gain, i, second[k]
    return best, best_i, best_j


# Smallest ratio of a cell's probability to its probability under independence: the weight of an
# empty cell would be minus infinity. The error is far below any tolerance used here.
_EMPTY_CELL = 1e-12
_OBJECTIVE = "exact likelihood"
_MOST_COUNTED = 5_000_000  # pairs whose information is computed in seconds
_UNPENALISED = Penalty(0.0, 0.0, False, False)


@dataclass(frozen=True)
class ChowLiu(PriorOptions):
    """Maximum-likelihood tree (or forest) of a data set.

    The mutual information of all pairs is computed, and edges are taken in decreasing order of it
    unless they would close a cycle. A step is one edge; its score is the mutual information in
    nats. Pairs without information are skipped, so the result may be a forest. The objective is
    the exact negative log-likelihood per row (with pseudo-counts: of the table that includes
    them), and the weights are log p(x, y) / (p(x) p(y)) in the centred gauge.

    The certificate proves that no exchange gains: its score of a pair outside the tree is the
    pair's information minus the smallest information on the tree path between its ends (minus 0 if
    there is no path), and no score may exceed 0.

    Source: Chow and Liu, "Approximating discrete probability distributions with dependence trees"
    (1968).

    Examples
    --------
    >>> tree = gv.learn(survey, gv.ChowLiu()).model
    >>> tree.n_variables, tree.n_edges
    (11, 10)
    """

    name: ClassVar[str] = "chow-liu"
    title: ClassVar[str] = "Chow–Liu tree"
    idea: ClassVar[str] = (
        "Joins all variables by the tree with the largest sum of mutual information, which is the "
        "most likely of all trees. The baseline without cycles: exact, and done in no time."
    )
    source: ClassVar[str] = "Chow and Liu (1968), maximum spanning tree by Kruskal's algorithm"
    sentences: ClassVar[str] = "tree"
    pseudocode: ClassVar[tuple[CodeLine, ...]] = (
        CodeLine("count", 0, "I = mutual information of every pair of variables"),
        CodeLine("sort", 0, "sort the pairs by decreasing I"),
        CodeLine("loop", 0, "for each pair, as long as I > 0"),
        CodeLine("cycle", 1, "if a path joins its ends already: leave it out"),
        CodeLine("activate", 1, "else activate it"),
        CodeLine("weights", 2, "w = log p_D(i, j) / (p_D(i) p_D(j)), centred"),
    )

    pseudo_count: float = option(
        0.0,
        "pseudo-rows, spread evenly over all states, added to the data; they give unseen "
        "combinations a positive probability",
        label="Pseudo-count",
        minimum=0.0,
        maximum=1_000_000.0,
    )
    screening: Screens | None = screening_option(f"all, and sample beyond {_MOST_COUNTED:,} pairs")
    max_edges: int | None = option(
        None,
        "edge budget: stop when so many edges are active",
        label="Edge budget",
        minimum=1,
        none_means="until all variables are joined, or no information is left",
    )

    def screening_of(self, n: int) -> str:
        """Return the screening of n variables."""
        return self.screening or by_size(n, _MOST_COUNTED)

    def counted_pairs(self, n: int) -> int:
        """Return how many pairs of n variables a run counts at most."""
        return counted_pairs(n, self.screening_of(n))

    def prior(self, names: Sequence[str]) -> Prior:
        """Return the required and forbidden pairs of variables with these names.

        Raises
        ------
        InputError
            Also if required edges form a cycle.
        """
        prior = super().prior(names)
        graph = nx.Graph(prior.required.tolist())
        if len(graph) and not nx.is_forest(graph):
            raise InputError("The required edges form a cycle, which a tree cannot have.")
        return prior

    def steps(
        self, table: DiscreteTable, *, seed: int = 0
    ) -> Generator[Step, Learner | None, Outcome]:
        """Learn from `table`; the seed chooses the rows of a screening by sample."""
        run = _TreeRun(table, self, checked_seed(seed))
        while run.has_room and run.add_edge():
            sent = yield run.step()
            run.clock.resume()
            if isinstance(sent, ChowLiu):
                run.switch(sent)
        return run.finish()


class _TreeRun(LearnerRun):
    """Forest of a run."""

    def __init__(self, table: DiscreteTable, options: ChowLiu, seed: int) -> None:
        super().__init__(table, options)
        n = table.n_variables
        prior, pairs = options.prior(table.names), None
        with self.clock.work("statistics"):
            self._counts = PairCounts(table)
            if options.screening_of(n) == SAMPLE:
                pairs, self.screening = screened(table, seed=seed)
            if len(prior.decided):
                pairs = prior.applied(pairs, n)
            if pairs is None:
                per_row = np.arange(n - 1, -1, -1)
                rows = [np.arange(i + 1, n, dtype=np.int32) for i in range(n)]
                self._second = np.concatenate(rows)
            else:
                per_row, self._second = np.bincount(pairs[:, 0], minlength=n), pairs[:, 1]
        self._starts = np.cumsum(np.concatenate([[0], per_row])).astype(np.int64)
        self._required = self._places(prior.required)
        self._information = np.zeros(len(self._second))
        self._parent = np.arange(n)
        self._at = 0
        self._network = ActiveNetwork(self._counts, table.names, table.labels)
        self._data_margins = self._network.state.node_targets.copy()
        self._load_counts()
        self._evaluation = self._network.evaluate(_UNPENALISED)
        self._previous_objective = self._evaluation.objective
        self.begin(self._network.model(), self._network.state.node_beliefs)
        self._activated: ScoredEdge | None = None
        self._tests = 0

    @property
    def has_room(self) -> bool:
        """Whether the budget allows another edge."""
        budget = self.options.edge_budget(len(self.names))
        return self._network.n_edges < budget

    def switch(self, options: ChowLiu) -> None:
        """Continue with other options, keeping the active edges."""
        if options.pseudo_count != self.options.pseudo_count:
            self.options = options
            self._load_counts()
            for e in range(self._network.n_edges):
                self._set_edge(e)
            self._evaluation = self._network.evaluate(_UNPENALISED)
        self.options = options

    def add_edge(self) -> bool:
        """Activate the next edge; return False, changing nothing, if none is left."""
        with self.clock.work("scoring"):
            self._at, self._tests, i, j = next_edge(
                self._order, self._ranks, self._starts, self._second, self._at, self._parent
            )
        if i < 0:
            self.tests += self._tests
            return False
        with self.clock.work("fitting"):
            self._network.add_edge(i, j)
            self._set_edge(self._network.n_edges - 1)
            self._previous_objective = self._evaluation.objective
            self._evaluation = self._network.evaluate(_UNPENALISED, [i, j])
            self.history.append([(i, j)], self._network.changes())
        self._activated = ScoredEdge(
            int(i), int(j), float(self._information[self._places(np.array([[i, j]]))[0]])
        )
        self.index += 1
        return True

    def step(self) -> Step:
        """Return the report of the last edge and pause the clock until it is resumed."""
        assert self._activated is not None
        return self.step_report(
            tests=self._tests,
            activated=(self._activated,),
            required=self.index <= len(self._required),
            n_edges=self._network.n_edges,
            objective=self._evaluation.objective,
            previous_objective=self._previous_objective,
            kkt_residual=self._evaluation.kkt_residual,
            lines=self._lines(),
        )

    def finish(self) -> Outcome:
        """Check every pair for an exchange that gains and return the outcome of the run."""
        network, n = self._network, len(self.names)
        certificate = self._certificate()
        self.history.append((), network.changes())
        with self.clock.work("other"):
            gap = network.restart_gap(max_sweeps=max(100, n)) if network.n_edges else 0.0
        return self.outcome(
            certificate,
            self._reason(certificate),
            objective=self._evaluation.objective,
            kkt_residual=self._evaluation.kkt_residual,
            bp_restart_gap=gap,
            objective_name=_OBJECTIVE,
        )

    @property
    def tables_counted(self) -> int:
        """Number of pair tables counted: of all pairs or candidates."""
        return len(self._second)

    def _load_counts(self) -> None:
        """Compute and sort the information of all pairs, and set the targets of the nodes."""
        counts, state = self._counts, self._network.state
        pseudo_count = float(self.options.pseudo_count)
        with self.clock.work("statistics"):
            for i in range(counts.n_variables - 1):
                row = slice(self._starts[i], self._starts[i + 1])
                out = self._second[row], pseudo_count, counts.scratch, self._information[row]
                information_of_row(counts.packed, i, *out)
        with self.clock.work("scoring"):
            self._ranks = self._information.copy()
            self._ranks[self._required] = np.inf
            self._order = np.argsort(-self._ranks, kind="stable")
        self._at = 0
        targets = self._data_margins
        sizes = counts.cardinalities
        if pseudo_count:
            added = pseudo_count / np.repeat(sizes, sizes)
            targets = (counts.packed.margins + added) / (counts.n_rows + pseudo_count)
        state.node_targets[:] = state.node_beliefs[:] = targets
        state.node_weights[:] = zero_mean_logs(targets, state.node_offsets)
        state.touched_nodes[:] = self.index > 0  # the start of a run is not a change

    def _places(self, pairs: np.ndarray) -> np.ndarray:
        """Return the positions of pairs i < j among all pairs, or candidates."""
        return np.array(
            [
                start + np.searchsorted(self._second[start : self._starts[i + 1]], j)
                for i, j in pairs.tolist()
                for start in (self._starts[i],)
            ],
            dtype=np.int64,
        )

    def _set_edge(self, e: int) -> None:
        """Set weights and messages of edge `e` in closed form.

        With w = log p(x, y) / (p(x) p(y)) on edges and log p(x) on nodes all messages are uniform.
        Centring then moves the row and column means of w to the nodes, and the messages change
        accordingly.
        """
        state = self._network.state
        i, j = state.edge_nodes[e]
        at_i = slice(state.node_offsets[i], state.node_offsets[i + 1])
        at_j = slice(state.node_offsets[j], state.node_offsets[j + 1])
        margin_i, margin_j = state.node_targets[at_i], state.node_targets[at_j]
        target = self._pair_target(i, j, margin_i, margin_j)
        ratios = np.maximum(target / np.outer(margin_i, margin_j), _EMPTY_CELL)
        weights = np.log(ratios)
        rows = weights.mean(axis=1)
        columns = weights.mean(axis=0) - weights.mean()
        weights -= rows[:, None] + columns
        cells = slice(state.edge_offsets[e], state.edge_offsets[e + 1])
        state.edge_targets[cells] = target.reshape(-1)
        state.edge_weights[cells] = weights.reshape(-1)
        state.potentials[cells] = np.exp(weights).reshape(-1)
        state.node_weights[at_i] += rows - rows.mean()
        state.node_weights[at_j] += columns
        into = state.message_offsets[e]
        for shift in (rows, columns):
            messages = np.exp(shift.min() - shift)
            state.messages[into : into + len(shift)] = messages / messages.mean()
            into += len(shift)
        state.touched_nodes[i] = state.touched_nodes[j] = state.touched_edges[e] = True

    def _pair_target(
        self, i: int, j: int, margin_i: np.ndarray, margin_j: np.ndarray
    ) -> np.ndarray:
        """Return p_D(i, j) with pseudo-counts and with the nodes' targets as margins.

        The targets differ from the table's margins if a state never occurs; the difference is
        spread as if i and j were independent.
        """
        pseudo_count = float(self.options.pseudo_count)
        table = self._counts.table(i, j)
        shares = (table + pseudo_count / table.size) / (self._counts.n_rows + pseudo_count)
        return with_margins(shares, margin_i, margin_j)

    def _lines(self) -> tuple[str, ...]:
        ran = {
            "count": self.index == 1,
            "sort": self.index == 1,
            "loop": True,
            "cycle": self._tests > 1,
            "activate": True,
            "weights": True,
        }
        return tuple(key for key, happened in ran.items() if happened)

    def _certificate(self) -> Certificate:
        network, possible = self._network, len(self._second)
        with self.clock.work("scoring"):
            edges = network.edges
            of_edges = self._ranks[self._places(edges)]
            pairs = self._ranks, self._starts, self._second
            gain, i, j = best_exchange(edges, of_edges, *pairs, len(self.names))
        return Certificate(
            scored=possible - network.n_edges,
            possible=possible - network.n_edges,
            worst_score=float(gain) if i >= 0 else None,
            worst_edge=(int(i), int(j)) if i >= 0 else None,
            threshold=0.0,
            score="gain of an exchange in mutual information",
            objective=_OBJECTIVE,
            symbol="gain",
            screening=self.screening,
        )

    def _reason(self, certificate: Certificate) -> Remark:
        edges = self._network.n_edges
        if not self.has_room and not certificate.proves_optimality:
            return Remark("reasons.budget", {"budget": edges})
        if certificate.worst_edge is None or certificate.worst_score is None:
            return self.nothing_left()
        if not certificate.proves_optimality:
            kind = "tree.cycle"
        elif edges == 0:
            kind = "tree.empty"
        else:
            kind = "tree.joined" if edges == len(self.names) - 1 else "tree.forest"
        return Remark(
            kind,
            {
                "gain": certificate.worst_score,
                "edge": self.edge(*certificate.worst_edge),
                "scored": certificate.scored,
            },
        )
