"""Growing a region around a query, one variable at a time: Algorithm 1 of the paper.

The paper stops where no candidate improves the bound. Growth here may go on over such plateaus: on
grids the bound often falls by orders of magnitude behind them.

References
----------
Chen, Peng, Liu: Efficient localized inference for large graphical models, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graftviz.errors import InputError
from graftviz.model import PairwiseMRF
from graftviz.regions.comparison import Coefficients, appended, compared_afresh
from graftviz.regions.cuts import check_cut, fields_of
from graftviz.regions.neighbourhood import flat_model, members, neighbours_of
from graftviz.regions.newcomers import (
    bound_with,
    bounds_with_each,
    coefficients_with,
)
from graftviz.regions.star import ENUMERATION_LIMIT
from graftviz.regions.survey import coefficients_of_all, survey_of

EXPANSIONS = ("greedy", "random", "norm")
# Where the best candidate improves the bound by less than this share, growth is on a plateau ...
_PLATEAU = 0.01
# ... and goes where the query feels most, as long as the bound exceeds the best one so far by no
# more than this factor and this difference. Measured on grids and scale-free graphs: more freedom
# costs as much where couplings are strong as it gains where they are weak.
_DETOUR, _RISE = 1.25, 0.03


@dataclass(frozen=True)
class ExpansionOptions:
    """How a region grows and when it stops.

    Attributes
    ----------
    tolerance : float
        Stop when the bound is at most this.
    max_size : int
        Stop at so many variables.
    cut : {"drop", "mean-field"}
        What becomes of the edges that leave the region.
    expansion : {"greedy", "random", "norm"}
        Which outside neighbour comes next: the one that gives the smallest bound; any; the one with
        the largest norm of all its edges into the region.
    threshold : float
        Stop when no variable improves a bound that is not vacuous by this much, or, where the
        expansion does not look ahead, when the last one did not; 0: never.
    seed : int
        Of the random expansion.
    limit : int
        Joint states of neighbours to enumerate at most, for each coefficient.
    """

    tolerance: float = 1e-3
    max_size: int = 16
    cut: str = "drop"
    expansion: str = "greedy"
    threshold: float = 0.0
    seed: int = 0
    limit: int = ENUMERATION_LIMIT

    def __post_init__(self) -> None:
        check_cut(self.cut)
        if self.expansion not in EXPANSIONS:
            raise InputError(
                f"An expansion is one of {', '.join(EXPANSIONS)}, not {self.expansion!r}."
            )
        if not self.tolerance >= 0.0:
            raise InputError(f"The tolerance must be at least 0; got {self.tolerance:g}.")
        if self.max_size < 1:
            raise InputError(f"A region has at least one variable; got {self.max_size}.")
        if not self.threshold >= 0.0:
            raise InputError(f"The threshold must be at least 0; got {self.threshold:g}.")
        if self.seed < 0:
            raise InputError(f"The seed must be at least 0; got {self.seed}.")
        if self.limit < 1:
            raise InputError(f"At least one joint state is enumerated; got {self.limit}.")


@dataclass(frozen=True, eq=False)
class RegionStep:
    """A region after one more variable.

    Attributes
    ----------
    added : int
        The variable; the query in the first step.
    size : int
    bound : float
        No marginal of the query in the local model is further than this from the true one;
        1 when vacuous, 0 when the region is the query's whole connected component.
    is_vacuous : bool
        Whether the bound says nothing.
    nodes : int64 array
        The region, in order of addition.
    boundary : int64 array
        Those of them that have outside neighbours, in that order.
    coefficient : float
        Dobrushin coefficient of the local model: the largest row sum of its influence matrix.
    candidates : int64 array
        Outside neighbours that were tried to come next, ascending; empty where growth ends without.
    candidate_bounds : float64 array
        The bound with each of them; not-a-number where the expansion does not ask. Under the
        mean-field cut these hold for the fields as they are, before they are fitted anew.
    reason : str
        Why growth ends here, as a sentence; empty where it goes on.
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
    model: PairwiseMRF, query: int, options: ExpansionOptions
) -> Iterator[RegionStep]:
    """Yield the region of the query alone, then the region after every added variable."""
    region = _Region(model, query, options)
    before = 1.0
    while True:
        bound = region.bound
        reason = _reason_to_stop(region, bound, before, options)
        if reason:
            nobody = np.zeros(0, dtype=np.int64)
            yield region.step(bound, nobody, np.zeros(0), reason)
            return
        candidates, bounds = region.candidates()
        reason = _reason_to_take_none(bound, bounds, options)
        yield region.step(bound, candidates, bounds, reason)
        if reason:
            return
        region.add(region.chosen(candidates, bounds))
        before = bound


def _reason_to_stop(region: _Region, bound: float, before: float, options: ExpansionOptions) -> str:
    if not region.rim:
        return (
            "The region holds everything that is connected with the query, so its answer is exact."
        )
    if bound <= options.tolerance:
        return f"The bound, {bound:.3g}, is within the tolerance of {options.tolerance:g}."
    if region.size >= options.max_size:
        variables = "variable" if options.max_size == 1 else "variables"
        return f"The region has the {options.max_size} {variables} it may have at most."
    if _is_below(options.threshold, before, bound):
        return (
            f"The last variable improved the bound by less than the threshold of "
            f"{options.threshold:g}."
        )
    return ""


def _reason_to_take_none(bound: float, bounds: np.ndarray, options: ExpansionOptions) -> str:
    """Say so if no candidate is good enough; only greedy growth knows before it takes one."""
    if options.expansion == "greedy" and _is_below(options.threshold, bound, float(bounds.min())):
        return f"No variable improves the bound by the threshold of {options.threshold:g}."
    return ""


def _is_below(threshold: float, before: float, after: float) -> bool:
    """Return whether a bound that said something improves by less than the threshold, if any."""
    return threshold > 0.0 and before < 1.0 and before - after < threshold


class _Region:
    """A region while it grows."""

    def __init__(self, model: PairwiseMRF, query: int, options: ExpansionOptions) -> None:
        self._model, self._options = model, options
        self._flat = flat_model(model)
        self._nodes = np.array([query], dtype=np.int64)
        self._rng = np.random.default_rng(options.seed)
        self._edges_inside = {query: 0}
        # Largest product of influences along a path from the query, by place.
        self._reach = np.ones(1)
        # The outside neighbours: squared norm of the edges of each into the region.
        self.rim: dict[int, float] = {}
        self._pulls = np.zeros(0)
        self._meet_neighbours(query)
        self._look_around()
        self._comparison = compared_afresh(self._all_coefficients())
        self._best = self.bound

    @property
    def size(self) -> int:
        return len(self._nodes)

    @property
    def bound(self) -> float:
        """The bound of the query; 0 when nothing is cut, 1 when it says nothing."""
        return min(float(self._comparison.bounds[0]), 1.0) if self.rim else 0.0

    def step(
        self, bound: float, candidates: np.ndarray, bounds: np.ndarray, reason: str = ""
    ) -> RegionStep:
        """Return what the region is now."""
        nodes = self._nodes.copy()
        is_boundary = [self._edges_inside[i] < len(neighbours_of(self._model, i)) for i in nodes]
        boundary = nodes[np.array(is_boundary)]
        for array in (nodes, boundary, candidates, bounds):
            array.flags.writeable = False
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
        """Return the outside neighbours, and the bounds with each of them if they are wanted."""
        outside = np.array(sorted(self.rim), dtype=np.int64)
        if self._options.expansion != "greedy":
            return outside, np.full(len(outside), np.nan)
        bounds, self._pulls = bounds_with_each(
            self._flat,
            self._survey,
            self._inside,
            outside,
            self._fields,
            self._options.limit,
            self._comparison,
            self._reach,
        )
        if len(outside) == 1 and len(neighbours_of(self._model, int(outside[0]))) == len(
            self._touched(int(outside[0]))
        ):
            bounds[0] = 0.0  # it would complete the component
        return outside, np.minimum(bounds, 1.0)

    def chosen(self, candidates: np.ndarray, bounds: np.ndarray) -> int:
        """Return who comes next; of equals the first.

        Greedy growth takes the smallest bound. It gets stuck where every candidate has a strong
        edge to the other side, or where all bounds are vacuous; only a detour leads on then.
        """
        if self._options.expansion == "random":
            return int(self._rng.choice(candidates))
        if self._options.expansion == "norm":
            norms = np.array([self.rim[int(v)] for v in candidates])
            return int(candidates[np.argmax(norms)])
        allowed = bounds <= min(_DETOUR * self._best, self._best + _RISE)
        if bounds.min() < (1.0 - _PLATEAU) * self.bound or not allowed.any():
            return int(candidates[np.argmin(bounds)])
        return int(candidates[np.argmax(np.where(allowed, self._pulls, -1.0))])

    def add(self, newcomer: int) -> None:
        """Take an outside neighbour into the region."""
        if self._options.cut == "drop":
            found = coefficients_with(
                self._flat,
                self._survey,
                self._inside,
                newcomer,
                self._fields,
                self._options.limit,
            )
            touched, rows, perturbation, spread = found
            loose = bound_with(self._comparison, *found)[1]
            self._comparison = appended(
                self._comparison, touched, rows, perturbation, spread, loose
            )
        self._edges_inside[newcomer] = 0
        for j in self._touched(newcomer):
            self._edges_inside[j] += 1
            self._edges_inside[newcomer] += 1
        self._nodes = np.append(self._nodes, newcomer)
        del self.rim[newcomer]
        self._meet_neighbours(newcomer)
        self._look_around()
        if self._options.cut != "drop":
            self._comparison = compared_afresh(self._all_coefficients())
        self._best = min(self._best, self.bound)
        to_newcomer = self._comparison.coefficients.influence[:-1, -1]
        self._reach = np.append(self._reach, (self._reach * to_newcomer).max())

    def _touched(self, newcomer: int) -> list[int]:
        """Return the neighbours of an outside variable that are in the region."""
        around = neighbours_of(self._model, newcomer).tolist()
        return [j for j in around if j in self._edges_inside]

    def _meet_neighbours(self, newcomer: int) -> None:
        starts, neighbours, edges = self._model.incidence
        for slot in range(int(starts[newcomer]), int(starts[newcomer + 1])):
            v = int(neighbours[slot])
            if v not in self._edges_inside:
                weights = self._model.edge_weights(int(edges[slot]))
                self.rim[v] = self.rim.get(v, 0.0) + float((weights**2).sum())

    def _look_around(self) -> None:
        """Fit the fields that stand for the cut edges, and survey the region."""
        rim = np.array(sorted(self.rim), dtype=np.int64)
        self._fields = fields_of(self._flat, self._nodes, rim, self._options.cut)
        self._inside = members(self._nodes)
        self._survey = survey_of(
            self._flat, self._nodes, self._inside, self._fields, self._options.limit
        )

    def _all_coefficients(self) -> Coefficients:
        return Coefficients(*coefficients_of_all(self._flat, self._survey, self._options.limit))
