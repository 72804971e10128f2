"""The one result type of every inference method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Marginals of a model, exact or approximate.

    Attributes
    ----------
    node : tuple of float64 arrays
        ``node[i]`` has shape (s_i,) and sums to one.
    edge : tuple of float64 arrays
        ``edge[e]`` has shape (s_i, s_j), in the order of the model's edges.
    log_partition : float
        log Z, natural logarithm (for BP its Bethe approximation); -inf where no joint state has a
        positive probability, and then the marginals mean nothing.
    converged : bool
    sweeps : int
    residual : float
        Largest relative change of a message in the last sweep.
    method : str
    """

    node: tuple[np.ndarray, ...]
    edge: tuple[np.ndarray, ...]
    log_partition: float
    converged: bool
    sweeps: int
    residual: float
    method: str
