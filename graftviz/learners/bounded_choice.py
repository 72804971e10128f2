"""Which edge is next under a bound: three ways to find out, by what the bound is on.

A width and a circuit size follow from the graph, so they are judged before an edge is fitted. What
can only be measured is judged by fitting the edge, measuring, and taking it out again.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from graftviz.inference import infer
from graftviz.inference.exact.elimination import (
    MIN_FILL,
    MIN_WEIGHT,
    WEIGHTED_FILL,
    Elimination,
    eliminated,
    greedy_elimination,
)
from graftviz.learners.bounded_model import BoundedModel
from graftviz.search.feasibility import REFUSED, UNKNOWN, first_that_fits

_RECHECKS = 32  # pairs refused before that greedy orders are asked about again, in a step
_SWEEP_TOLERANCE = 1e-6
_TIMINGS = 3
MEASURE_NAMES = {
    "treewidth": "treewidth",
    "bp-sweeps": "number of sweeps of belief propagation",
    "trbp-sweeps": "number of sweeps of tree-reweighted belief propagation",
    "seconds": "time of inference in seconds",
    "circuit-size": "circuit size",
    "approximation-error": "error of the approximate log Z",
}


class Pairs(NamedTuple):
    """All pairs i < j and what is known of them.

    Attributes
    ----------
    first, second : int64 arrays
    known : int8 array
        UNKNOWN, REFUSED, PROVED or TAKEN; see :mod:`graftviz.search.feasibility`.
    """

    first: np.ndarray
    second: np.ndarray
    known: np.ndarray


class WidthChoice:
    """The width of an elimination order.

    Parameters
    ----------
    bound : float
        τ.
    needs_exact : bool
        Whether pairs with which inference would no longer be exact are refused.
    """

    def __init__(self, bound: float, needs_exact: bool) -> None:
        self.bound, self._needs_exact = bound, needs_exact

    def value(self, model: BoundedModel) -> float:
        """Return R of the model as it is."""
        return float(model.now.elimination.width)

    def grow(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        """Add the first of the ranked pairs that keeps the bound; return it, or -1.

        Parameters
        ----------
        model : BoundedModel
        pairs : Pairs
            What is found out about them is written there.
        ranked : int64 array
            Which pairs, largest gradient first.
        """
        rechecks = _RECHECKS
        most = int(min(self.bound, len(model.cardinalities)))  # no width is more
        while len(ranked):
            status = pairs.known[ranked]
            found = np.empty(len(model.cardinalities), dtype=np.int64)
            at, by_min_fill, _ = first_that_fits(
                pairs.first[ranked], pairs.second[ranked], status, model.edges,
                model.now.elimination, most, rechecks, found,
            )  # fmt: skip
            pairs.known[ranked] = status
            if at < 0:
                if rechecks == _RECHECKS and (status == REFUSED).any():
                    rechecks = len(ranked)
                    continue
                return -1
            pair = int(ranked[at])
            i, j = int(pairs.first[pair]), int(pairs.second[pair])
            order = found if by_min_fill else model.now.elimination.order
            best = self._elimination(model, i, j, order)
            if not self._needs_exact or model.is_exact_with(best):
                model.add(i, j, best)
                return pair
            pairs.known[pair] = REFUSED
            ranked = ranked[at + 1 :]
        return -1

    def _elimination(self, model: BoundedModel, i: int, j: int, order: np.ndarray) -> Elimination:
        """Return the better of an order that keeps the bound and a greedy one."""
        edges = model.with_edge(i, j)
        kept = eliminated(edges, model.cardinalities, order)
        now = model.now.elimination
        if kept.entries == now.entries:
            return kept  # the ends were in one clique already
        greedy = greedy_elimination(edges, model.cardinalities, MIN_FILL, self.bound)
        if greedy is not None and (greedy.width, greedy.entries) < (kept.width, kept.entries):
            return greedy
        return kept


class CircuitChoice:
    """The operations of variable elimination; see `Elimination.operations`."""

    def __init__(self, bound: float, needs_exact: bool) -> None:
        self.bound, self._needs_exact = bound, needs_exact

    def value(self, model: BoundedModel) -> float:
        """Return R of the model as it is."""
        return model.now.elimination.operations(model.cardinalities, model.edges)

    def grow(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        """Add the first of the ranked pairs that keeps the bound; return it, or -1."""
        pair = self._first(model, pairs, ranked, _RECHECKS)
        if pair < 0 and (pairs.known[ranked] == REFUSED).any():
            pair = self._first(model, pairs, ranked, len(ranked))
        return pair

    def _first(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray, rechecks: int) -> int:
        for pair in ranked.tolist():
            i, j = int(pairs.first[pair]), int(pairs.second[pair])
            edges = model.with_edge(i, j)
            asks_greedy = pairs.known[pair] == UNKNOWN or rechecks > 0
            rechecks -= int(pairs.known[pair] == REFUSED)
            best: Elimination | None = None
            least = np.inf
            for found in self._orders(model, edges, asks_greedy):
                size = found.operations(model.cardinalities, edges)
                if size < least:
                    best, least = found, size
            fits = best is not None and least <= self.bound
            if best is not None and fits and (not self._needs_exact or model.is_exact_with(best)):
                model.add(i, j, best)
                return pair
            pairs.known[pair] = REFUSED
        return -1

    def _orders(
        self, model: BoundedModel, edges: np.ndarray, asks_greedy: bool
    ) -> Iterator[Elimination]:
        kept = eliminated(edges, model.cardinalities, model.now.elimination.order)
        yield kept
        if asks_greedy and kept.entries > model.now.elimination.entries:
            for kind in (WEIGHTED_FILL, MIN_WEIGHT):
                found = greedy_elimination(edges, model.cardinalities, kind)
                if found is not None:
                    yield found


class MeasuredChoice:
    """What only shows after a fit: sweeps, seconds, the error of an approximation.

    Parameters
    ----------
    measure : str
    bound : float
    needs_exact : bool
    inference : str
        What is timed, or compared with exact inference.
    """

    def __init__(self, measure: str, bound: float, needs_exact: bool, inference: str) -> None:
        self.bound = bound
        self._measure, self._needs_exact, self._inference = measure, needs_exact, inference
        self._measured: float | None = None
        self._has_grown = True  # since those set aside were last judged again

    def value(self, model: BoundedModel) -> float:
        """Return R of the model as it is."""
        if self._measured is None:
            self._measured = self._cost(model)
        return self._measured

    def grow(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        """Add the first of the ranked pairs that keeps the bound; return it, or -1."""
        while True:
            fresh = ranked[pairs.known[ranked] == UNKNOWN]
            pair = self._first(model, pairs, fresh)
            if pair >= 0:
                self._has_grown = True
                return pair
            aside = ranked[pairs.known[ranked] == REFUSED]
            if not self._has_grown or len(aside) == len(fresh):
                return -1
            self._has_grown = False
            pairs.known[aside] = UNKNOWN

    def _first(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        before = model.remember()
        for pair in ranked.tolist():
            i, j = int(pairs.first[pair]), int(pairs.second[pair])
            edges = model.with_edge(i, j)
            best = eliminated(edges, model.cardinalities, model.now.elimination.order)
            if best.entries > model.now.elimination.entries:
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
                before = model.remember()
            pairs.known[pair] = REFUSED
        return -1

    def _cost(self, model: BoundedModel) -> float:
        """Measure R."""
        network = model.model()
        if self._measure == "seconds":
            times = []
            for _ in range(_TIMINGS):
                began = time.perf_counter()
                infer(network, self._inference)
                times.append(time.perf_counter() - began)
            return statistics.median(times)
        if self._measure == "approximation-error":
            exact = infer(network, "exact").log_partition
            return abs(infer(network, self._inference).log_partition - exact)
        method = self._measure.removesuffix("-sweeps")
        # More sweeps than the bound need not be made to know that it is passed.
        most = int(min(self.bound, 1e6)) + 1
        found = infer(network, method, tolerance=_SWEEP_TOLERANCE, max_sweeps=most)
        return float(found.sweeps) if found.converged else np.inf


Choice = WidthChoice | CircuitChoice | MeasuredChoice
