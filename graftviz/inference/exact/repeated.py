"""Exact marginals of many models that differ in the weights of their nodes alone.

Evidence about some variables changes nothing but the node weights of the others, and so does asking
for the marginals given each state of a variable. The order of elimination, the places of all tables
and the tables themselves are made once; each model then costs one way up and one way down.
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
        self._weights = model.weights.copy()
        self._shown = self._weights.view()
        self._shown.flags.writeable = False  # the kernels are compiled for weights of models
        self._nodes = int(model.node_offsets[-1])
        self._firsts = model.node_offsets[:-1]
        self._repeats = np.diff(model.node_offsets)

    def marginals(self, node_weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the node marginals and log Z for other node weights.

        Parameters
        ----------
        node_weights : float64 array, shape (Σ s_i,)
            Variable after variable; -inf forbids a state.

        Returns
        -------
        marginals : float64 array, shape (Σ s_i,)
            Those of a variable sum to one. All zero where every joint state is forbidden.
        log_partition : float
            -inf there.
        """
        self._weights[: self._nodes] = node_weights
        if self._tables is None:
            return self._from_a_tree()
        tables, n = self._tables, self.model.n_variables
        tables.is_log[:] = False
        tables.in_logs[:] = False
        if not sweep(self._cliques, tables, self._shown, 0, n, -1, False):
            return np.zeros(self._nodes), -np.inf
        log_partition = float(tables.log_scale.sum())
        sweep(self._cliques, tables, self._shown, 0, n, -1, True)
        begin = len(self._weights)
        found = tables.entries[begin : begin + self._nodes].copy()
        found /= np.repeat(np.add.reduceat(found, self._firsts), self._repeats)
        return found, log_partition

    def _from_a_tree(self) -> tuple[np.ndarray, float]:
        model = dataclasses.replace(self.model, weights=self._weights.copy())
        tree = JunctionTree(model, max_memory=self._max_memory, order=self.plan.order)
        if tree.log_partition == -np.inf:
            return np.zeros(self._nodes), -np.inf
        return np.concatenate(tree.beliefs().node), tree.log_partition
