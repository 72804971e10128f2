"""Selection of the next edge under a bound on R, for two kinds of R.

A width and a circuit size follow from the graph, so they are checked before an edge is fitted.
Sweeps, seconds and any function of the model are checked by fitting the edge, measuring, and
removing the edge again if the bound is exceeded.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graftviz.inference.exact.elimination import eliminated, greedy_elimination
from graftviz.inference.exact.ordering import MIN_FILL, MIN_WEIGHT, WEIGHTED_FILL, Elimination
from graftviz.inference.methods import Method, infer
from graftviz.learning.bounded.feasibility import REFUSED, UNKNOWN, first_feasible
from graftviz.learning.bounded.model import BoundedModel
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError
from graftviz.utils.options import plain_name

Measure = Callable[[PairwiseModel], float]
BY_GRAPH = ("treewidth", "circuit-size")
_RECHECKS = 32  # refused pairs for which greedy orders are tried again, per step
_SWEEP_TOLERANCE = 1e-6
_TIMINGS = 3


class Pairs(NamedTuple):
    """All pairs i < j and their status.

    Attributes
    ----------
    first, second : int64 arrays
    status : int8 array
        UNKNOWN, REFUSED, PROVED or TAKEN; see :mod:`graftviz.learning.bounded.feasibility`.
    """

    first: np.ndarray
    second: np.ndarray
    status: np.ndarray

    def ends(self, pair: int) -> tuple[int, int]:
        """Return the two variables of a pair."""
        return int(self.first[pair]), int(self.second[pair])


class GraphChoice:
    """Selection under a bound on the width or the circuit size of an elimination.

    Parameters
    ----------
    measure : {"treewidth", "circuit-size"}
    bound : float
        τ.
    needs_exact : bool
        Whether to refuse pairs after which inference would no longer be exact.
    """

    def __init__(self, measure: str, bound: float, needs_exact: bool) -> None:
        self._bound, self._needs_exact = bound, needs_exact
        self._is_width = measure == "treewidth"

    def value(self, model: BoundedModel) -> float:
        """Return R of the current model."""
        return self._sizes(model, model.edges, model.current.elimination)[0]

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
        walk = self._within_width if self._is_width else self._one_by_one
        most = self._bound if self._is_width else np.inf
        for rechecks in (_RECHECKS, len(ranked)):
            for pair, kinds in walk(model, pairs, ranked, rechecks):
                i, j = pairs.ends(pair)
                sizes = partial(self._sizes, model, model.with_edge(i, j))
                best = _elimination_with(model, i, j, kinds, sizes, most)
                is_small = sizes(best)[0] <= self._bound
                if is_small and (not self._needs_exact or model.is_exact_with(best)):
                    model.add(i, j, best)
                    return pair
                pairs.status[pair] = REFUSED
            if not (pairs.status[ranked] == REFUSED).any():
                break
        return -1

    def _within_width(
        self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray, rechecks: int
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the ranked pairs with which an order keeps the width, and greedy orders to try."""
        most = int(min(self._bound, len(model.cardinalities)))  # n bounds every width
        while len(ranked):
            status = pairs.status[ranked]
            at = first_feasible(
                pairs.first[ranked], pairs.second[ranked], status, model.edges,
                model.current.elimination, most, rechecks,
            )  # fmt: skip
            pairs.status[ranked] = status
            if at < 0:
                return
            yield int(ranked[at]), (MIN_FILL,)
            ranked = ranked[at + 1 :]

    def _one_by_one(
        self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray, rechecks: int
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the ranked pairs, and the greedy orders to try; none if refused too often."""
        for pair in ranked.tolist():
            was_refused = pairs.status[pair] == REFUSED
            yield pair, () if was_refused and rechecks <= 0 else (WEIGHTED_FILL, MIN_WEIGHT)
            rechecks -= was_refused

    def _sizes(
        self, model: BoundedModel, edges: np.ndarray, found: Elimination
    ) -> tuple[float, ...]:
        """Return R of a graph along an elimination, and what decides between equal widths."""
        if self._is_width:
            return float(found.width), found.entries
        return (found.operations(model.cardinalities, edges),)


class MeasuredChoice:
    """Selection under a bound on a function of the model, which is measured after a fit.

    Parameters
    ----------
    measure : callable
        Return R of a model.
    bound : float
        τ.
    needs_exact : bool
        Whether to refuse pairs after which inference would no longer be exact.
    """

    def __init__(self, measure: Measure, bound: float, needs_exact: bool) -> None:
        self._measure, self._bound, self._needs_exact = measure, bound, needs_exact
        self._measured: float | None = None
        self._has_grown = True  # since refused pairs were last checked again

    def value(self, model: BoundedModel) -> float:
        """Return R of the current model."""
        if self._measured is None:
            self._measured = self._cost(model)
        return self._measured

    def grow(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        """Add the first ranked pair that keeps the bound; return its index, or -1 if none does.

        Refused pairs are checked again when no other is left and the model has grown since.
        """
        pair = self._first(model, pairs, ranked[pairs.status[ranked] == UNKNOWN])
        if pair < 0 and self._has_grown:
            refused = ranked[pairs.status[ranked] == REFUSED]
            pairs.status[refused] = UNKNOWN
            pair = self._first(model, pairs, refused)
            self._has_grown = False
        self._has_grown |= pair >= 0
        return pair

    def _first(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        before = model.snapshot()
        for pair in ranked.tolist():
            i, j = pairs.ends(pair)
            best = _elimination_with(model, i, j, (MIN_FILL,), lambda found: found.entries)
            if not self._needs_exact or model.is_exact_with(best):
                model.add(i, j, best)
                cost = self._cost(model)
                if cost <= self._bound:
                    self._measured = cost
                    return pair
                model.restore(before)
                before = model.snapshot()
            pairs.status[pair] = REFUSED
        return -1

    def _cost(self, model: BoundedModel) -> float:
        found = self._measure(model.model())
        try:
            cost = float(found)
        except (TypeError, ValueError):
            cost = np.nan
        if np.isnan(cost):
            raise InputError(
                f"The complexity {plain_name(self._measure)} of a model must be a number, not "
                f"{found!r}."
            )
        return cost


def _elimination_with(
    model: BoundedModel,
    i: int,
    j: int,
    kinds: tuple[int, ...],
    size: Callable[[Elimination], Any],
    most: float = np.inf,
) -> Elimination:
    """Return the smallest elimination with an edge: along the current order, or a greedy one."""
    edges, now = model.with_edge(i, j), model.current.elimination
    found = [eliminated(edges, model.cardinalities, now.order)]
    if found[0].entries > now.entries:  # otherwise the ends were in one clique already
        greedy = (greedy_elimination(edges, model.cardinalities, kind, most) for kind in kinds)
        found += [one for one in greedy if one is not None]
    return min(found, key=size)


def measured_sweeps(method: Method, bound: float) -> Measure:
    """Return the function that counts the sweeps of a method; ∞ above the bound."""
    # One sweep beyond the bound is enough to detect that it is exceeded.
    most = int(min(bound, 1e6)) + 1

    def sweeps(model: PairwiseModel) -> float:
        found = infer(model, method, tolerance=_SWEEP_TOLERANCE, max_sweeps=most)
        return float(found.sweeps) if found.converged else np.inf

    return sweeps


def measured_seconds(method: Method) -> Measure:
    """Return the function that measures the processor time of a method, the median of three."""

    def seconds(model: PairwiseModel) -> float:
        times = []
        for _ in range(_TIMINGS):
            began = time.thread_time()
            infer(model, method)
            times.append(time.thread_time() - began)
        return statistics.median(times)

    return seconds


Choice = GraphChoice | MeasuredChoice
