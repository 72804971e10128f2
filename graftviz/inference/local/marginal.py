"""Certified marginal of one variable, computed from a small region that grows around it.

The region grows by one variable at a time. Algorithm 1 of the paper stops where no candidate
improves the bound (``growth="algorithm-1"``). Growth with detours continues across plateaus, where
none improves it by 1 %: on grids the bound often decreases by orders of magnitude beyond them.

References
----------
Chen, Peng, Liu: Efficient localized inference for large graphical models, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.structure import allowed_bytes
from graftviz.inference.local.bounds import (
    Coefficients,
    RegionArrays,
    all_coefficients,
    appended,
    bound_with,
    bounds_with_each,
    coefficients_with,
    compare_by_corollary,
    compare_from_scratch,
    region_arrays,
    with_variable,
)
from graftviz.inference.local.local_model import Cut, Fields, fields_of, region_model
from graftviz.inference.local.star import (
    ENUMERATION_LIMIT,
    Members,
    flat_model,
    members,
    neighbours_of,
)
from graftviz.inference.methods import infer
from graftviz.inference.support import is_possible
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of, zero_sum
from graftviz.utils.arrays import freeze
from graftviz.utils.errors import InputError
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
_TRIED, _SEEN = 12, 8  # variables tried for a first query, nodes in the region of each
_STRONGEST = 1e6  # stands for the norm of edges with zero potentials
_HAVE_STATES: WeakKeyDictionary[PairwiseModel, bool] = WeakKeyDictionary()


@dataclass(frozen=True)
class ExpansionOptions:
    """Options of the growth of a region and of its end; see :func:`local_marginal`.

    `limit` is the largest number of joint states of neighbours to enumerate, for each coefficient.
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
        "greedy growth where no neighbour improves the bound by a hundredth: detours continues "
        "with the neighbour of largest influence on the query, even if the bound rises a little; "
        "algorithm-1 stops where none improves it at all, as in the paper",
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
        The bound with each candidate; NaN where the expansion does not use them.
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
        self._comparison = self._compare(self._all_coefficients(self._arrays))
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
        if self._options.cut == "mean-field":
            bounds, self._influences = self._bounds_with_fields(outside)
        elif self._options.bound == "tight":
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

    def _bounds_with_fields(self, outside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bound with each candidate under fields of its own, and the influences."""
        bounds, influences = np.empty(len(outside)), np.empty(len(outside))
        for c, node in enumerate(outside.tolist()):
            nodes = np.append(self._nodes, node)
            rim = {*self.rim, *neighbours_of(self._model, node).tolist()} - set(nodes.tolist())
            arrays = self._arrays_of(nodes, sorted(rim))[-1]
            larger = self._compare(self._all_coefficients(arrays))
            bounds[c] = larger.bounds[0]
            influences[c] = (self._reach * larger.coefficients.influence[:-1, -1]).max()
        return bounds, influences

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
        the bound by 1 % because every candidate has a strong edge to the outside or all bounds are
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
            self._comparison = self._compare(self._all_coefficients(self._arrays))
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
        found = self._arrays_of(self._nodes, sorted(self.rim))
        self._fields, self._inside, self._arrays = found

    def _arrays_of(self, nodes: np.ndarray, rim: list[int]) -> tuple[Fields, Members, RegionArrays]:
        outside = np.array(rim, dtype=np.int64)
        fields, inside = fields_of(self._flat, nodes, outside, self._options.cut), members(nodes)
        return (
            fields,
            inside,
            region_arrays(self._flat, nodes, inside, fields, self._options.limit),
        )

    def _all_coefficients(self, arrays: RegionArrays) -> Coefficients:
        return Coefficients(*all_coefficients(self._flat, arrays, self._options.limit))


@dataclass(frozen=True, eq=False, repr=False)
class LocalMarginal:
    """Marginal computed from a local region, with an error bound.

    Attributes
    ----------
    query : int
    marginal : float64 array, shape (s_query,)
    bound : float
        Largest possible difference between a probability in `marginal` and in the whole model;
        1 when vacuous.
    certified : bool
        Whether the bound is proven and at most the tolerance.
    nontrivial_bound : bool
        Whether the bound is proven and not vacuous: inference in the region was exact, and the
        bound is below 1.
    nodes : int64 array
        The region that was used, the query first, in order of addition: of all regions during
        growth the one with the smallest bound, of several the largest.
    cut, expansion : str
    method : {"exact", "bp"}
        Inference method inside the region; "bp" where exact inference needs too much memory.
    stop_reason : str
        Why growth stopped, and remarks on the result, in sentences.
    history : tuple of RegionStep
        From the query alone to the region that was used; growth may have continued.

    Examples
    --------
    >>> answer = gv.local_marginal(model, "commute", max_size=4)
    >>> [model.names[k] for k in answer.nodes], round(answer.bound, 2)
    (['commute', 'home', 'garden', 'pet'], 0.51)
    """

    query: int
    marginal: np.ndarray
    bound: float
    certified: bool
    nontrivial_bound: bool
    nodes: np.ndarray
    cut: Cut
    expansion: Expansion
    method: str
    stop_reason: str
    history: tuple[RegionStep, ...]

    def __repr__(self) -> str:
        probabilities = ", ".join(f"{p:.3g}" for p in self.marginal)
        word = "certified" if self.certified else "not certified"
        region = _variables(len(self.nodes))
        return f"<LocalMarginal ({probabilities}) ± {self.bound:.2g}, {word}, from {region}>"


def grow_region(
    model: HasModel,
    query: int | str,
    *,
    tolerance: float = 1e-3,
    max_size: int = 16,
    cut: Cut = "drop",
    expansion: Expansion = "greedy",
    threshold: float = 0.0,
    seed: int = 0,
    growth: Growth = "detours",
    bound: Bound = "tight",
    evidence: Evidence | None = None,
) -> Iterator[RegionStep]:
    """Yield the region of the query alone, then the region after every added variable.

    Parameters are those of :func:`local_marginal`. Steps are computed as they are consumed.

    Raises
    ------
    InputError
        For a query or evidence that is not in the model, options out of range, and a model of
        which every joint state has probability zero; raised by the call, not by the first step.

    Examples
    --------
    >>> [step.size for step in gv.grow_region(model, "commute", max_size=4)]
    [1, 2, 3, 4]
    """
    options = ExpansionOptions(tolerance, max_size, cut, expansion, threshold, seed, growth, bound)
    own: PairwiseModel = model_of(model)
    rest = _conditional_model(own, checked_evidence(own, evidence))
    return expansion_steps(rest, own.index_of(query), options)


def local_marginal(
    model: HasModel,
    query: int | str,
    *,
    tolerance: float = 1e-3,
    max_size: int = 16,
    cut: Cut = "drop",
    expansion: Expansion = "greedy",
    threshold: float = 0.0,
    seed: int = 0,
    growth: Growth = "detours",
    bound: Bound = "tight",
    evidence: Evidence | None = None,
    max_memory: int | None = None,
) -> LocalMarginal:
    """Compute the marginal of one variable from a small region around it, with a proven bound.

    The cost depends on the region, its neighbours and their neighbours, not on the size of the
    model.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    query : int or str
        The variable, by index or name.
    tolerance : float
        Stop growing when the bound is at most this.
    max_size : int
        Largest number of variables in the region.
    cut : {"drop", "mean-field"}
        Treatment of the edges that leave the region: removed, or replaced by a field on its
        boundary.
    expansion : {"greedy", "random", "norm"}
        Which outside neighbour is added next: the one with the smallest bound; a random one; the
        one with the largest norm of all its edges into the region.
    threshold : float
        Stop growing when no variable improves a bound that is not vacuous by at least this much,
        or, for expansions that do not compute the bounds of candidates, when the last variable did
        not; 0: never.
    seed : int
        Seed of the random expansion.
    growth : {"detours", "algorithm-1"}
        Greedy expansion where no variable improves the bound by 1 %: continue with the variable of
        largest influence on the query, even if the bound rises a little; or stop where none
        improves it at all, as in Algorithm 1 of the paper.
    bound : {"tight", "corollary-2"}
        Form of the error bound: the influence of all neighbours of a variable together is limited,
        or their influences are added up, as in Corollary 2 of the paper, which is never smaller.
    evidence : mapping, optional
        States of observed variables: {variable: state}.
    max_memory : int, optional
        Bytes that the tables of exact inference may take; default: most of what is free.

    Raises
    ------
    InputError
        For a query or evidence that is not in the model, options out of range, evidence of
        probability zero, and a model of which every joint state has probability zero.

    References
    ----------
    Chen, Peng, Liu: Efficient localized inference for large graphical models, Algorithm 1.

    Examples
    --------
    >>> answer = gv.local_marginal(model, "commute", max_size=6)
    >>> answer.marginal.round(2), len(answer.nodes), answer.certified
    (array([0.26, 0.24, 0.36, 0.14]), 4, False)
    """
    options = ExpansionOptions(tolerance, max_size, cut, expansion, threshold, seed, growth, bound)
    own: PairwiseModel = model_of(model)
    allowed_bytes(max_memory)  # refuses an impossible limit
    observed = checked_evidence(own, evidence)
    rest = _conditional_model(own, observed)
    i = own.index_of(query)
    grown = tuple(expansion_steps(rest, i, options))
    best = min(reversed(grown), key=lambda step: step.bound)
    history = grown[: best.size]
    marginal, is_exact = _query_marginal(rest, best, cut, max_memory)
    proven = best.bound if is_exact else 1.0
    sentences = [grown[-1].reason]
    if best.size < grown[-1].size:
        sentences.append(
            f"The bound was smallest with {_variables(best.size)}, and that region is used."
        )
    if not is_exact:
        sentences.append(
            "Exact inference on it would need too much memory, so belief propagation was used, "
            "and nothing is certified."
        )
    elif proven >= 1.0:
        sentences.append("The bound is vacuous: nothing is certified.")
    if i in observed:
        marginal = np.zeros(int(own.cardinalities[i]))
        marginal[observed[i]] = 1.0
        sentences = ["The query is observed."]
    marginal.flags.writeable = False
    return LocalMarginal(
        query=i,
        marginal=marginal,
        bound=proven,
        certified=proven < 1.0 and proven <= tolerance,
        nontrivial_bound=proven < 1.0,
        nodes=best.nodes,
        cut=cut,
        expansion=expansion,
        method="exact" if is_exact else "bp",
        stop_reason=" ".join(sentences),
        history=history,
    )


def _conditional_model(model: PairwiseModel, observed: dict[int, int]) -> PairwiseModel:
    """Return the model conditioned on evidence; the model itself if there is none.

    A model without a possible state, and evidence of probability zero, are refused, even if the
    contradiction lies far from the query.
    """
    if not observed:
        if not _has_state(model):
            raise InputError(
                "Every joint state of this model has probability zero, so it has no marginals."
            )
        return model
    rest = conditioned(model, observed).model
    if not is_possible(rest):
        raise InputError(
            "The evidence contradicts the model: together its observations have probability zero."
        )
    return rest


def _has_state(model: PairwiseModel) -> bool:
    """Return whether a joint state is possible; searched for once per model."""
    if model not in _HAVE_STATES:
        # Without zero potentials nothing of the size of the model is allocated.
        lowest = model.weights.min(initial=0.0)
        _HAVE_STATES[model] = bool(np.isfinite(lowest)) or is_possible(model)
    return _HAVE_STATES[model]


def _variables(count: int) -> str:
    return "1 variable" if count == 1 else f"{count:,} variables"


def _query_marginal(
    model: PairwiseModel, step: RegionStep, cut: Cut, max_memory: int | None
) -> tuple[np.ndarray, bool]:
    """Return the marginal of the query in the local model, and whether it is exact."""
    local = region_model(model, step.nodes, cut)
    try:
        tree = JunctionTree(local, max_memory=max_memory)
    except InputError:  # the tables would need too much memory
        return infer(local, "bp").node[0].copy(), False
    return tree.node(0).copy(), True


def promising_query(model: PairwiseModel) -> int:
    """Return a variable for which a small region gives a small bound.

    Of some variables with weak edges, but two of them at least, the one whose bound gets smallest:
    around hubs there is nothing to see.
    """
    degrees = model.degrees()
    norms = np.repeat(np.minimum(model.edge_norms(), _STRONGEST), 2)
    pulls = np.bincount(model.edges.reshape(-1), norms, minlength=len(degrees))
    weakest = np.argsort(np.where(degrees >= min(2, degrees.max()), pulls, np.inf), kind="stable")

    def smallest_bound(query: int) -> float:
        return min(step.bound for step in grow_region(model, query, tolerance=0.0, max_size=_SEEN))

    return min((int(i) for i in weakest[:_TRIED]), key=smallest_bound)
