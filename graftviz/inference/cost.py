"""What inference on a model costs: all unconditional marginals of one and of two variables.

That is the set of queries by which Das Gupta, Srinivasan, Sharma and Greiner, "Learning Markov
networks with bounded inference complexity" (2013), measure it: P(X_i) of all i and P(X_i, X_j) of
all pairs, edges or not. One run of inference answers for all nodes and edges. Any other pair of one
component takes P(X_j | X_i = a) for the states a of X_i, one run each, which serve all j.

Time is the processor's time of this thread, so that what else the machine does matters little; it
still differs from run to run and from machine to machine. Its twin, the number of operations, does
not: entries of cliques gone through, or entries of messages computed.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graftviz.errors import InputError
from graftviz.inference import METHODS
from graftviz.inference.beliefs import Beliefs
from graftviz.inference.evidence import conditioned
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.plan import (
    EliminationPlan,
    plan_elimination,
    refuse_if_too_large,
)
from graftviz.inference.exact.repeated import RepeatedTree
from graftviz.inference.settings import InferenceSettings
from graftviz.model import PairwiseMRF

_ENOUGH_SECONDS = 2.0  # after which a measurement is not repeated
_WAYS = 2  # up and down


class AllMarginals(NamedTuple):
    """The marginals of all variables and all pairs.

    Attributes
    ----------
    node : float64 array, shape (S,), S = Σ s_i
        Variable after variable.
    pair : float64 array, shape (S, S)
        p(x_i = a, x_j = b) in row (i, a) and column (j, b) for i < j; zero elsewhere.
    log_partition : float
    operations : int
        Entries of cliques (exact) or of messages gone through.
    runs : int
        Runs of inference.
    converged : bool
        Whether all of them converged.
    """

    node: np.ndarray
    pair: np.ndarray
    log_partition: float
    operations: int
    runs: int
    converged: bool


class InferenceCost(NamedTuple):
    """What all unconditional marginals of one and two variables cost.

    Attributes
    ----------
    method : str
    seconds : float
        Processor time, median of the repeats; nothing is compiled within, and the elimination
        order of exact inference is there already.
    operations : int
    runs : int
    converged : bool
        See :class:`AllMarginals`.
    repeats : int
    """

    method: str
    seconds: float
    operations: int
    runs: int
    converged: bool
    repeats: int


def all_marginals(
    model: PairwiseMRF,
    method: str = "exact",
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
        Of exact inference, where it is there already.

    Raises
    ------
    InputError
        For an unknown method, a model whose joint states all have probability zero, and exact
        inference that does not fit into memory.
    """
    if method not in METHODS:
        raise InputError(f"Inference method must be one of {', '.join(METHODS)}, not {method!r}.")
    settings = InferenceSettings(max_memory=max_memory)
    if method == "exact":
        return _by_trees(model, settings, plan)
    return _by_messages(model, method, settings)


def inference_cost(
    model: PairwiseMRF, method: str = "exact", *, repeats: int = 3, max_memory: int | None = None
) -> InferenceCost:
    """Measure what :func:`all_marginals` takes.

    Parameters
    ----------
    model : PairwiseMRF
    method : {"exact", "bp", "trbp", "mean-field"}
    repeats : int
        Measurements, of which the median counts; there are fewer when they take long.
    max_memory : int, optional
        Bytes that tables may take.

    Raises
    ------
    InputError
        As :func:`all_marginals`, and for fewer than one repeat.
    """
    if repeats < 1:
        raise InputError(f"Time must be measured at least once; got {repeats} repeats.")
    _rehearse(method)
    # An order serves for all that is ever asked of a structure, so finding it is not counted.
    plan = plan_elimination(model, max_memory=max_memory) if method == "exact" else None
    if plan is not None:
        refuse_if_too_large(plan, max_memory)
    spent: list[float] = []
    while len(spent) < repeats and sum(spent) < _ENOUGH_SECONDS:
        before = time.thread_time()
        found = all_marginals(model, method, max_memory=max_memory, plan=plan)
        spent.append(time.thread_time() - before)
    seconds = statistics.median(spent)
    return InferenceCost(method, seconds, found.operations, found.runs, found.converged, len(spent))


def inference_seconds(model: PairwiseMRF, method: str = "exact", *, repeats: int = 3) -> float:
    """Return the processor seconds of all unconditional marginals; see :func:`inference_cost`."""
    return inference_cost(model, method, repeats=repeats).seconds


def exact_operations(model: PairwiseMRF, plan: EliminationPlan) -> int:
    """Return the operations of exact inference along a plan, at most, without doing it."""
    return _WAYS * plan.total_entries * (1 + int(model.cardinalities[_asked(model)].sum()))


def _asked(model: PairwiseMRF) -> np.ndarray:
    """Return the variables whose states are gone through, so that all pairs are known.

    Those with a later variable in their component that is no neighbour.
    """
    component = _components(model)
    starts, neighbours, _ = model.incidence
    asked = []
    for i in range(model.n_variables - 1):
        later = neighbours[starts[i] : starts[i + 1]] > i
        if np.count_nonzero(component[i + 1 :] == component[i]) > np.count_nonzero(later):
            asked.append(i)
    return np.array(asked, dtype=np.int64)


def _components(model: PairwiseMRF) -> np.ndarray:
    """Return for each variable the least one that it is connected with."""
    starts, neighbours, _ = model.incidence
    component = np.full(model.n_variables, -1)
    for root in range(model.n_variables):
        if component[root] >= 0:
            continue
        component[root] = root
        open_nodes = [root]
        while open_nodes:
            i = open_nodes.pop()
            for j in neighbours[starts[i] : starts[i + 1]].tolist():
                if component[j] < 0:
                    component[j] = root
                    open_nodes.append(j)
    return component


def _by_trees(
    model: PairwiseMRF, settings: InferenceSettings, known: EliminationPlan | None
) -> AllMarginals:
    """Go through a junction tree once, and once more for each state of each variable asked."""
    order = None if known is None else known.order
    first = JunctionTree(model, max_memory=settings.max_memory, order=order)
    if first.log_partition == -np.inf:
        raise _nothing_is_possible()
    beliefs, plan = first.beliefs(), first.plan
    tree = RepeatedTree(model, settings.max_memory, plan=plan)
    offsets = model.node_offsets
    weights = model.weights[: offsets[-1]]

    def given(observed: list[tuple[int, int]]) -> np.ndarray:
        forbidden = np.tile(weights, (len(observed), 1))
        for row, (i, state) in enumerate(observed):
            forbidden[row, offsets[i] : offsets[i + 1]] = -np.inf
            forbidden[row, offsets[i] + state] = 0.0
        return tree.marginals(forbidden)[0]

    node, pair, runs = _joined(model, beliefs, given)
    operations = _WAYS * plan.total_entries * (1 + runs)
    return AllMarginals(node, pair, first.log_partition, operations, 1 + runs, True)


def _by_messages(model: PairwiseMRF, method: str, settings: InferenceSettings) -> AllMarginals:
    """Pass messages once, and once more for each state of each variable asked."""
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
        raise _nothing_is_possible()

    def given(observed: list[tuple[int, int]]) -> np.ndarray:
        return np.array([np.concatenate(run(dict([pair])).node) for pair in observed])

    node, pair, runs = _joined(model, first, given)
    return AllMarginals(node, pair, first.log_partition, operations, 1 + runs, converged)


def _joined(
    model: PairwiseMRF, first: Beliefs, given: Callable[[list[tuple[int, int]]], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return all node marginals, all pair marginals, and how often `given` was asked.

    Pairs of different components are independent, those of edges stand in `first`, and all others
    are p(x_i) p(x_j | x_i), for which `given` returns p(· | x_i = a), a row for each (i, a).
    """
    offsets = model.node_offsets.tolist()
    node = np.concatenate(first.node)
    pair = np.outer(node, node)
    for i in range(model.n_variables):
        pair[offsets[i] : offsets[i + 1], : offsets[i + 1]] = 0.0
    observed = [
        (i, state)
        for i in _asked(model).tolist()
        for state in np.flatnonzero(first.node[i] > 0.0).tolist()
    ]
    for (i, state), row in zip(observed, given(observed) if observed else [], strict=True):
        later = slice(offsets[i + 1], None)
        pair[offsets[i] + state, later] = first.node[i][state] * row[later]
    for (i, j), table in zip(model.edges.tolist(), first.edge, strict=True):
        pair[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]] = table
    return node, pair, len(observed)


def _nothing_is_possible() -> InputError:
    return InputError("Every joint state of this model has probability zero.")


@functools.cache
def _rehearse(method: str) -> None:
    """Have everything compiled, on a model as small as can be that takes every path."""
    edges = np.array([(0, 1), (0, 2), (1, 2), (2, 3)])
    weights = np.linspace(-0.1, 0.1, 8 + 4 * len(edges))
    all_marginals(PairwiseMRF(np.full(4, 2), edges, weights), method)
