"""Random potentials on a given graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.data.synthetic.seeds import generator
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError

NODE_SIGMA = 0.5  # best-choice edge grafting, appendix C
EDGE_SIGMA = 1.0


def random_model(
    edges: np.ndarray,
    cardinalities: Sequence[int] | np.ndarray,
    node_sigma: float = NODE_SIGMA,
    edge_sigma: float = EDGE_SIGMA,
    seed: int = 0,
    names: Sequence[str] = (),
    labels: Sequence[Sequence[str]] = (),
) -> PairwiseModel:
    """Draw every node weight from N(0, node_sigma²) and every edge weight from N(0, edge_sigma²).

    The paper (appendix C) centres the weights at 100. Adding a constant to all weights of a group
    does not change the distribution, so they are centred at 0 here.

    Parameters
    ----------
    edges : int array, shape (m, 2)
        Pairs i < j, no pair twice.
    cardinalities : sequence of int, length n
        Number of states of every variable.
    node_sigma, edge_sigma : float
        Standard deviations, not negative.
    seed : int
    names, labels : optional
        As in :class:`~graftviz.model.pairwise.PairwiseMRF`.

    Raises
    ------
    InputError
        For a standard deviation that is negative or not finite, or an invalid structure.
    """
    for name, sigma in (("node", node_sigma), ("edge", edge_sigma)):
        if not 0 <= sigma < np.inf:
            raise InputError(
                f"The standard deviation of {name} weights must be 0 or more; got {sigma:g}."
            )
    sizes = np.asarray(cardinalities, dtype=np.int64)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(sizes)):
        raise InputError(f"An edge names a variable that is not one of 0 … {len(sizes) - 1}.")
    rng = generator(seed, "potentials")
    node_weights = rng.normal(0.0, node_sigma, int(sizes.sum()))
    edge_weights = rng.normal(0.0, edge_sigma, int(sizes[pairs].prod(axis=1).sum()))
    return PairwiseModel(
        cardinalities=sizes,
        edges=pairs,
        weights=np.concatenate([node_weights, edge_weights]),
        names=tuple(names),
        labels=tuple(tuple(states) for states in labels),
    )
