"""What forced pruning reports beside an ordinary step: edges out, edges in, and the tied values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["start", "exchange", "restart", "best"]


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """One exchange of edges, and the fit with tied parameters after it. Immutable.

    Numbers are mean pseudo-likelihoods per training row, in nats.

    Attributes
    ----------
    kind : {"start", "exchange", "restart", "best"}
        The first model; k edges against k others; a fresh start from the tree; the return to the
        best model seen, which is the last step of a run that had left it.
    removed, added : int32 arrays, shapes (k, 2)
        Edges out, smallest contribution first; edges in, largest gain first.
    contributions : float64 array, shape (k,)
        What the pseudo-likelihood loses without each removed edge, all else left as it is.
    gains : float64 array, shape (k,)
        What each added edge gains when only its own weights are fitted, all else left as it is. Of
        edges that were not chosen by their gain (those of a start, and of the best model) it is
        what they contribute after the fit.
    before, after : float
        Pseudo-likelihood before the exchange and after the fit.
    best : float
        The largest pseudo-likelihood so far.
    tries, accepted : int
        Subsets drawn to choose the edges out, and how many were accepted; 0 for greedy deletion.
    fallback : bool
        No subset was accepted within the allowed tries; one of those drawn was taken instead.
    values : float64 array, shape (p,)
        All parameters before they were tied, nodes first.
    centres : float64 array, shape (K,)
        The shared values, ascending at the time of clustering and fitted again since.
    assignment : int64 array, shape (p,)
        Which centre each parameter shares; ``centres[assignment]`` are the model's parameters.
    tree : int
        How many of the model's edges are edges of the Chow–Liu tree.
    """

    kind: Kind
    removed: np.ndarray
    contributions: np.ndarray
    added: np.ndarray
    gains: np.ndarray
    before: float
    after: float
    best: float
    tries: int
    accepted: int
    fallback: bool
    values: np.ndarray
    centres: np.ndarray
    assignment: np.ndarray
    tree: int

    def __post_init__(self) -> None:
        for array in (
            self.removed,
            self.contributions,
            self.added,
            self.gains,
            self.values,
            self.centres,
            self.assignment,
        ):
            array.flags.writeable = False

    @property
    def acceptance(self) -> float | None:
        """The share of drawn subsets that was accepted; None where nothing was drawn."""
        return self.accepted / self.tries if self.tries else None
