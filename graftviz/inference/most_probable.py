"""Most probable joint state of a model, by max-product variable elimination."""

from __future__ import annotations

import math

import numpy as np

from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.exact.structure import plan_elimination
from graftviz.model.pairwise import HasModel, PairwiseModel, model_of
from graftviz.utils.errors import InputError

_MOST_ENTRIES = 2**26  # of the largest clique
_Factor = tuple[tuple[int, ...], np.ndarray]  # variables, and a table with an axis for each


def most_probable(model: HasModel, evidence: Evidence | None = None) -> np.ndarray:
    """Return a joint state of maximum probability given evidence, exactly.

    Time and memory grow exponentially with the width of the graph. Of several such states, the
    result is the one that the order of elimination finds first.

    Parameters
    ----------
    model : PairwiseMRF, Result or MarkovNetwork
    evidence : mapping, optional
        Variables by index or name, states by index or label.

    Returns
    -------
    int64 array, shape (n,)
        State of each variable, read-only.

    Raises
    ------
    InputError
        If the largest clique has more than 2²⁶ joint states, or all states that agree with the
        evidence have probability zero.
    """
    own: PairwiseModel = model_of(model)
    conditional = conditioned(own, checked_evidence(own, evidence))
    rest = conditional.model
    plan = plan_elimination(rest)
    if not plan.is_affordable or plan.largest_clique > _MOST_ENTRIES:
        raise InputError(
            "The most probable state needs a table of "
            f"2^{math.log2(plan.largest_clique):.0f} entries, more than "
            f"2^{math.log2(_MOST_ENTRIES):.0f}; give evidence, or use a sparser model."
        )
    factors: list[_Factor] = [((i,), rest.node_weights(i)) for i in range(rest.n_variables)]
    factors += [((i, j), rest.edge_weights(e)) for e, (i, j) in enumerate(rest.edges.tolist())]
    chosen: list[tuple[int, tuple[int, ...], np.ndarray]] = []
    for i in plan.order.tolist():
        joined = [factor for factor in factors if i in factor[0]]
        factors = [factor for factor in factors if i not in factor[0]]
        scope = (*sorted({k for variables, _ in joined for k in variables} - {i}), i)
        total = np.zeros([int(rest.cardinalities[k]) for k in scope])
        for variables, table in joined:
            total = total + _spread(variables, table, scope)
        chosen.append((i, scope[:-1], total.argmax(axis=-1)))
        factors.append((scope[:-1], total.max(axis=-1)))
    if not all(np.isfinite(table) for _, table in factors):
        raise InputError("Every joint state that agrees with the evidence has probability zero.")
    states = np.zeros(own.n_variables, dtype=np.int64)
    for i, scope, best in reversed(chosen):
        states[i] = best[tuple(states[k] for k in scope)]
    for i, state in conditional.evidence.items():
        states[i] = state
    states.flags.writeable = False
    return states


def _spread(variables: tuple[int, ...], table: np.ndarray, scope: tuple[int, ...]) -> np.ndarray:
    """Return a table with an axis for every variable of `scope`, of length 1 for the others."""
    order = sorted(range(len(variables)), key=lambda k: scope.index(variables[k]))
    sizes = dict(zip(variables, table.shape, strict=True))
    return table.transpose(order).reshape([sizes.get(k, 1) for k in scope])
