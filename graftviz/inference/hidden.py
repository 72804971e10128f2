"""Model of hidden variables given observed ones; observations change only its node weights."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from graftviz.inference.exact.junction_tree import RepeatedTree
from graftviz.inference.exact.structure import EliminationPlan, plan_elimination, too_expensive
from graftviz.inference.methods import METHODS, Method
from graftviz.inference.settings import InferenceSettings
from graftviz.model.pairwise import PairwiseModel


class HiddenModel:
    """Conditional marginals of some variables for many rows of states of the others.

    Rows with the same states of the observed neighbours share their inference, and all rows share
    the order of elimination.

    Parameters
    ----------
    model : PairwiseMRF
    hidden : int array
        The hidden variables, ascending.
    settings : InferenceSettings
    method : str
        A key of ``graftviz.inference.METHODS``, or "auto": exact unless
        :func:`~graftviz.inference.exact.structure.too_expensive`, else belief propagation.

    Attributes
    ----------
    rest : PairwiseMRF
        Model of the hidden variables.
    is_exact : bool
        Whether the marginals are exact.
    converged : bool
        Whether all inference so far converged; exact inference always does.

    Raises
    ------
    InputError
        If exact inference does not fit into memory.
    """

    def __init__(
        self,
        model: PairwiseModel,
        hidden: np.ndarray,
        settings: InferenceSettings,
        method: Method | Literal["auto"],
    ) -> None:
        self._model, self._settings = model, settings
        self.converged = True
        place = np.full(model.n_variables, -1)
        place[hidden] = np.arange(len(hidden))
        ends = place[model.edges]
        inside = (ends >= 0).all(axis=1)
        self._crossing = np.flatnonzero((ends >= 0).sum(axis=1) == 1)
        self._place = place
        crossing = model.edges[self._crossing]
        self._boundary = np.unique(crossing[place[crossing] < 0])
        nodes = [model.node_weights(i) for i in hidden.tolist()]
        edge_weights = [model.edge_weights(e).reshape(-1) for e in np.flatnonzero(inside).tolist()]
        self.rest = PairwiseModel(
            model.cardinalities[hidden], ends[inside], np.concatenate([*nodes, *edge_weights])
        )
        self._tree: RepeatedTree | None = None
        if self.rest.n_edges:
            plan: EliminationPlan | None = None
            if method == "auto":
                plan = plan_elimination(self.rest)
                method = "bp" if too_expensive(plan) else "exact"
            if method == "exact":
                self._tree = RepeatedTree(self.rest, settings.max_memory, plan=plan)
        self._method = method
        self.is_exact = self.rest.n_edges == 0 or self._tree is not None

    def marginals(self, codes: np.ndarray) -> np.ndarray:
        """Return the marginals of the hidden variables, shape (rows, Σ s_h).

        Parameters
        ----------
        codes : int array, shape (variables, rows)
            States of all variables; those of hidden ones are not used.

        Returns
        -------
        float64 array
            The marginal of each variable sums to one; all zero where every joint state is
            forbidden.
        """
        observed, same = _distinct(codes[self._boundary])
        weights = self._node_weights(observed)
        if self.rest.n_edges == 0:
            return self._normalised(weights)[same]
        if self._tree is not None:
            return self._tree.marginals(weights)[0][same]
        found = np.zeros(weights.shape)
        rest = self.rest.weights[weights.shape[1] :]
        for row, own in enumerate(weights):
            conditional = dataclasses.replace(self.rest, weights=np.concatenate([own, rest]))
            beliefs = METHODS[self._method](conditional, self._settings)
            self.converged = self.converged and beliefs.converged
            if beliefs.log_partition > -np.inf:
                found[row] = np.concatenate(beliefs.node)
        return found[same]

    def _normalised(self, weights: np.ndarray) -> np.ndarray:
        """Return the marginals of independent variables; all zero if one has no possible state."""
        starts = self.rest.node_offsets[:-1]
        highest = np.maximum.reduceat(weights, starts, axis=1)
        possible = np.isfinite(highest)
        shift = np.repeat(np.where(possible, highest, 0.0), self.rest.cardinalities, axis=1)
        found = np.exp(weights - shift)
        totals = np.where(possible, np.add.reduceat(found, starts, axis=1), 1.0)
        found /= np.repeat(totals, self.rest.cardinalities, axis=1)
        found[~possible.all(axis=1)] = 0.0
        return found

    def _node_weights(self, observed: np.ndarray) -> np.ndarray:
        """Return the node weights for states of the boundary, shape (configurations, Σ s_h)."""
        model, offsets = self._model, self.rest.node_offsets
        weights = np.tile(self.rest.weights[: offsets[-1]], (observed.shape[1], 1))
        for e in self._crossing.tolist():
            i, j = model.edges[e].tolist()
            table = model.edge_weights(e)
            if self._place[i] >= 0:
                i, j, table = j, i, table.T  # i is observed, j hidden
            states = observed[np.searchsorted(self._boundary, i)]
            k = self._place[j]
            weights[:, offsets[k] : offsets[k + 1]] += table[states]
        return weights


def _distinct(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct columns of `codes` and the index of each column among them."""
    if len(codes) == 0:
        return codes[:, :1], np.zeros(codes.shape[1], dtype=np.int64)
    found, same = np.unique(codes, axis=1, return_inverse=True)
    return found, same.reshape(-1)
