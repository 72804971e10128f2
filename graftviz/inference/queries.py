"""Queries P(targets | evidence), their answers, and the work that answers them.

Every query is answered separately. One run of inference on the component of its first target, given
the evidence, computes the marginals of all variables and edges of that component. Targets in other
components are independent. Further targets of the component follow by the chain rule: one more
query for every state of the first target, unless there is only one, joined to it by an edge.

:func:`answer_steps` and :func:`query_steps` choose the method that suits the model, and compute in
parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.evidence import conditioned
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.ordering import eliminated
from graftviz.inference.exact.structure import MOST_ENTRIES, plan_elimination, too_expensive
from graftviz.inference.methods import METHODS, Method, infer
from graftviz.inference.settings import InferenceSettings
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError

PASSES = 2  # upward and downward
AUTOMATIC: Final = "automatic"
Choice = Literal["automatic", "exact", "bp", "trbp", "mean-field"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
MOST_CELLS = 5_000  # joint states of a query


class Query(NamedTuple):
    """Distribution of target variables given the states of others, all by index.

    Examples
    --------
    >>> from graftviz.inference.queries import Query
    >>> query = Query(targets=(0, 1), evidence={2: 0})
    >>> gv.inference_cost(model, queries=[query], repeats=1).runs > 0
    True
    """

    targets: tuple[int, ...]
    evidence: dict[int, int]


class QueryAnswer(NamedTuple):
    """Joint distribution of the targets, and the entries and runs that computed it."""

    table: np.ndarray
    operations: int
    runs: int
    converged: bool


def component_numbers(n: int, edges: np.ndarray) -> np.ndarray:
    """Return the number of the connected component of every variable."""
    links = csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    component: np.ndarray = connected_components(links, directed=False)[1]
    return component


def query_operations(
    edges: np.ndarray, cardinalities: np.ndarray, order: np.ndarray, query: Query
) -> int:
    """Return the entries of cliques that exact inference computes to answer a query.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
    cardinalities : int64 array, shape (n,)
    order : int64 array, shape (n,)
        Elimination order of the graph; each run uses it without the observed variables.
    query : Query
    """
    sizes, is_free = cardinalities.copy(), np.ones(len(cardinalities), dtype=bool)
    observed = list(query.evidence)
    sizes[observed], is_free[observed] = 1, False
    first, *others = query.targets
    free = edges[is_free[edges].all(axis=1)]
    component = component_numbers(len(cardinalities), free)
    found = eliminated(free, sizes, order)
    here = component[found.order] == component[first]
    total = PASSES * int(found.clique_sizes[here].sum())
    inside = tuple(i for i in others if component[i] == component[first])
    outside = tuple(i for i in others if component[i] != component[first])
    if outside:
        total += query_operations(edges, cardinalities, order, Query(outside, query.evidence))
    if len(inside) == 1 and (free == sorted((first, inside[0]))).all(axis=1).any():
        return total
    if inside:
        # The work is the same for every state, so it is computed for the first.
        rest = Query(inside, {**query.evidence, first: 0})
        total += int(cardinalities[first]) * query_operations(edges, cardinalities, order, rest)
    return total


def submodel(model: PairwiseModel, variables: np.ndarray) -> PairwiseModel:
    """Return the part of a model on ascending `variables`, which no edges leave."""
    place = np.full(model.n_variables, -1)
    place[variables] = np.arange(len(variables))
    chosen = np.flatnonzero(place[model.edges[:, 0]] >= 0)
    weights = [model.node_weights(i) for i in variables.tolist()]
    weights += [model.edge_weights(e).reshape(-1) for e in chosen.tolist()]
    return PairwiseModel(
        model.cardinalities[variables],
        place[model.edges[chosen]],
        np.concatenate(weights),
        tuple(model.names[i] for i in variables.tolist()),
        tuple(model.labels[i] for i in variables.tolist()),
    )


def answered(
    model: PairwiseModel,
    query: Query,
    method: Method = "exact",
    settings: InferenceSettings | None = None,
    order: np.ndarray | None = None,
) -> QueryAnswer:
    """Return the joint distribution of the targets of a query.

    Parameters
    ----------
    model : PairwiseMRF
    query : Query
    method : {"exact", "bp", "trbp", "mean-field"}
    settings : InferenceSettings, optional
    order : int64 array, shape (n,), optional
        Elimination order of exact inference; default: the best one found for each run.

    Raises
    ------
    InputError
        For evidence of probability zero, and exact inference that does not fit into memory.
    """
    settings = InferenceSettings() if settings is None else settings
    rest = conditioned(model, query.evidence).model
    component = component_numbers(rest.n_variables, rest.edges)
    first, *others = query.targets
    variables = np.flatnonzero(component == component[first])
    place = np.full(rest.n_variables, -1)
    place[variables] = np.arange(len(variables))
    own_order = None if order is None else place[order][place[order] >= 0]
    beliefs, operations = _run(submodel(rest, variables), method, settings, own_order)
    if beliefs.log_partition == -np.inf:
        raise InputError("The evidence of a query has probability zero.")
    runs, converged, table = 1, beliefs.converged, beliefs.node[place[first]]
    inside = tuple(i for i in others if component[i] == component[first])
    outside = tuple(i for i in others if component[i] != component[first])
    pair = _pair_belief(rest, variables, beliefs, first, inside)
    parts: list[QueryAnswer] = []
    if pair is not None:
        table = pair
    elif inside:
        conditional = np.zeros((len(table), *model.cardinalities[list(inside)]))
        for state in np.flatnonzero(table > 0.0).tolist():
            conditional_query = Query(inside, {**query.evidence, first: state})
            parts.append(answered(model, conditional_query, method, settings, order))
            conditional[state] = table[state] * parts[-1].table
        table = conditional
    if outside:
        parts.append(answered(model, Query(outside, query.evidence), method, settings, order))
        table = np.multiply.outer(table, parts[-1].table)
    axes = [(first, *inside, *outside).index(i) for i in query.targets]
    return QueryAnswer(
        table.transpose(axes),
        operations + sum(part.operations for part in parts),
        runs + sum(part.runs for part in parts),
        converged and all(part.converged for part in parts),
    )


def _run(
    model: PairwiseModel, method: Method, settings: InferenceSettings, order: np.ndarray | None
) -> tuple[Beliefs, int]:
    """Run inference once; return the beliefs and the entries of cliques or messages."""
    if method == "exact":
        tree = JunctionTree(model, max_memory=settings.max_memory, order=order)
        return tree.beliefs(), PASSES * tree.plan.total_entries
    found = METHODS[method](model, settings)
    sizes = model.cardinalities[model.edges]
    return found, found.sweeps * 2 * int(sizes.prod(axis=1).sum())


def _pair_belief(
    model: PairwiseModel,
    variables: np.ndarray,
    beliefs: Beliefs,
    first: int,
    others: tuple[int, ...],
) -> np.ndarray | None:
    """Return the belief of the edge from `first` to the only other variable, if there is one."""
    if len(others) != 1:
        return None
    edges = model.edges[np.isin(model.edges[:, 0], variables)]
    found = np.flatnonzero((edges == sorted((first, others[0]))).all(axis=1))
    if not len(found):
        return None
    pair = beliefs.edge[int(found[0])]
    return pair if first < others[0] else pair.T


@dataclass(frozen=True, eq=False)
class Answer:
    """Marginals, or the reason for their absence.

    Attributes
    ----------
    beliefs : Beliefs or None
        None when the evidence has probability zero.
    width : int or None
        Width of the elimination order; None if no order was computed.
    reason : str
        Why the method is not exact inference; empty if it is, or was chosen by hand.
    """

    beliefs: Beliefs | None
    width: int | None = None
    reason: str = ""


def answer_steps(
    model: PairwiseModel, evidence: Mapping[int, int], method: Choice
) -> Iterator[Answer | None]:
    """Compute marginals; yields None where another task may run, and the answer last.

    "automatic" is exact inference if it is fast, otherwise belief propagation.

    Raises
    ------
    InputError
        When the method refuses the model.
    """
    yield None
    if method != AUTOMATIC and method != "exact":
        yield Answer(_approximate(model, evidence, method))
        return
    plan = plan_elimination(model, evidence)
    yield None
    reason = too_expensive(plan)
    if method == AUTOMATIC and reason:
        yield Answer(_approximate(model, evidence, "bp"), plan.width, reason)
        return
    tree = JunctionTree(model, evidence, plan=plan)
    is_possible = bool(np.isfinite(tree.log_partition))
    yield Answer(tree.beliefs() if is_possible else None, tree.plan.width)


class JointAnswer(NamedTuple):
    """Joint distribution of some variables given the evidence.

    Attributes
    ----------
    table : float64 array
        One axis per variable.
    method : str
        Key of an inference method.
    converged : bool
        Whether all of its runs converged.
    """

    table: np.ndarray
    method: Method
    converged: bool


def query_steps(
    model: PairwiseModel,
    evidence: Mapping[int, int],
    targets: tuple[int, ...],
    method: Choice,
) -> Iterator[JointAnswer | None]:
    """Compute P(targets | evidence); yields None where another task may run, and the answer last.

    "automatic" is exact inference if all its runs together are fast, otherwise belief propagation.

    Raises
    ------
    InputError
        For observed targets, too many joint states, and evidence of probability zero.
    """
    if both := [model.names[i] for i in targets if i in evidence]:
        raise InputError(f"{both[0]} is observed. Remove it from the evidence or from the query.")
    cells = math.prod(int(model.cardinalities[i]) for i in targets)
    if cells > MOST_CELLS:
        raise InputError(
            f"These variables have {cells:,} joint states together; a query may have at most "
            f"{MOST_CELLS:,}."
        )
    yield None
    rest, query = conditioned(model, evidence).model, Query(targets, {})
    if method == AUTOMATIC:
        plan = plan_elimination(rest)
        yield None
        is_fast = (
            not too_expensive(plan)
            and query_operations(rest.edges, rest.cardinalities, plan.order, query) <= MOST_ENTRIES
        )
        method = "exact" if is_fast else "bp"
        yield None
    found = answered(rest, query, method)
    yield JointAnswer(found.table, method, found.converged)


def _approximate(
    model: PairwiseModel, evidence: Mapping[int, int], method: Method
) -> Beliefs | None:
    beliefs = infer(model, method, evidence=evidence)
    parts = (np.atleast_1d(beliefs.log_partition), *beliefs.node)
    return beliefs if all(np.isfinite(part).all() for part in parts) else None
