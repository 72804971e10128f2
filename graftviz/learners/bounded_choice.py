"""Selection of the next edge under a bound on inference, for three kinds of bounds.

A width and a circuit size follow from the graph, so they are checked before an edge is fitted.
Measured quantities are checked by fitting the edge, measuring, and removing the edge again if the
bound is exceeded.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from graftviz.inference import infer
from graftviz.inference.cost import inference_cost, marginal_operations
from graftviz.inference.exact.elimination import (
    MIN_FILL,
    MIN_WEIGHT,
    WEIGHTED_FILL,
    Elimination,
    eliminated,
    greedy_elimination,
)
from graftviz.inference.methods import Method
from graftviz.inference.queries import Query, query_operations
from graftviz.learners.bounded_model import BoundedModel
from graftviz.search.feasibility import REFUSED, UNKNOWN, first_feasible

_RECHECKS = 32  # refused pairs for which greedy orders are tried again, per step
_SWEEP_TOLERANCE = 1e-6
_TIMINGS = 3
MEASURE_NAMES = {
    "treewidth": "treewidth",
    "bp-sweeps": "number of sweeps of belief propagation",
    "trbp-sweeps": "number of sweeps of tree-reweighted belief propagation",
    "seconds": "time of inference in seconds",
    "circuit-size": "circuit size",
    "approximation-error": "error of the approximate log Z",
    "query-operations": "number of operations of the queries",
    "query-seconds": "time of the queries in seconds",
}


class Pairs(NamedTuple):
    """All pairs i < j and their status.

    Attributes
    ----------
    first, second : int64 arrays
    status : int8 array
        UNKNOWN, REFUSED, PROVED or TAKEN; see :mod:`graftviz.search.feasibility`.
    """

    first: np.ndarray
    second: np.ndarray
    status: np.ndarray


class WidthChoice:
    """Selection under a bound on the width of an elimination order.

    Parameters
    ----------
    bound : float
        τ.
    needs_exact : bool
        Whether to refuse pairs after which inference would no longer be exact.
    """

    def __init__(self, bound: float, needs_exact: bool) -> None:
        self.bound, self._needs_exact = bound, needs_exact

    def value(self, model: BoundedModel) -> float:
        """Return R of the current model."""
        return float(model.current.elimination.width)

    def grow(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        """Add the first ranked pair that keeps the bound; return its index, or -1 if none does.

        Parameters
        ----------
        model : BoundedModel
        pairs : Pairs
            Their status is updated in place.
        ranked : int64 array
            Indices of the candidate pairs, largest gradient first.
        """
        rechecks = _RECHECKS
        most = int(min(self.bound, len(model.cardinalities)))  # n bounds every width
        while len(ranked):
            status = pairs.status[ranked]
            found = np.empty(len(model.cardinalities), dtype=np.int64)
            at, by_min_fill, _ = first_feasible(
                pairs.first[ranked], pairs.second[ranked], status, model.edges,
                model.current.elimination, most, rechecks, found,
            )  # fmt: skip
            pairs.status[ranked] = status
            if at < 0:
                if rechecks == _RECHECKS and (status == REFUSED).any():
                    rechecks = len(ranked)
                    continue
                return -1
            pair = int(ranked[at])
            i, j = int(pairs.first[pair]), int(pairs.second[pair])
            order = found if by_min_fill else model.current.elimination.order
            best = self._elimination(model, i, j, order)
            if not self._needs_exact or model.is_exact_with(best):
                model.add(i, j, best)
                return pair
            pairs.status[pair] = REFUSED
            ranked = ranked[at + 1 :]
        return -1

    def _elimination(self, model: BoundedModel, i: int, j: int, order: np.ndarray) -> Elimination:
        """Return the better of `order`, which keeps the bound, and a greedy order."""
        edges = model.with_edge(i, j)
        along_order = eliminated(edges, model.cardinalities, order)
        if along_order.entries == model.current.elimination.entries:
            return along_order  # the ends were in one clique already
        greedy = greedy_elimination(edges, model.cardinalities, MIN_FILL, self.bound)
        size = along_order.width, along_order.entries
        if greedy is not None and (greedy.width, greedy.entries) < size:
            return greedy
        return along_order


class CircuitChoice:
    """Selection under a bound on `Elimination.operations`, the cost of variable elimination."""

    def __init__(self, bound: float, needs_exact: bool) -> None:
        self.bound, self._needs_exact = bound, needs_exact

    def value(self, model: BoundedModel) -> float:
        """Return R of the current model."""
        return self._size(model, model.current.elimination, model.edges)

    def _size(self, model: BoundedModel, found: Elimination, edges: np.ndarray) -> float:
        """Return R of a graph along an elimination."""
        return found.operations(model.cardinalities, edges)

    def grow(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        """Add the first ranked pair that keeps the bound; return its index, or -1 if none does."""
        pair = self._first(model, pairs, ranked, _RECHECKS)
        if pair < 0 and (pairs.status[ranked] == REFUSED).any():
            pair = self._first(model, pairs, ranked, len(ranked))
        return pair

    def _first(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray, rechecks: int) -> int:
        for pair in ranked.tolist():
            i, j = int(pairs.first[pair]), int(pairs.second[pair])
            edges = model.with_edge(i, j)
            tries_greedy = pairs.status[pair] == UNKNOWN or rechecks > 0
            rechecks -= int(pairs.status[pair] == REFUSED)
            best: Elimination | None = None
            least = np.inf
            for found in self._orders(model, edges, tries_greedy):
                size = self._size(model, found, edges)
                if size < least:
                    best, least = found, size
            fits = best is not None and least <= self.bound
            if best is not None and fits and (not self._needs_exact or model.is_exact_with(best)):
                model.add(i, j, best)
                return pair
            pairs.status[pair] = REFUSED
        return -1

    def _orders(
        self, model: BoundedModel, edges: np.ndarray, tries_greedy: bool
    ) -> Iterator[Elimination]:
        current = eliminated(edges, model.cardinalities, model.current.elimination.order)
        yield current
        if tries_greedy and current.entries > model.current.elimination.entries:
            for kind in (WEIGHTED_FILL, MIN_WEIGHT):
                found = greedy_elimination(edges, model.cardinalities, kind)
                if found is not None:
                    yield found


class QueryChoice(CircuitChoice):
    """Selection under a bound on the operations of exact inference for queries.

    Parameters
    ----------
    bound : float
    needs_exact : bool
    queries : sequence of Query, optional
        Default: all marginals of one and of two variables.
    """

    def __init__(self, bound: float, needs_exact: bool, queries: Sequence[Query] | None) -> None:
        super().__init__(bound, needs_exact)
        self._queries = queries

    def _size(self, model: BoundedModel, found: Elimination, edges: np.ndarray) -> float:
        if self._queries is None:
            return float(marginal_operations(edges, model.cardinalities, found.entries))
        return float(
            sum(
                query_operations(edges, model.cardinalities, found.order, query)
                for query in self._queries
            )
        )


class MeasuredChoice:
    """Selection under a bound on sweeps, seconds or error, which are measured after a fit.

    Parameters
    ----------
    measure : str
    bound : float
    needs_exact : bool
    inference : str
        Method that is timed or compared with exact inference.
    queries : sequence of Query, optional
        Default: all marginals of one and of two variables.
    """

    def __init__(
        self,
        measure: str,
        bound: float,
        needs_exact: bool,
        inference: Method,
        queries: Sequence[Query] | None = None,
    ) -> None:
        self.bound = bound
        self._measure, self._needs_exact, self._inference = measure, needs_exact, inference
        self._queries = queries
        self._measured: float | None = None
        self._has_grown = True  # since refused pairs were last checked again

    def value(self, model: BoundedModel) -> float:
        """Return R of the current model."""
        if self._measured is None:
            self._measured = self._cost(model)
        return self._measured

    def grow(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        """Add the first ranked pair that keeps the bound; return its index, or -1 if none does."""
        while True:
            untried = ranked[pairs.status[ranked] == UNKNOWN]
            pair = self._first(model, pairs, untried)
            if pair >= 0:
                self._has_grown = True
                return pair
            refused = ranked[pairs.status[ranked] == REFUSED]
            if not self._has_grown or len(refused) == len(untried):
                return -1
            self._has_grown = False
            pairs.status[refused] = UNKNOWN

    def _first(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        before = model.snapshot()
        for pair in ranked.tolist():
            i, j = int(pairs.first[pair]), int(pairs.second[pair])
            edges = model.with_edge(i, j)
            best = eliminated(edges, model.cardinalities, model.current.elimination.order)
            if best.entries > model.current.elimination.entries:
                greedy = greedy_elimination(edges, model.cardinalities)
                if greedy is not None and greedy.entries < best.entries:
                    best = greedy
            if not self._needs_exact or model.is_exact_with(best):
                model.add(i, j, best)
                cost = self._cost(model)
                if cost <= self.bound:
                    self._measured = cost
                    return pair
                model.restore(before)
                before = model.snapshot()
            pairs.status[pair] = REFUSED
        return -1

    def _cost(self, model: BoundedModel) -> float:
        """Measure R."""
        network = model.model()
        if self._measure.startswith("query-"):
            found_cost = inference_cost(
                network, self._inference, repeats=_TIMINGS, queries=self._queries
            )
            by_time = self._measure == "query-seconds"
            return found_cost.seconds if by_time else float(found_cost.operations)
        if self._measure == "seconds":
            times = []
            for _ in range(_TIMINGS):
                began = time.thread_time()
                infer(network, self._inference)
                times.append(time.thread_time() - began)
            return statistics.median(times)
        if self._measure == "approximation-error":
            exact = infer(network, "exact").log_partition
            return abs(infer(network, self._inference).log_partition - exact)
        method: Method = "bp" if self._measure == "bp-sweeps" else "trbp"
        # One sweep beyond the bound is enough to detect that it is exceeded.
        most = int(min(self.bound, 1e6)) + 1
        found = infer(network, method, tolerance=_SWEEP_TOLERANCE, max_sweeps=most)
        return float(found.sweeps) if found.converged else np.inf


Choice = WidthChoice | CircuitChoice | QueryChoice | MeasuredChoice
