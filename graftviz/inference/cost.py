"""Cost of inference on a model: all marginals of one and of two variables, or given queries.

The former are the queries by which Das Gupta, Srinivasan, Sharma and Greiner, "Learning Markov
networks with bounded inference complexity" (2013), measure the cost: P(X_i) of all i and
P(X_i, X_j) of all pairs, edges or not. One run of inference computes the marginals of all nodes and
edges. For other pairs in one component it computes P(X_j | X_i = a) of all j, one run for each
state a of X_i.

Time is the processor time of this thread, so that other load on the machine has little effect; it
still differs between runs and between machines. The number of operations, which counts the entries
of cliques or of messages that are computed, does not.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.evidence import conditioned
from graftviz.inference.exact.junction_tree import JunctionTree, RepeatedTree
from graftviz.inference.exact.ordering import neighbour_lists
from graftviz.inference.exact.structure import (
    EliminationPlan,
    plan_elimination,
    refuse_if_too_large,
)
from graftviz.inference.methods import METHODS, Method, check_method
from graftviz.inference.queries import PASSES, Query, answered, component_numbers
from graftviz.inference.settings import InferenceSettings
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError

_ENOUGH_SECONDS = 2.0  # measurements are not repeated beyond this total


class AllMarginals(NamedTuple):
    """Marginals of all variables and all pairs.

    Attributes
    ----------
    node : float64 array, shape (S,), S = Σ s_i
        Concatenated over variables.
    pair : float64 array, shape (S, S)
        p(x_i = a, x_j = b) in row (i, a) and column (j, b) for i < j; zero elsewhere.
    log_partition : float
    operations : int
        Entries of cliques (exact) or of messages that were computed.
    runs : int
        Runs of inference.
    converged : bool
        Whether all runs converged.
    """

    node: np.ndarray
    pair: np.ndarray
    log_partition: float
    operations: int
    runs: int
    converged: bool


class InferenceCost(NamedTuple):
    """Cost of all unconditional marginals of one and two variables, or of given queries.

    Attributes
    ----------
    method : str
    seconds : float
        Processor time, median of the repeats, without compilation and without the search for the
        elimination order of exact inference.
    operations : int
    runs : int
    converged : bool
        See :class:`AllMarginals`.
    repeats : int

    Examples
    --------
    >>> cost = gv.inference_cost(model, "bp", repeats=1)
    >>> cost.method, cost.converged
    ('bp', True)
    """

    method: str
    seconds: float
    operations: int
    runs: int
    converged: bool
    repeats: int


def all_marginals(
    model: PairwiseModel,
    method: Method = "exact",
    *,
    max_memory: int | None = None,
    plan: EliminationPlan | None = None,
) -> AllMarginals:
    """Return the marginals of all variables and of all pairs, edges or not.

    Parameters
    ----------
    model : PairwiseMRF
    method : {"exact", "bp", "trbp", "mean-field"}
    max_memory : int, optional
        Bytes that tables may take.
    plan : EliminationPlan, optional
        Plan of exact inference; default: computed here.

    Raises
    ------
    InputError
        For an unknown method, a model whose joint states all have probability zero, and exact
        inference that does not fit into memory.
    """
    check_method(method)
    settings = InferenceSettings(max_memory=max_memory)
    if method == "exact":
        return _by_trees(model, settings, plan)
    return _by_messages(model, method, settings)


def inference_cost(
    model: PairwiseModel,
    method: Method = "exact",
    *,
    repeats: int = 3,
    max_memory: int | None = None,
    queries: Sequence[Query] | None = None,
) -> InferenceCost:
    """Measure the cost of :func:`all_marginals`, or of the answers to given queries.

    Parameters
    ----------
    model : PairwiseMRF
    method : {"exact", "bp", "trbp", "mean-field"}
    repeats : int
        Number of measurements, whose median is returned; fewer are made when they take long.
    max_memory : int, optional
        Bytes that tables may take.
    queries : sequence of Query, optional
        Each is answered separately; see :mod:`graftviz.inference.queries`. Default: all marginals.

    Raises
    ------
    InputError
        As for :func:`all_marginals`, and for fewer than one repeat.

    Examples
    --------
    >>> cost = gv.inference_cost(model, repeats=1)
    >>> cost.method, cost.seconds < 1
    ('exact', True)
    """
    if repeats < 1:
        raise InputError(f"Time must be measured at least once; got {repeats} repeats.")
    _compile_kernels(method)
    # One order serves all queries on a structure, so finding it is not measured.
    plan = plan_elimination(model, max_memory=max_memory) if method == "exact" else None
    if plan is not None:
        refuse_if_too_large(plan, max_memory)
    spent: list[float] = []
    while len(spent) < repeats and sum(spent) < _ENOUGH_SECONDS:
        before = time.thread_time()
        counted = _count(model, method, max_memory, plan, queries)
        spent.append(time.thread_time() - before)
    return InferenceCost(method, statistics.median(spent), *counted, len(spent))


def _count(
    model: PairwiseModel,
    method: Method,
    max_memory: int | None,
    plan: EliminationPlan | None,
    queries: Sequence[Query] | None,
) -> tuple[int, int, bool]:
    """Answer all queries once; return operations, runs, and whether all runs converged."""
    if queries is None:
        found = all_marginals(model, method, max_memory=max_memory, plan=plan)
        return found.operations, found.runs, found.converged
    settings = InferenceSettings(max_memory=max_memory)
    order = None if plan is None else plan.order
    answers = [answered(model, query, method, settings, order) for query in queries]
    return (
        sum(answer.operations for answer in answers),
        sum(answer.runs for answer in answers),
        all(answer.converged for answer in answers),
    )


def exact_operations(model: PairwiseModel, plan: EliminationPlan) -> int:
    """Return an upper bound on the operations of :func:`all_marginals` along a plan."""
    variables = _conditioning_variables(model.n_variables, model.edges)
    return PASSES * plan.total_entries * (1 + int(model.cardinalities[variables].sum()))


def _conditioning_variables(n: int, edges: np.ndarray) -> np.ndarray:
    """Return the variables to condition on in order to compute the marginals of all pairs.

    These have a later variable in their component that is no neighbour.
    """
    component = component_numbers(n, edges)
    starts, neighbours = neighbour_lists(n, edges)
    variables = []
    for i in range(n - 1):
        later = neighbours[starts[i] : starts[i + 1]] > i
        if np.count_nonzero(component[i + 1 :] == component[i]) > np.count_nonzero(later):
            variables.append(i)
    return np.array(variables, dtype=np.int64)


def _by_trees(
    model: PairwiseModel, settings: InferenceSettings, initial_plan: EliminationPlan | None
) -> AllMarginals:
    """Run a junction tree once, and once more for each state of each conditioning variable."""
    order = None if initial_plan is None else initial_plan.order
    first = JunctionTree(model, max_memory=settings.max_memory, order=order)
    if first.log_partition == -np.inf:
        raise _impossible_model()
    beliefs, plan = first.beliefs(), first.plan
    tree = RepeatedTree(model, settings.max_memory, plan=plan)
    offsets = model.node_offsets
    weights = model.weights[: offsets[-1]]

    def conditional_marginals(observed: list[tuple[int, int]]) -> np.ndarray:
        forbidden = np.tile(weights, (len(observed), 1))
        for row, (i, state) in enumerate(observed):
            forbidden[row, offsets[i] : offsets[i + 1]] = -np.inf
            forbidden[row, offsets[i] + state] = 0.0
        return tree.marginals(forbidden)[0]

    node, pair, runs = _all_pairs(model, beliefs, conditional_marginals)
    operations = PASSES * plan.total_entries * (1 + runs)
    return AllMarginals(node, pair, first.log_partition, operations, 1 + runs, True)


def _by_messages(model: PairwiseModel, method: Method, settings: InferenceSettings) -> AllMarginals:
    """Pass messages once, and once more for each state of each conditioning variable."""
    operations, converged = 0, True

    def run(evidence: dict[int, int]) -> Beliefs:
        nonlocal operations, converged
        conditional = conditioned(model, evidence)
        found = METHODS[method](conditional.model, settings)
        sizes = conditional.model.cardinalities[conditional.model.edges]
        operations += found.sweeps * 2 * int(sizes.prod(axis=1).sum())
        converged = converged and found.converged
        return conditional.extended(found)

    first = run({})
    if first.log_partition == -np.inf:
        raise _impossible_model()

    def conditional_marginals(observed: list[tuple[int, int]]) -> np.ndarray:
        return np.array([np.concatenate(run(dict([pair])).node) for pair in observed])

    node, pair, runs = _all_pairs(model, first, conditional_marginals)
    return AllMarginals(node, pair, first.log_partition, operations, 1 + runs, converged)


def _all_pairs(
    model: PairwiseModel,
    first: Beliefs,
    conditional_marginals: Callable[[list[tuple[int, int]]], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return all node marginals, all pair marginals, and the number of conditional runs.

    Pairs in different components are independent, pairs of edges are taken from `first`, and all
    others are p(x_i) p(x_j | x_i); `conditional_marginals` returns p(· | x_i = a), one row for each
    (i, a).
    """
    offsets = model.node_offsets.tolist()
    node = np.concatenate(first.node)
    pair = np.outer(node, node)
    for i in range(model.n_variables):
        pair[offsets[i] : offsets[i + 1], : offsets[i + 1]] = 0.0
    observed = [
        (i, state)
        for i in _conditioning_variables(model.n_variables, model.edges).tolist()
        for state in np.flatnonzero(first.node[i] > 0.0).tolist()
    ]
    rows: Iterable[np.ndarray] = conditional_marginals(observed) if observed else []
    for (i, state), row in zip(observed, rows, strict=True):
        later = slice(offsets[i + 1], None)
        pair[offsets[i] + state, later] = first.node[i][state] * row[later]
    for (i, j), table in zip(model.edges.tolist(), first.edge, strict=True):
        pair[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]] = table
    return node, pair, len(observed)


def _impossible_model() -> InputError:
    return InputError("Every joint state of this model has probability zero.")


@functools.cache
def _compile_kernels(method: Method) -> None:
    """Compile all kernels of a method by running it on a small model that covers every branch."""
    edges = np.array([(0, 1), (0, 2), (1, 2), (2, 3)])
    weights = np.linspace(-0.1, 0.1, 8 + 4 * len(edges))
    all_marginals(PairwiseModel(np.full(4, 2), edges, weights), method)
