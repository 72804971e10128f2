"""Junction tree of an elimination order: exact marginals, log Z, pairs and samples."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.exact.structure import (
    Cliques,
    EliminationPlan,
    Tables,
    cliques_of,
    empty_tables,
    plan_for,
    refuse_if_too_large,
)
from graftviz.inference.exact.tables import draw, sweep
from graftviz.inference.settings import InferenceSettings
from graftviz.inference.support import impossible_beliefs
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.utils.arrays import read_only
from graftviz.utils.compiling import kernel
from graftviz.utils.errors import InputError

T = TypeVar("T")
_CHUNK = 20_000_000  # entries processed between two reports of progress
_UNIFORMS = 1_000_000  # random numbers drawn at a time
Progress = Callable[[int, int], None]


class lazy_property(Generic[T]):
    """Decorator that replaces a method without arguments by an attribute, computed on first access.

    The instance must have a reentrant lock, ``_lock``, which is held during the computation.
    ``functools.cached_property`` of Python 3.11 holds one lock for all instances of a class: a
    small tree would wait for a large one in another thread.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        """Return the value and store it as an ordinary attribute."""
        if instance is None:
            return self
        attributes = instance.__dict__
        with attributes["_lock"]:
            if self._name not in attributes:
                attributes[self._name] = self._compute(instance)
        return attributes[self._name]


class JunctionTree:
    """Exact inference on a pairwise model of discrete variables, given evidence.

    The upward pass sums out every variable along an elimination order (bucket elimination: Dechter,
    "Bucket elimination: a unifying framework for reasoning", 1999). The resulting cliques form a
    junction tree (Lauritzen and Spiegelhalter, 1988); the downward pass computes all marginals over
    it. Time and memory are exponential in the width of the order: see `plan`.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
        Weights of -inf are allowed.
    evidence : mapping, optional
        States of observed variables, by index or name and by index or label.
    max_memory : int, optional
        Bytes that all tables together may take; default: 80 % of the free memory.
    order : sequence of int, optional
        Elimination order; default: the best one found.
    plan : EliminationPlan, optional
        Plan of this model and evidence, if it is known already.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of processed entries.

    Raises
    ------
    InputError
        For invalid evidence, and for tables that would need more memory, before any allocation.

    Examples
    --------
    >>> from graftviz.inference.exact import JunctionTree
    >>> tree = JunctionTree(model, {"home": "city"})
    >>> tree.pair(2, 10).round(2)
    array([[0.16, 0.13],
           [0.19, 0.17],
           [0.19, 0.16]])
    >>> tree.sample(1000, seed=0).shape
    (11, 1000)
    """

    def __init__(
        self,
        model: HasModel,
        evidence: Evidence | None = None,
        max_memory: int | None = None,
        *,
        order: Sequence[int] | np.ndarray | None = None,
        plan: EliminationPlan | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.model: PairwiseModel = model_of(model)
        self.evidence = checked_evidence(self.model, evidence)
        self._conditional = conditioned(self.model, self.evidence)
        self._max_memory = max_memory
        self._progress = progress
        self._done = 0
        self._lock = threading.RLock()  # a downward pass overwrites tables of the upward pass
        self._tables: Tables | None = None  # from an upward pass until they are overwritten
        self._log_partition: float | None = None
        found = plan_for(self._conditional.model, max_memory, order) if plan is None else plan
        self.plan: EliminationPlan = found
        refuse_if_too_large(self.plan, max_memory)
        self._pairs: dict[int, tuple[np.ndarray, list[tuple[np.ndarray, ...]]]] = {}

    @property
    def work(self) -> int:
        """Entries that the upward and downward passes process: the total of progress."""
        return self.plan.total_entries * (2 if self.plan.segments == 1 else 3)

    @property
    def log_partition(self) -> float:
        """Log of the sum over all joint states that agree with the evidence; -inf if it is zero."""
        with self._lock:
            if self._log_partition is None:
                self._upward_pass()
            assert self._log_partition is not None
            return self._log_partition

    def node(self, i: int) -> np.ndarray:
        """Return p(x_i | evidence), shape (s_i,), read-only.

        Raises
        ------
        InputError
            When the evidence has probability zero. The same holds for all methods below.
        """
        return self._beliefs.node[i]

    def edge(self, e: int) -> np.ndarray:
        """Return p(x_i, x_j | evidence) of the e-th edge of the model, shape (s_i, s_j)."""
        return self._beliefs.edge[e]

    def beliefs(self) -> Beliefs:
        """Return the marginals of all variables and edges."""
        return self._beliefs

    def pair(self, i: int, j: int) -> np.ndarray:
        """Return p(x_i, x_j | evidence) of any two variables, shape (s_i, s_j), read-only.

        Pairs that are edges are looked up. Any other pair needs a run for each state of one of the
        two variables: p(x_i, x_j) = p(x_i) p(x_j | x_i); the runs are cached for other pairs of i.
        """
        i, j = self.model.index_of(i), self.model.index_of(j)
        if i == j:
            return read_only(np.diag(self.node(i)))
        if i in self.evidence or j in self.evidence or self._component[i] != self._component[j]:
            return read_only(np.outer(self.node(i), self.node(j)))
        if (e := self._edge_between(i, j)) is not None:
            return self.edge(e) if i < j else self.edge(e).T
        if i not in self._pairs and (
            j in self._pairs or self.model.cardinalities[j] < self.model.cardinalities[i]
        ):
            return self.pair(j, i).T
        shares, conditionals = self._conditional_marginals(i)
        rows = [share * marginals[j] for share, marginals in zip(shares, conditionals, strict=True)]
        return read_only(np.array(rows))

    def sample(self, rows: int = 1, seed: int = 0) -> np.ndarray:
        """Draw independent joint states, conditioned on the evidence.

        Returns
        -------
        codes : int64 array, shape (variables, rows)

        Raises
        ------
        InputError
            For fewer than one row or a negative seed.
        """
        if rows < 1:
            raise InputError(f"A sample needs at least 1 row; got {rows}.")
        if seed < 0:
            raise InputError(f"A seed must be 0 or a positive whole number; got {seed}.")
        rng = np.random.default_rng(seed)
        by_place = np.zeros((self.model.n_variables, rows), dtype=np.int64)
        step = max(_UNIFORMS // rows, 1)
        with self._lock:
            for tables, begin, end in self._downward_segments(writes=False):
                for last in range(end, begin, -step):
                    first = max(last - step, begin)
                    uniforms = rng.random((last - first, rows))
                    draw(self._cliques, tables, first, last, uniforms, by_place)
        codes = np.empty_like(by_place)
        codes[self.plan.order] = by_place
        for i, state in self.evidence.items():
            codes[i] = state
        return read_only(codes)

    # The passes

    @lazy_property
    def _cliques(self) -> Cliques:
        assert self.plan.scopes is not None
        return cliques_of(self._conditional.model, self.plan.scopes)

    def _upward_pass(self) -> Tables:
        """Return the tables after the upward pass."""
        if self._tables is not None:
            return self._tables
        plan, model = self.plan, self._conditional.model
        layout = plan.layout
        assert layout is not None
        n = model.n_variables
        tables = empty_tables(len(model.weights), layout)
        for begin, end in self._chunks(0, n):
            if not sweep(self._cliques, tables, model.weights, begin, end, -1, False):
                self._log_partition = -np.inf
                return tables
            self._advance(begin, end)
        self._tables, self._log_partition = tables, float(tables.log_scale.sum())
        return tables

    def _downward_segments(self, *, writes: bool) -> Iterator[tuple[Tables, int, int]]:
        """Yield segments of the order, last first, each with the messages that it needs.

        With `writes`, the caller overwrites messages that have been used by beliefs.
        """
        if self.log_partition == -np.inf:
            subject = "This evidence" if self.evidence else "Every joint state of this model"
            raise InputError(f"{subject} has probability zero, so no marginals exist.")
        layout = self.plan.layout
        assert layout is not None
        fixed, weights = 2 * len(self._conditional.model.weights), self._conditional.model.weights
        bounds = layout.bounds.tolist()
        tables = self._upward_pass()
        if writes or self.plan.segments > 1:
            self._tables = None
        for begin, end in zip(bounds[-2::-1], bounds[:0:-1], strict=True):
            if end < bounds[-1]:
                again = np.flatnonzero(layout.again[begin:end] >= 0) + begin
                tables.message_at[again] = layout.again[again] + fixed
                for first, last in self._chunks(begin, end):
                    sweep(self._cliques, tables, weights, first, last, end, False)
                    self._advance(first, last)
            yield tables, begin, end

    @lazy_property
    def _beliefs(self) -> Beliefs:
        for tables, begin, end in self._downward_segments(writes=True):
            for first, last in reversed(list(self._chunks(begin, end))):
                sweep(self._cliques, tables, self._conditional.model.weights, first, last, -1, True)
                self._advance(first, last)
        nodes, edges = _marginals(self._conditional.model, self.plan.order, tables.entries)
        found = Beliefs(
            node=nodes,
            edge=edges,
            log_partition=self.log_partition,
            converged=True,
            sweeps=1,
            residual=0.0,
            method="exact",
            log_partition_is="exact",
        )
        return self._conditional.extended(found)

    def _chunks(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of the order with a moderate number of entries."""
        assert self.plan.scopes is not None
        sizes = self.plan.scopes.clique_sizes
        at = begin
        while at < end:
            work, last = float(sizes[at]), at + 1
            while last < end and work + sizes[last] <= _CHUNK:
                work += float(sizes[last])
                last += 1
            yield at, last
            at = last

    def _advance(self, begin: int, end: int) -> None:
        """Report that a range of the order has been processed."""
        if self._progress is not None:
            assert self.plan.scopes is not None
            self._done += round(self.plan.scopes.clique_sizes[begin:end].sum())
            self._progress(min(self._done, self.work), self.work)

    def _edge_between(self, i: int, j: int) -> int | None:
        starts, neighbours, edges = self.model.incidence
        begin, end = int(starts[i]), int(starts[i + 1])
        at = begin + int(np.searchsorted(neighbours[begin:end], j))
        return int(edges[at]) if at < end and neighbours[at] == j else None

    @lazy_property
    def _component(self) -> np.ndarray:
        """Return for each variable the last place of its connected component."""
        assert self.plan.scopes is not None
        parent = self.plan.scopes.parent
        root = np.arange(len(parent))
        for k in range(len(parent) - 1, -1, -1):
            if parent[k] >= 0:
                root[k] = root[parent[k]]
        by_variable = np.empty_like(root)
        by_variable[self.plan.order] = root
        return by_variable

    def _conditional_marginals(self, i: int) -> tuple[np.ndarray, list[tuple[np.ndarray, ...]]]:
        """Return p(x_i), and all marginals conditioned on each state of i."""
        if i not in self._pairs:
            shares, conditionals = self.node(i), []
            for state, share in enumerate(shares):
                if share > 0.0:
                    tree = JunctionTree(
                        self.model,
                        dict(self.evidence) | {i: state},
                        self._max_memory,
                        order=self.plan.order,
                    )
                    conditionals.append(tree.beliefs().node)
                else:
                    conditionals.append(tuple(np.zeros(int(s)) for s in self.model.cardinalities))
            self._pairs[i] = shares, conditionals
        return self._pairs[i]


def _marginals(
    model: PairwiseModel, order: np.ndarray, entries: np.ndarray
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return the marginals of nodes and edges, which have the layout of the potentials."""
    flat = entries[len(model.weights) : 2 * len(model.weights)]
    bounds, sizes = model.node_offsets.tolist(), model.cardinalities.tolist()
    nodes = tuple(_shares(flat[a:b]) for a, b in itertools.pairwise(bounds))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    edges = []
    spans = itertools.pairwise(model.edge_offsets.tolist())
    for (i, j), (a, b) in zip(model.edges.tolist(), spans, strict=True):
        if place[i] < place[j]:  # the variable that is eliminated first varies fastest
            edges.append(_shares(flat[a:b].reshape(sizes[j], sizes[i]).T))
        else:
            edges.append(_shares(flat[a:b].reshape(sizes[i], sizes[j])))
    return nodes, tuple(edges)


def _shares(table: np.ndarray) -> np.ndarray:
    return read_only(np.ascontiguousarray(table) / table.sum())


def exact_beliefs(
    model: PairwiseModel, settings: InferenceSettings, plan: EliminationPlan | None = None
) -> Beliefs:
    """Return the exact marginals and log Z; the plan is that of the model, if it is known.

    Raises
    ------
    InputError
        When the tables would need more memory than allowed.
    """
    tree = JunctionTree(model, max_memory=settings.max_memory, plan=plan)
    if tree.log_partition == -np.inf:
        return impossible_beliefs(model, "exact", -1)
    return tree.beliefs()


class RepeatedTree:
    """Junction tree of one structure, for many models that differ only in their node weights.

    Evidence on some variables changes only node weights, and so does conditioning on each state of
    a variable. The elimination order, the layout and the tables are created once; each model then
    costs one upward and one downward pass.

    Parameters
    ----------
    model : PairwiseMRF
        Structure and edge weights; its node weights are ignored.
    max_memory : int, optional
        Bytes that all tables together may take; default: 80 % of the free memory.
    plan : EliminationPlan, optional
        Plan for this structure; default: the best one found.

    Raises
    ------
    InputError
        When tables would need more memory, before any allocation.
    """

    def __init__(
        self,
        model: PairwiseModel,
        max_memory: int | None = None,
        *,
        plan: EliminationPlan | None = None,
    ) -> None:
        self.model = model
        self._max_memory = max_memory
        self.plan = plan_for(model, max_memory) if plan is None else plan
        refuse_if_too_large(self.plan, max_memory)
        assert self.plan.scopes is not None
        assert self.plan.layout is not None
        self._cliques: Cliques = cliques_of(model, self.plan.scopes)
        # With segments, messages are recomputed; then a JunctionTree is used for each model.
        self._tables: Tables | None = None
        if self.plan.segments == 1:
            self._tables = empty_tables(len(model.weights), self.plan.layout)
        self._nodes = int(model.node_offsets[-1])

    def marginals(self, node_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the node marginals and log Z for other node weights.

        Parameters
        ----------
        node_weights : float64 array, shape (k, Σ s_i)
            One model per row, variables in order; -inf forbids a state.

        Returns
        -------
        marginals : float64 array, shape (k, Σ s_i)
            The marginal of each variable sums to one; all zero if every joint state is forbidden.
        log_partitions : float64 array, shape (k,)
            -inf if every joint state is forbidden.
        """
        rows = np.ascontiguousarray(node_weights, dtype=np.float64)
        found, log_partitions = np.zeros(rows.shape), np.full(len(rows), -np.inf)
        if self._tables is None:
            for row, weights in enumerate(rows):
                found[row], log_partitions[row] = self._from_new_tree(weights)
            return found, log_partitions
        weights = self.model.weights.copy()
        view = weights.view()  # read-only: numba compiles kernels apart for writable arrays
        view.flags.writeable = False
        _run_all(
            self._cliques,
            self._tables,
            weights,
            view,
            self.model.node_offsets,
            rows,
            found,
            log_partitions,
        )
        return found, log_partitions

    def _from_new_tree(self, node_weights: np.ndarray) -> tuple[np.ndarray, float]:
        weights = np.concatenate([node_weights, self.model.weights[self._nodes :]])
        model = dataclasses.replace(self.model, weights=weights)
        tree = JunctionTree(model, max_memory=self._max_memory, order=self.plan.order)
        if tree.log_partition == -np.inf:
            return np.zeros(self._nodes), -np.inf
        return np.concatenate(tree.beliefs().node), tree.log_partition


@kernel
def _run_all(cliques, tables, weights, view, node_offsets, rows, found, log_partitions):
    """Run both passes for every row of node weights; `found` must be zero, log Z -inf.

    `view` is a read-only view of `weights`, which receive each row.
    """
    n, nodes = len(node_offsets) - 1, rows.shape[1]
    for row in range(rows.shape[0]):
        for x in range(nodes):
            weights[x] = rows[row, x]
        tables.is_log[:] = False
        tables.in_logs[:] = False
        for step in range(2):  # a single call site, because sweep is compiled for each
            if not sweep(cliques, tables, view, np.int64(0), n, np.int64(-1), step == 1):
                break
            if step == 0:
                log_partitions[row] = tables.log_scale.sum()
        if log_partitions[row] == -np.inf:
            continue
        for i in range(n):
            total = 0.0
            for a in range(node_offsets[i], node_offsets[i + 1]):
                found[row, a] = tables.entries[len(weights) + a]
                total += found[row, a]
            for a in range(node_offsets[i], node_offsets[i + 1]):
                found[row, a] /= total
