"""Exact marginals of many models that differ in the weights of their nodes alone.

Evidence about some variables changes nothing but the node weights of the others, and so does asking
for the marginals given each state of a variable. The order of elimination, the places of all tables
and the tables themselves are made once; each model then costs one way up and one way down.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numba import njit

from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.plan import (
    EliminationPlan,
    allowed_bytes,
    plan_for,
    refuse_if_too_large,
)
from graftviz.inference.exact.structure import Cliques, Tables, cliques_of, empty_tables
from graftviz.inference.exact.tables import sweep
from graftviz.model import PairwiseMRF


class RepeatedTree:
    """The junction tree of one structure, for one set of node weights after the other.

    Parameters
    ----------
    model : PairwiseMRF
        Structure and edge weights; its node weights are those that are given each time.
    max_memory : int, optional
        Bytes that all tables together may take; default: 80 % of what is free.
    plan : EliminationPlan, optional
        One that was made for this structure; default: the best one found.

    Raises
    ------
    InputError
        Before anything is allocated, when tables would need more memory.
    """

    def __init__(
        self,
        model: PairwiseMRF,
        max_memory: int | None = None,
        *,
        plan: EliminationPlan | None = None,
    ) -> None:
        self.model = model
        self._max_memory = max_memory
        self.plan = plan_for(model, allowed_bytes(max_memory)) if plan is None else plan
        refuse_if_too_large(self.plan, max_memory)
        assert self.plan.scopes is not None
        assert self.plan.layout is not None
        self._cliques: Cliques = cliques_of(model, self.plan.scopes)
        # With segments messages are worked out twice; that is left to the tree that can do it.
        self._tables: Tables | None = None
        if self.plan.segments == 1:
            self._tables = empty_tables(len(model.weights), self.plan.layout)
        self._nodes = int(model.node_offsets[-1])

    def marginals(self, node_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the node marginals and log Z for other node weights.

        Parameters
        ----------
        node_weights : float64 array, shape (k, Σ s_i)
            A model a row, variable after variable; -inf forbids a state.

        Returns
        -------
        marginals : float64 array, shape (k, Σ s_i)
            Those of a variable sum to one. All zero where every joint state is forbidden.
        log_partitions : float64 array, shape (k,)
            -inf there.
        """
        given = np.ascontiguousarray(node_weights, dtype=np.float64)
        found, log_partitions = np.zeros(given.shape), np.full(len(given), -np.inf)
        if self._tables is None:
            for row, weights in enumerate(given):
                found[row], log_partitions[row] = self._from_a_tree(weights)
            return found, log_partitions
        _pass_through(
            self._cliques,
            self._tables,
            self.model.weights.copy(),
            self.model.node_offsets,
            given,
            found,
            log_partitions,
        )
        return found, log_partitions

    def _from_a_tree(self, node_weights: np.ndarray) -> tuple[np.ndarray, float]:
        weights = np.concatenate([node_weights, self.model.weights[self._nodes :]])
        model = dataclasses.replace(self.model, weights=weights)
        tree = JunctionTree(model, max_memory=self._max_memory, order=self.plan.order)
        if tree.log_partition == -np.inf:
            return np.zeros(self._nodes), -np.inf
        return np.concatenate(tree.beliefs().node), tree.log_partition


@njit(cache=True, nogil=True)
def _pass_through(cliques, tables, weights, node_offsets, given, found, log_partitions):
    """Go up and down with every row of node weights; `found` must be zero, log Z -inf."""
    n, nodes = len(node_offsets) - 1, given.shape[1]
    for row in range(given.shape[0]):
        weights[:nodes] = given[row]
        tables.is_log[:] = False
        tables.in_logs[:] = False
        for way in range(2):  # what is compiled once is called from one place
            if not sweep(cliques, tables, weights, 0, n, -1, way == 1):
                break
            if way == 0:
                log_partitions[row] = tables.log_scale.sum()
        if log_partitions[row] == -np.inf:
            continue
        for i in range(n):
            total = 0.0
            for a in range(node_offsets[i], node_offsets[i + 1]):
                found[row, a] = tables.entries[len(weights) + a]
                total += found[row, a]
            for a in range(node_offsets[i], node_offsets[i + 1]):
                found[row, a] /= total
