"""Growth of a region around a query, one variable at a time: Algorithm 1 of the paper.

Algorithm 1 of the paper stops where no candidate improves the bound (``growth="algorithm-1"``).
Growth with detours continues across such plateaus: on grids the bound often decreases by orders of
magnitude beyond them.

References
----------
Chen, Peng, Liu: Efficient localized inference for large graphical models, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from graftviz.inference.local.candidates import bound_with, bounds_with_each, coefficients_with
from graftviz.inference.local.comparison import (
    Coefficients,
    appended,
    compare_by_corollary,
    compare_from_scratch,
    with_variable,
)
from graftviz.inference.local.cuts import Cut, fields_of
from graftviz.inference.local.neighbourhood import flat_model, members, neighbours_of
from graftviz.inference.local.region_arrays import all_coefficients, region_arrays
from graftviz.inference.local.star import ENUMERATION_LIMIT
from graftviz.model.pairwise import PairwiseModel, zero_sum
from graftviz.utils.arrays import freeze
from graftviz.utils.options import check_options, option

Expansion = Literal["greedy", "random", "norm"]
Growth = Literal["detours", "algorithm-1"]
Bound = Literal["tight", "corollary-2"]
_SLACK = 1e-12  # rounding error of a candidate's bound
# Where the best candidate improves the bound by less than this share, growth is on a plateau ...
_PLATEAU = 0.01
# ... and adds the candidate with the largest influence on the query, as long as the bound exceeds
# the best one so far by no more than this factor and this difference. Measured on grids and
# scale-free graphs: larger values cost as much with strong couplings as they gain with weak ones.
_DETOUR, _RISE = 1.25, 0.03


@dataclass(frozen=True)
class ExpansionOptions:
    """Options of the growth of a region and of its stopping rules.

    Attributes
    ----------
    tolerance : float
        Stop when the bound is at most this.
    max_size : int
        Stop at this number of variables.
    cut : {"drop", "mean-field"}
        Treatment of the edges that leave the region.
    expansion : {"greedy", "random", "norm"}
        Which outside neighbour is added next: the one with the smallest bound; a random one; the
        one with the largest norm of all its edges into the region.
    threshold : float
        Stop when no candidate improves a bound that is not vacuous by at least this much, or, for
        expansions that do not compute the bounds of candidates, when the last variable did not;
        0: never.
    seed : int
        Seed of the random expansion.
    growth : {"detours", "algorithm-1"}
        Greedy expansion where no candidate improves the bound: continue with the candidate of
        largest influence on the query, or stop, as in Algorithm 1 of the paper.
    bound : {"tight", "corollary-2"}
        Error bound: see :mod:`graftviz.inference.local.comparison`; "corollary-2" is that of the
        paper.
    limit : int
        Largest number of joint states of neighbours to enumerate, for each coefficient.
    """

    tolerance: float = option(1e-3, "stop when the error bound is at most this", minimum=0.0)
    max_size: int = option(16, "maximum size of the region", minimum=1)
    cut: Cut = option(
        "drop",
        "treatment of the edges that leave the region: drop them, or approximate them by a mean "
        "field",
    )
    expansion: Expansion = option(
        "greedy",
        "rule for adding a neighbour: greedy takes the smallest bound, random any, norm the "
        "largest norm of the edges into the region",
    )
    threshold: float = option(
        0.0,
        "stop when no variable improves the bound by this much; never if it is 0",
        minimum=0.0,
    )
    seed: int = option(0, "seed of the random expansion", minimum=0)
    growth: Growth = option(
        "detours",
        "greedy growth where no neighbour improves the bound: detours continues with the neighbour "
        "of largest influence on the query, algorithm-1 stops, as in the paper",
        label="Growth",
        titles=("with detours", "Algorithm 1 of the paper"),
    )
    bound: Bound = option(
        "tight",
        "form of the error bound: tight limits the influence of all neighbours of a variable "
        "together, corollary-2 of the paper adds up their influences and is never smaller",
        label="Bound",
        titles=("tight", "Corollary 2 of the paper"),
    )
    limit: int = ENUMERATION_LIMIT

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, eq=False)
class RegionStep:
    """Region after the addition of a variable.

    Attributes
    ----------
    added : int
        The variable; the query in the first step.
    size : int
    bound : float
        Largest possible difference between a probability of the query in the local model and in
        the whole model; 1 when vacuous, 0 when the region is the query's connected component.
    is_vacuous : bool
        Whether the bound is 1, which holds for any two distributions.
    nodes : int64 array
        The region, in order of addition.
    boundary : int64 array
        Variables of the region that have outside neighbours, in the same order.
    coefficient : float
        Dobrushin coefficient of the local model: the largest row sum of its influence matrix.
    candidates : int64 array
        Outside neighbours that were considered for the next step, ascending; empty where growth
        ends before they are.
    candidate_bounds : float64 array
        The bound with each candidate; NaN where the expansion does not use them. Under the
        mean-field cut these hold for the current fields, before they are recomputed.
    reason : str
        Why growth ends here, as a sentence; empty while it continues.

    Examples
    --------
    >>> for step in gv.grow_region(model, "commute", max_size=3):
    ...     print(step.size, model.names[step.nodes[-1]], step.is_vacuous)
    1 commute False
    2 home False
    3 garden False
    """

    added: int
    size: int
    bound: float
    is_vacuous: bool
    nodes: np.ndarray
    boundary: np.ndarray
    coefficient: float
    candidates: np.ndarray
    candidate_bounds: np.ndarray
    reason: str = ""


def expansion_steps(
    model: PairwiseModel, query: int, options: ExpansionOptions
) -> Iterator[RegionStep]:
    """Yield the region of the query alone, then the region after every added variable."""
    region = _Region(model, query, options)
    before = 1.0
    while True:
        bound = region.bound
        reason = _reason_to_stop(region, bound, before, options)
        if reason:
            no_candidates = np.zeros(0, dtype=np.int64)
            yield region.step(bound, no_candidates, np.zeros(0), reason)
            return
        candidates, bounds = region.candidates()
        if options.expansion == "greedy":
            least = float(bounds.min())
            if _is_below(options.threshold, bound, least):
                reason = (
                    f"No variable improves the bound by at least the threshold, "
                    f"{options.threshold:g}."
                )
            elif options.growth == "algorithm-1" and least > bound - _SLACK:
                reason = "No variable improves the bound, so Algorithm 1 stops."
        yield region.step(bound, candidates, bounds, reason)
        if reason:
            return
        region.add(region.best_candidate(candidates, bounds))
        before = bound


def _reason_to_stop(region: _Region, bound: float, before: float, options: ExpansionOptions) -> str:
    if not region.rim:
        return "The region is the query's whole connected component, so the marginal is exact."
    if bound <= options.tolerance:
        return f"The bound is within the tolerance of {options.tolerance:g}."
    if region.size >= options.max_size:
        return f"Size limit reached ({options.max_size})."
    if _is_below(options.threshold, before, bound):
        return (
            f"The last variable improved the bound by less than the threshold, "
            f"{options.threshold:g}."
        )
    return ""


def _is_below(threshold: float, before: float, after: float) -> bool:
    """Return whether a bound below 1 improves by less than a threshold above 0."""
    return threshold > 0.0 and before < 1.0 and before - after < threshold


class _Region:
    """Growing region with its coefficients, fields and bounds."""

    def __init__(self, model: PairwiseModel, query: int, options: ExpansionOptions) -> None:
        self._model, self._options = model, options
        self._flat = flat_model(model)
        self._nodes = np.array([query], dtype=np.int64)
        self._rng = np.random.default_rng(options.seed)
        self._edges_inside = {query: 0}
        # Largest product of influences along a path from the query, by place.
        self._reach = np.ones(1)
        # For each outside neighbour, the squared zero-sum norm of its edges into the region.
        self.rim: dict[int, float] = {}
        self._influences = np.zeros(0)
        self._extend_rim(query)
        self._update_arrays()
        is_tight = options.bound == "tight"
        self._compare = compare_from_scratch if is_tight else compare_by_corollary
        self._is_incremental = is_tight and options.cut == "drop"
        self._comparison = self._compare(self._all_coefficients())
        self._best = self.bound

    @property
    def size(self) -> int:
        return len(self._nodes)

    @property
    def bound(self) -> float:
        """The bound of the query; 0 when no edge is cut, 1 when it is vacuous."""
        return min(float(self._comparison.bounds[0]), 1.0) if self.rim else 0.0

    def step(
        self, bound: float, candidates: np.ndarray, bounds: np.ndarray, reason: str = ""
    ) -> RegionStep:
        """Return the current state of the region."""
        nodes = self._nodes.copy()
        is_boundary = [self._edges_inside[i] < len(neighbours_of(self._model, i)) for i in nodes]
        boundary = nodes[np.array(is_boundary)]
        freeze(nodes, boundary, candidates, bounds)
        return RegionStep(
            added=int(nodes[-1]),
            size=len(nodes),
            bound=bound,
            is_vacuous=bound >= 1.0,
            nodes=nodes,
            boundary=boundary,
            coefficient=float(self._comparison.coefficients.influence.sum(axis=1).max()),
            candidates=candidates,
            candidate_bounds=bounds,
            reason=reason,
        )

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the outside neighbours, and the bound with each of them (NaN if not greedy)."""
        outside = np.array(sorted(self.rim), dtype=np.int64)
        if self._options.expansion != "greedy":
            return outside, np.full(len(outside), np.nan)
        if self._options.bound == "tight":
            bounds, self._influences = bounds_with_each(
                self._flat,
                self._arrays,
                self._inside,
                outside,
                self._fields,
                self._options.limit,
                self._comparison,
                self._reach,
            )
        else:
            bounds, self._influences = self._bounds_by_corollary(outside)
        if len(outside) == 1 and len(neighbours_of(self._model, int(outside[0]))) == len(
            self._inside_neighbours(int(outside[0]))
        ):
            bounds[0] = 0.0  # completes the connected component
        return outside, np.minimum(bounds, 1.0)

    def _bounds_by_corollary(self, outside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bound of Corollary 2 with each candidate, and its influence on the query."""
        bounds, influences = np.empty(len(outside)), np.empty(len(outside))
        for c, node in enumerate(outside.tolist()):
            touched, rows, perturbation, spread = self._coefficients_with(node)
            larger = with_variable(
                self._comparison.coefficients, touched, rows, perturbation, spread
            )
            bounds[c] = compare_by_corollary(larger).bounds[0]
            influences[c] = (self._reach[touched] * rows[:-1, -1]).max()
        return bounds, influences

    def _coefficients_with(
        self, node: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the coefficients that change when a variable is added."""
        found: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] = coefficients_with(
            self._flat,
            self._arrays,
            self._inside,
            node,
            self._fields,
            self._options.limit,
        )
        return found

    def best_candidate(self, candidates: np.ndarray, bounds: np.ndarray) -> int:
        """Return the candidate to add next; the first one of equals.

        Greedy growth adds the candidate with the smallest bound. With detours, where none improves
        the bound because every candidate has a strong edge to the outside or all bounds are
        vacuous, it adds the one with the largest influence on the query.
        """
        if self._options.expansion == "random":
            return int(self._rng.choice(candidates))
        if self._options.expansion == "norm":
            norms = np.array([self.rim[int(v)] for v in candidates])
            return int(candidates[np.argmax(norms)])
        if self._options.growth == "algorithm-1":
            return int(candidates[np.argmin(bounds)])
        allowed = bounds <= min(_DETOUR * self._best, self._best + _RISE)
        if bounds.min() < (1.0 - _PLATEAU) * self.bound or not allowed.any():
            return int(candidates[np.argmin(bounds)])
        return int(candidates[np.argmax(np.where(allowed, self._influences, -1.0))])

    def add(self, node: int) -> None:
        """Add an outside neighbour to the region."""
        if self._is_incremental:
            found = self._coefficients_with(node)
            touched, rows, perturbation, spread = found
            loose = bound_with(self._comparison, *found)[1]
            self._comparison = appended(
                self._comparison, touched, rows, perturbation, spread, loose
            )
        self._edges_inside[node] = 0
        for j in self._inside_neighbours(node):
            self._edges_inside[j] += 1
            self._edges_inside[node] += 1
        self._nodes = np.append(self._nodes, node)
        del self.rim[node]
        self._extend_rim(node)
        self._update_arrays()
        if not self._is_incremental:
            self._comparison = self._compare(self._all_coefficients())
        self._best = min(self._best, self.bound)
        on_others = self._comparison.coefficients.influence[:-1, -1]
        self._reach = np.append(self._reach, (self._reach * on_others).max())

    def _inside_neighbours(self, node: int) -> list[int]:
        """Return the neighbours of a variable that are in the region."""
        neighbours = neighbours_of(self._model, node).tolist()
        return [j for j in neighbours if j in self._edges_inside]

    def _extend_rim(self, node: int) -> None:
        starts, neighbours, edges = self._model.incidence
        for slot in range(int(starts[node]), int(starts[node + 1])):
            v = int(neighbours[slot])
            if v not in self._edges_inside:
                weights = zero_sum(self._model.edge_weights(int(edges[slot])))
                self.rim[v] = self.rim.get(v, 0.0) + float((weights**2).sum())

    def _update_arrays(self) -> None:
        """Recompute the fields that replace the cut edges, and the arrays of the region."""
        rim = np.array(sorted(self.rim), dtype=np.int64)
        self._fields = fields_of(self._flat, self._nodes, rim, self._options.cut)
        self._inside = members(self._nodes)
        self._arrays = region_arrays(
            self._flat, self._nodes, self._inside, self._fields, self._options.limit
        )

    def _all_coefficients(self) -> Coefficients:
        return Coefficients(*all_coefficients(self._flat, self._arrays, self._options.limit))
