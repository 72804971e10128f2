"""Covariances of a model by linear response: any pair of variables, from one BP run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graftviz.errors import InputError
from graftviz.inference.propagation import message_graph, propagate
from graftviz.inference.response_factor import ResponseFactor, factorise, response_block
from graftviz.inference.response_terms import fill_pair_beliefs
from graftviz.model import PairwiseMRF


@dataclass(frozen=True, eq=False)
class LinearResponse:
    """Linear response of a model's beliefs to changes of its node weights.

    Attributes
    ----------
    factor : ResponseFactor
    names : tuple of str
        Names of the variables.
    converged : bool
        Whether belief propagation converged. If not, this is not the response at a fixed point.
    """

    factor: ResponseFactor
    names: tuple[str, ...]
    converged: bool
    _work: np.ndarray = field(repr=False)

    @property
    def positive_definite(self) -> bool:
        """Whether the fixed point is a minimum of the Bethe free energy; only then C exists."""
        return self.factor.positive_definite

    @property
    def unstable_variable(self) -> str | None:
        """The variable at which the Hessian was found not to be positive definite, if any."""
        return None if self.positive_definite else self.names[self.factor.unstable_node]

    def covariance(self, i: int, j: int) -> np.ndarray:
        """Return C_ij(a, b) = ∂b_i(a) / ∂w_j(b), shape (s_i, s_j).

        C_ij + b_i b_jᵀ approximates the pair marginal of any pair, edge or not; on a forest it
        is exact.

        Raises
        ------
        InputError
            For an unknown variable, or if the Bethe Hessian is not positive definite.
        """
        n = len(self.names)
        if not (0 <= i < n and 0 <= j < n):
            raise InputError(f"Variables are numbered 0 … {n - 1}; there is no pair ({i}, {j}).")
        if not self.positive_definite:
            raise InputError(
                "Belief propagation is at an unstable fixed point of this model (its Bethe Hessian "
                f"is not positive definite, found at variable {self.unstable_variable}), where "
                "linear response is undefined. Use smaller weights or fewer edges."
            )
        sizes = np.diff(self.factor.node_offsets)
        out = np.empty((int(sizes[i]), int(sizes[j])))
        response_block(self.factor, i, j, self._work, out.reshape(-1))
        return out


def linear_response(
    model: PairwiseMRF,
    *,
    tolerance: float = 1e-10,
    max_sweeps: int = 1000,
    damping: float = 0.0,
) -> LinearResponse:
    """Run belief propagation and factorise the Bethe Hessian at its fixed point.

    Parameters
    ----------
    model : PairwiseMRF
    tolerance, max_sweeps, damping
        As for :func:`graftviz.inference.infer`.
    """
    graph = message_graph(model)
    n, m = model.n_variables, model.n_edges
    largest = int(model.cardinalities.max())
    work = np.empty((5, largest * largest))
    _, residual = propagate(graph, n, m, max_sweeps, tolerance, damping, work)
    pair_beliefs = np.empty(int(graph.edge_offsets[m]))
    fill_pair_beliefs(graph, m, work, pair_beliefs)
    factor = factorise(
        graph.node_offsets, graph.node_beliefs, graph.edge_nodes, graph.edge_offsets, pair_beliefs
    )
    return LinearResponse(factor, model.names, bool(residual <= tolerance), work)
