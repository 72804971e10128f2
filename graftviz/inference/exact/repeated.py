"""Exact marginals of many models that differ only in their node weights.

Evidence on some variables changes only node weights, and so does conditioning on each state of a
variable. The elimination order, the layout and the tables are created once; each model then costs
one upward and one downward pass.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.plan import (
    EliminationPlan,
    allowed_bytes,
    plan_for,
    refuse_if_too_large,
)
from graftviz.inference.exact.structure import Cliques, Tables, cliques_of, empty_tables
from graftviz.inference.exact.tables import sweep
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.compiling import kernel


class RepeatedTree:
    """Junction tree of one structure, for a sequence of node weights.

    Parameters
    ----------
    model : PairwiseMRF
        Structure and edge weights; its node weights are ignored.
    max_memory : int, optional
        Bytes that all tables together may take; default: 80 % of the free memory.
    plan : EliminationPlan, optional
        Plan for this structure; default: the best one found.

    Raises
    ------
    InputError
        When tables would need more memory, before any allocation.
    """

    def __init__(
        self,
        model: PairwiseModel,
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
        # With segments, messages are recomputed; then a JunctionTree is used for each model.
        self._tables: Tables | None = None
        if self.plan.segments == 1:
            self._tables = empty_tables(len(model.weights), self.plan.layout)
        self._nodes = int(model.node_offsets[-1])

    def marginals(self, node_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the node marginals and log Z for other node weights.

        Parameters
        ----------
        node_weights : float64 array, shape (k, Σ s_i)
            One model per row, variables in order; -inf forbids a state.

        Returns
        -------
        marginals : float64 array, shape (k, Σ s_i)
            The marginal of each variable sums to one; all zero if every joint state is forbidden.
        log_partitions : float64 array, shape (k,)
            -inf if every joint state is forbidden.
        """
        rows = np.ascontiguousarray(node_weights, dtype=np.float64)
        found, log_partitions = np.zeros(rows.shape), np.full(len(rows), -np.inf)
        if self._tables is None:
            for row, weights in enumerate(rows):
                found[row], log_partitions[row] = self._from_new_tree(weights)
            return found, log_partitions
        weights = self.model.weights.copy()
        view = weights.view()  # read-only: numba compiles kernels apart for writable arrays
        view.flags.writeable = False
        _run_all(
            self._cliques,
            self._tables,
            weights,
            view,
            self.model.node_offsets,
            rows,
            found,
            log_partitions,
        )
        return found, log_partitions

    def _from_new_tree(self, node_weights: np.ndarray) -> tuple[np.ndarray, float]:
        weights = np.concatenate([node_weights, self.model.weights[self._nodes :]])
        model = dataclasses.replace(self.model, weights=weights)
        tree = JunctionTree(model, max_memory=self._max_memory, order=self.plan.order)
        if tree.log_partition == -np.inf:
            return np.zeros(self._nodes), -np.inf
        return np.concatenate(tree.beliefs().node), tree.log_partition


@kernel
def _run_all(cliques, tables, weights, view, node_offsets, rows, found, log_partitions):
    """Run both passes for every row of node weights; `found` must be zero, log Z -inf.

    `view` is a read-only view of `weights`, which receive each row.
    """
    n, nodes = len(node_offsets) - 1, rows.shape[1]
    for row in range(rows.shape[0]):
        for x in range(nodes):
            weights[x] = rows[row, x]
        tables.is_log[:] = False
        tables.in_logs[:] = False
        for step in range(2):  # a single call site, because sweep is compiled for each
            if not sweep(cliques, tables, view, np.int64(0), n, np.int64(-1), step == 1):
                break
            if step == 0:
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
