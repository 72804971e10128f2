"""Run of bounded inference: the model, the search for its next edge, and the reports.

Selection of the next edge under a bound on R, for two kinds of R. A width and a circuit size follow
from the graph, so they are checked before an edge is fitted. Sweeps, seconds and any function of
the model are checked by fitting the edge, measuring, and removing the edge again if the bound is
exceeded.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.table import DiscreteTable
from graftviz.inference.exact.ordering import (
    MIN_FILL,
    MIN_WEIGHT,
    WEIGHTED_FILL,
    Elimination,
    eliminated,
    greedy_elimination,
    smallest_circuit,
)
from graftviz.inference.methods import Method, infer
from graftviz.learning.bounded.feasibility import PROVED, REFUSED, TAKEN, UNKNOWN, first_feasible
from graftviz.learning.bounded.model import OBJECTIVES, BoundedModel
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.history import Changes
from graftviz.learning.learner_run import LearnerRun
from graftviz.learning.trace import Certificate, Complexity, Outcome, Remark, ScoredEdge, Step
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError
from graftviz.utils.options import attributes, plain_name

Measure = Callable[[PairwiseModel], float]
BY_GRAPH = ("treewidth", "circuit-size")
_RECHECKS = 32  # refused pairs for which greedy orders are tried again, per step
_WORTH = 1.5  # circuits larger than this times the bound are hardly ever reordered to fit
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
    is_literal : bool
        Whether to try greedy orders for all pairs in every step.
    """

    def __init__(self, measure: str, bound: float, needs_exact: bool, is_literal: bool) -> None:
        self._bound, self._needs_exact, self._is_literal = bound, needs_exact, is_literal
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
        for rechecks in (len(ranked),) if self._is_literal else (_RECHECKS, len(ranked)):
            for pair, kinds in walk(model, pairs, ranked, rechecks):
                i, j = pairs.ends(pair)
                sizes = partial(self._sizes, model, model.with_edge(i, j))
                best = _elimination_with(model, i, j, kinds, sizes, most)
                if not self._is_width and kinds and sizes(best)[0] <= _WORTH * self._bound:
                    planned = smallest_circuit(model.with_edge(i, j), model.cardinalities)
                    best = best if planned is None else min(best, planned, key=sizes)
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

    If it is literal, as in algorithm 1, every step takes the first of all candidates, and R is
    measured before the fit, with weights of zero for the new edge.

    Parameters
    ----------
    measure : callable
        Return R of a model.
    bound : float
        τ.
    needs_exact : bool
        Whether to refuse pairs after which inference would no longer be exact.
    is_literal : bool
    """

    def __init__(self, measure: Measure, bound: float, needs_exact: bool, is_literal: bool) -> None:
        self._measure, self._bound, self._needs_exact = measure, bound, needs_exact
        self._is_literal = is_literal
        self._measured: float | None = None
        self._has_grown = True  # since refused pairs were last checked again

    def value(self, model: BoundedModel) -> float:
        """Return R of the current model."""
        if self._measured is None:
            self._measured = self._cost(model.model())
        return self._measured

    def grow(self, model: BoundedModel, pairs: Pairs, ranked: np.ndarray) -> int:
        """Add the first ranked pair that keeps the bound; return its index, or -1 if none does.

        Refused pairs are checked again when no other is left and the model has grown since, or in
        every step.
        """
        if self._is_literal:
            return self._first(model, pairs, ranked)
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
                if self._is_literal:
                    cost = self._cost(model.model_with(i, j))
                else:
                    model.add(i, j, best)
                    cost = self._cost(model.model())
                if cost <= self._bound:
                    if self._is_literal:
                        model.add(i, j, best)
                    self._measured = cost
                    return pair
                model.restore(before)
                before = model.snapshot()
            pairs.status[pair] = REFUSED
        return -1

    def _cost(self, model: PairwiseModel) -> float:
        found = self._measure(model)
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


LEAST_GRADIENT = 1e-6  # gradient norm at or below which a pair is not activated
# The default circuit size is in operations per state of every variable.
_BOUNDS = {
    "treewidth": 3.0,
    "bp-sweeps": 30.0,
    "trbp-sweeps": 30.0,
    "seconds": 0.01,
    "circuit-size": 50.0,
}
_GAP_SWEEPS = 200
_OF_THE_MODEL = (
    *("pseudo_count", "lam2", "lam1", "norm", "stage_step"),
    *("inference", "complexity", "exact_limit"),
)


class BoundedRun(LearnerRun):
    """Model and status of every pair of a run.

    Parameters
    ----------
    table : DiscreteTable
    options : BoundedInference
    """

    def __init__(self, table: DiscreteTable, options: Any) -> None:
        super().__init__(table, options)
        self._table = table
        with self.clock.work("statistics"):
            self._counts = PairCounts(table)
            self._counts.count_all()
        first, second = (side.astype(np.int64) for side in np.triu_indices(table.n_variables, 1))
        self._pairs = Pairs(first, second, np.full(len(first), UNKNOWN, dtype=np.int8))
        self._prior = options.prior(table.names)
        # No step considers forbidden pairs, as none considers active ones.
        self._pairs.status[self._places(self._prior.forbidden)] = TAKEN
        with self.clock.work("fitting"):
            self._model = BoundedModel(self._counts, table, options)
            self._choice = self._new_choice()
        value = self._choice.value(self._model)
        if value > self._bound:
            raise InputError(
                f"The bound τ = {self._bound:g} is below the {options.measure_name} of a model "
                f"without edges, {value:g}. Use a larger bound."
            )
        self.begin(self._model.model(), self._model.beliefs())
        self._tests = 0
        self._before = self._model.current
        self._activated: tuple[ScoredEdge, ...] = ()
        self._complexity: Complexity | None = None
        self._newly_infeasible = 0

    @property
    def has_room(self) -> bool:
        """Whether the budget allows another edge."""
        budget: int = self.options.edge_budget(self._table.n_variables)
        return len(self._model.edges) < budget

    def switch(self, options: Any) -> None:
        """Continue with other options, keeping the active edges."""
        before, self.options = self.options, options
        if attributes(before, *_OF_THE_MODEL) != attributes(options, *_OF_THE_MODEL):
            edges, elimination = self._model.edges, self._model.current.elimination
            with self.clock.work("fitting"):
                self._model = BoundedModel(self._counts, self._table, options)
                self._model.rebuild(edges, elimination)
        status = self._pairs.status
        status[status != TAKEN] = UNKNOWN
        self._choice = self._new_choice()

    def add_required(self) -> bool:
        """Activate the required edges as the first step; return whether there are any.

        Raises
        ------
        InputError
            If one of them would exceed the bound.
        """
        if self.index or not len(self._prior.required):
            return False
        model, before, edges = self._model, self._model.current, []
        for pair in self._places(self._prior.required).tolist():
            i, j = self._pairs.ends(pair)
            gradient = float(model.gradients[i, j])
            with self.clock.work("fitting"):
                grown = self._choice.grow(model, self._pairs, np.array([pair]))
            if grown < 0:
                raise InputError(
                    f"The {self.options.measure_name} of a model with the required edges exceeds "
                    f"the bound τ = {self._bound:g}, at {self.names[i]} – {self.names[j]}. Use a "
                    "larger bound, or require fewer edges."
                )
            self._taken(pair)
            edges.append(ScoredEdge(i, j, gradient))
        self._before = before
        self._record(edges, model.changes())
        return True

    def add_edge(self) -> bool:
        """Activate the next edge; return False, changing nothing, if none is left."""
        pair, gradient = self._grow()
        if pair < 0:
            self.tests += self._tests
            return False
        self._taken(pair)
        i, j = self._pairs.ends(pair)
        self._record([ScoredEdge(i, j, gradient)], self._model.changes(i))
        return True

    def _places(self, pairs: np.ndarray) -> np.ndarray:
        """Return the positions of pairs i < j among all pairs."""
        i, j = pairs.astype(np.int64).T
        return i * (2 * self._table.n_variables - i - 3) // 2 + j - 1

    def _taken(self, pair: int) -> None:
        """Mark a pair as active and compute the gradients that its edge changed."""
        self._pairs.status[pair] = TAKEN
        with self.clock.work("scoring"):
            self._model.refresh(int(self._pairs.first[pair]))

    def _record(self, edges: list[ScoredEdge], changes: Changes) -> None:
        """Record the step that activated `edges`."""
        self.index += 1
        self._activated = tuple(edges)
        self.history.append([edge[:2] for edge in edges], changes)
        elimination = self._model.current.elimination
        self._complexity = Complexity(
            measure=plain_name(self.options.complexity),
            value=self._choice.value(self._model),
            bound=self._bound,
            infeasible=self._infeasible(),
            newly_infeasible=self._newly_infeasible,
            order=elimination.order.astype(np.int32),
            width=elimination.width,
            gradient_norm=edges[-1].score,
            inference=self._before.source,
        )

    def step(self) -> Step:
        """Return the report of the last edge and pause the clock until it is resumed."""
        assert self._complexity is not None
        now = self._model.current
        return self.step_report(
            tests=self._tests,
            activated=self._activated,
            required=self.index == 1 and len(self._prior.required) > 0,
            n_edges=len(now.edges),
            objective=now.objective,
            previous_objective=self._model.comparable(self._before),
            kkt_residual=now.violation,
            lines=self._lines(),
            notes=self._notes(),
            complexity=self._complexity,
        )

    def finish(self) -> Outcome:
        """Search for a remaining feasible pair and return the outcome of the run."""
        with self.clock.work("fitting"):
            self._model.polish()
        self.history.append((), self._model.changes())
        now = self._model.current
        certificate = self._certificate()
        network = self._model.model()
        with self.clock.work("other"):
            found = np.concatenate(infer(network, "bp", max_sweeps=_GAP_SWEEPS).node)
            gap = float(np.abs(found - self._model.beliefs()).max())
        outcome = self.outcome(
            certificate,
            self._reason(certificate),
            objective=now.objective,
            kkt_residual=now.violation,
            bp_restart_gap=gap,
            automatic={
                "bound": self._bound,
                "inference": self.options.resolved_inference(),
            },
            objective_name=OBJECTIVES[now.source],
            infeasible=self._infeasible(),
        )
        if self._model.is_fitted:
            return outcome
        reason = Remark(
            "bounded.unfitted", {"reason": outcome.stop_reason, "residual": now.violation}
        )
        return replace(outcome, converged=False, stop_reason=reason)

    def _infeasible(self) -> int:
        """Return the number of inactive pairs that were found to pass the bound."""
        status = self._pairs.status
        return int(np.count_nonzero((status == REFUSED) | (status == PROVED)))

    def _new_choice(self) -> Choice:
        options, measure = self.options, self.options.complexity
        bound = _BOUNDS[measure] if options.bound is None else options.bound
        if options.bound is None and measure == "circuit-size":
            bound *= float(self._table.cardinalities.sum())
        self._bound = float(bound)
        inference = options.resolved_inference()
        needs_exact = (
            inference == "exact"
            or options.stage_step is not None
            or not options.edge_penalty().is_zero
        )
        is_literal = options.literal
        if measure in BY_GRAPH:
            return GraphChoice(measure, self._bound, needs_exact, is_literal)
        if measure == "seconds":
            measure = measured_seconds(inference)
        elif not callable(measure):
            measure = measured_sweeps(measure.removesuffix("-sweeps"), self._bound)
        return MeasuredChoice(measure, self._bound, needs_exact, is_literal)

    def _grow(self) -> tuple[int, float]:
        """Add the best feasible pair; return its index (-1: none) and its gradient norm."""
        pairs, model = self._pairs, self._model
        with self.clock.work("scoring"):
            norms = model.gradients[pairs.first, pairs.second]
            inactive = pairs.status != TAKEN
            self._tests = int(np.count_nonzero(inactive))
            candidates = np.flatnonzero(
                inactive & (pairs.status != PROVED) & (norms > LEAST_GRADIENT)
            )
            ranked = candidates[np.argsort(-norms[candidates], kind="stable")]
        self._before = model.current
        if self._choice.value(model) > self._bound:
            return -1, 0.0  # after new options the current model may exceed the bound already
        refused = (pairs.status == REFUSED) | (pairs.status == PROVED)
        with self.clock.work("fitting"):
            pair = self._choice.grow(model, pairs, ranked)
        refused_after = (pairs.status == REFUSED) | (pairs.status == PROVED)
        self._newly_infeasible = int(np.count_nonzero(refused_after & ~refused))
        return pair, float(norms[pair]) if pair >= 0 else 0.0

    def _certificate(self) -> Certificate:
        """Return the certificate, which names the feasible pair with the largest gradient."""
        before = self._model.snapshot()
        pair, norm = self._grow()
        inactive = self.tables_possible - len(self._prior.forbidden) - len(before[0].edges)
        worst_edge = None
        if pair >= 0:
            self._model.restore(before)
            worst_edge = self._pairs.ends(pair)
        self.tests += inactive
        return Certificate(
            scored=inactive,
            possible=inactive,
            worst_score=norm if pair >= 0 else None,
            worst_edge=worst_edge,
            threshold=LEAST_GRADIENT,
            score="gradient norm of a pair that keeps the bound",
            objective=OBJECTIVES[self._model.current.source],
            symbol="the least gradient",
        )

    def _lines(self) -> tuple[str, ...]:
        searched = self.index > 1 or not len(self._prior.required)
        ran = {
            "start": self.index == 1,
            "loop": searched,
            "gradient": searched,
            "choose": searched,
            "refuse": self._newly_infeasible > 0,
            "activate": True,
            "fit": True,
        }
        return tuple(key for key, happened in ran.items() if happened)

    def _notes(self) -> tuple[Remark, ...]:
        if not self._model.is_fitted:
            return (Remark("notes.unfitted", {"residual": self._model.current.violation}),)
        now = self._model.current.source
        if now == self._before.source:
            return ()
        about = {"limit": self.options.exact_limit, "objective": OBJECTIVES[now]}
        return (Remark("notes.not_exact", about),)

    def _reason(self, certificate: Certificate) -> Remark:
        edges, status = len(self._model.edges), self._pairs.status
        bounds: dict[str, str | float]
        bounds = {"measure": self.options.measure_name, "bound": self._bound}
        if (status == TAKEN).all():
            return self.nothing_left()
        if certificate.worst_score is not None:
            return Remark("reasons.budget", {"budget": edges})
        if self._choice.value(self._model) > self._bound:
            return Remark("bounded.exceeds", bounds)
        left = self._model.gradients[self._pairs.first, self._pairs.second]
        if not (left[status != TAKEN] > LEAST_GRADIENT).any():
            return Remark("bounded.gradient", {"least": LEAST_GRADIENT})
        if self.options.complexity == "treewidth" and self._bound < 1.0:
            return Remark("bounded.zero", {})
        refused = self._infeasible()
        idle = int(np.count_nonzero(status != TAKEN)) - refused
        kind = "bounded.none_left" if edges else "bounded.no_edge"
        if self.options.complexity in BY_GRAPH and (status == REFUSED).any():
            kind = "bounded.no_order"  # a better order may exist
        return Remark(
            kind,
            {
                **bounds,
                "refused": Remark("bounded.refused", {"count": refused}),
                "others": Remark("bounded.idle", {"count": idle}) if idle else "",
            },
        )
