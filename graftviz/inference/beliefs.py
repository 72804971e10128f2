"""Result type of all inference methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from graftviz.model.pairwise import PairwiseModel, labelled
from graftviz.utils.errors import InputError

LogPartitionIs = Literal["exact", "approximation", "upper bound", "lower bound"]


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs:
    """Marginals of a model, exact or approximate.

    Attributes
    ----------
    node : tuple of float64 arrays
        ``node[i]`` has shape (s_i,) and sums to one; an observed variable has all its mass on its
        observed state.
    edge : tuple of float64 arrays
        ``edge[e]`` has shape (s_i, s_j), in the order of the model's edges.
    log_partition : float
        log Z, the natural logarithm of the sum over all joint states that agree with the evidence.
        -inf if none of them has a positive probability; the marginals are then arbitrary.
    converged : bool
    sweeps : int
    residual : float
        Largest relative change of a message in the last sweep, before damping; for mean field the
        largest change of a belief.
    method : str
    log_partition_is : {"exact", "approximation", "upper bound", "lower bound"}
        Relation of `log_partition` to the true value.
    evidence : dict
        State index by variable index.
    notes : tuple of str
        Remarks on the result, in sentences.
    model : PairwiseMRF or None
        The model without evidence, whose names index the beliefs: ``beliefs["a"]``.

    Examples
    --------
    >>> beliefs = gv.infer(model, "exact", evidence={"home": "city"})
    >>> beliefs["commute"].round(2).to_dict()
    {'bicycle': 0.55, 'bus': 0.18, 'car': 0.08, 'on foot': 0.2}
    >>> beliefs.log_partition_is, beliefs.converged
    ('exact', True)
    """

    node: tuple[np.ndarray, ...]
    edge: tuple[np.ndarray, ...]
    log_partition: float
    converged: bool
    sweeps: int
    residual: float
    method: str
    log_partition_is: LogPartitionIs = "approximation"
    evidence: Mapping[int, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    model: PairwiseModel | None = field(default=None, repr=False)

    def __getitem__(self, variables: int | str | tuple[int | str, int | str]) -> Any:
        """Return the marginal of a variable, ``beliefs["a"]``, or of an edge, ``["a", "b"]``.

        Returns
        -------
        Series or DataFrame
            Probabilities by label.

        Raises
        ------
        InputError
            If there is no such variable, or no edge between the two.
        """
        if self.model is None:
            raise InputError("Beliefs have names only if infer() computed them; use node[i].")
        return labelled(self.model, variables, self.node.__getitem__, self.edge.__getitem__)

    def __repr__(self) -> str:
        size = f"{len(self.node):,} variables, log Z = {self.log_partition:.6g}"
        ended = "" if self.converged else ", not converged"
        return f"<Beliefs by {self.method}: {size} ({self.log_partition_is}{ended})>"


def flat_nodes(model: PairwiseModel, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return read-only views of values with the layout of the node weights, one per variable."""
    values.flags.writeable = False
    ends = model.node_offsets.tolist()
    return tuple(values[ends[i] : ends[i + 1]] for i in range(model.n_variables))


def flat_edges(model: PairwiseModel, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return read-only views of values with the layout of the edge weights, a matrix per edge."""
    values.flags.writeable = False
    ends = (model.edge_offsets - model.edge_offsets[0]).tolist()
    sizes = model.cardinalities[model.edges].tolist()
    return tuple(
        values[ends[e] : ends[e + 1]].reshape(shape) for e, shape in enumerate(map(tuple, sizes))
    )
