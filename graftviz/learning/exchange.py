"""Report of an exchange of forced pruning: removed edges, added edges, and tied parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from graftviz.utils.arrays import freeze

Kind = Literal["start", "exchange", "restart", "best"]


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Exchange of edges and the following fit with tied parameters. Immutable.

    All values are mean pseudo-likelihoods per training row, in nats.

    Attributes
    ----------
    kind : {"start", "exchange", "restart", "best"}
        The first model; an exchange of k edges; a new start from the tree; or the return to the
        best model, as the last step of a run that ends at another model.
    removed, added : int32 arrays, shapes (k, 2)
        Removed edges, smallest contribution first; added edges, largest gain first.
    contributions : float64 array, shape (k,)
        Loss of pseudo-likelihood without each removed edge, all other weights fixed.
    gains : float64 array, shape (k,)
        Gain of each added edge when only its weights are fitted, all other weights fixed. For
        edges that were not chosen by gain (those of a start or of the best model) it is the
        contribution after the fit.
    before, after : float
        Pseudo-likelihood before the exchange and after the fit.
    best : float
        Largest pseudo-likelihood so far.
    tries, accepted : int
        Numbers of subsets drawn and accepted for the deletion; 0 for greedy deletion.
    fallback : bool
        Whether no subset was accepted within the allowed tries; one of those drawn was used then.
    values : float64 array, shape (p,)
        All parameters before tying, nodes first.
    centres : float64 array, shape (K,)
        Shared values, ascending at the time of clustering and fitted again afterwards.
    assignment : int64 array, shape (p,)
        Index of the centre of each parameter; ``centres[assignment]`` are the model's parameters.
    tree : int
        Number of the model's edges that are edges of the Chow–Liu tree.
    required : int
        Number of the model's edges that are required, and not in the tree.
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
    required: int = 0

    def __post_init__(self) -> None:
        freeze(
            self.removed,
            self.contributions,
            self.added,
            self.gains,
            self.values,
            self.centres,
            self.assignment,
        )

    @property
    def acceptance(self) -> float | None:
        """Share of drawn subsets that were accepted; None if none was drawn."""
        return self.accepted / self.tries if self.tries else None
