"""Error bounds from the Dobrushin coefficient c of the whole model and the size of the region.

The region is any set of variables around the query. The bounds depend only on c and on the distance
r from the query to the boundary: the nearest variable of the region that has a neighbour outside.
They hold for any replacement of the edges that leave the region.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from graftviz.utils.errors import InputError


class MinimalRadius(NamedTuple):
    """Smallest distances to the boundary that guarantee an error; None where no distance does.

    Attributes
    ----------
    distance, tail : int or None
        Distances for :func:`distance_bound` and for :func:`tail_bound`.

    Examples
    --------
    >>> from graftviz.inference.local import minimal_radius
    >>> minimal_radius(0.6, 0.01)
    MinimalRadius(distance=None, tail=11)
    """

    distance: int | None
    tail: int | None


def decay_rate(c: float) -> float:
    """Return β = log(1/(2c)), the largest decay rate of Theorem 2; positive for c < ½.

    In the condition max_i Σ_j C_ij e^(β d(i,j)) ≤ ½ only neighbours, at distance 1, have C_ij ≠ 0:
    it is c e^β ≤ ½, and no larger β satisfies it.
    """
    _check_coefficient(c)
    return math.inf if c == 0 else -math.log(2 * c)


def distance_bound(c: float, distance: int) -> float:
    """Return the error bound 2 e^(−β r) = 2 (2c)^r of Theorem 2; 1 (vacuous) unless c < ½.

    Parameters
    ----------
    c : float
        Dobrushin coefficient of the whole model.
    distance : int
        r, the distance from the query to the boundary of the region.

    Examples
    --------
    >>> from graftviz.inference.local import distance_bound
    >>> distance_bound(0.25, 4)
    0.125
    """
    _check_coefficient(c)
    _check_distance(distance)
    return min(1.0, 2.0 * (2.0 * c) ** distance) if c < 0.5 else 1.0


def tail_bound(c: float, radius: int) -> float:
    """Return the error bound c^r/(1 − c), the rest of the Neumann series; 1 (vacuous) unless c < 1.

    It holds for all c < 1 and is never larger than :func:`distance_bound`: paths from the query to
    the boundary have at least r steps.

    Parameters
    ----------
    c : float
        Dobrushin coefficient of the whole model.
    radius : int
        r, the distance from the query to the boundary of the region.

    Examples
    --------
    >>> from graftviz.inference.local import tail_bound
    >>> tail_bound(0.5, 4), tail_bound(1.2, 4)
    (0.125, 1.0)
    """
    _check_coefficient(c)
    _check_distance(radius)
    return min(1.0, c**radius / (1.0 - c)) if c < 1.0 else 1.0


def minimal_radius(c: float, tolerance: float) -> MinimalRadius:
    """Return the smallest distances to the boundary at which the bounds are at most `tolerance`.

    Examples
    --------
    >>> from graftviz.inference.local import minimal_radius
    >>> minimal_radius(0.25, 0.01)
    MinimalRadius(distance=8, tail=4)
    """
    _check_coefficient(c)
    if not tolerance > 0.0:
        raise InputError(f"The tolerance of a radius must be above 0; got {tolerance:g}.")
    if tolerance >= 1.0:
        return MinimalRadius(0, 0)
    distance = _steps(2.0 * c, tolerance / 2.0) if c < 0.5 else None
    tail = _steps(c, tolerance * (1.0 - c)) if c < 1.0 else None
    return MinimalRadius(distance, tail)


def _steps(factor: float, target: float) -> int:
    """Return the smallest r ≥ 0 with factor^r ≤ target."""
    if target >= 1.0:
        return 0
    if factor == 0.0:
        return 1
    r = max(math.ceil(math.log(target) / math.log(factor)) - 1, 0)
    while factor**r > target:
        r += 1
    return r


def _check_coefficient(c: float) -> None:
    if not 0.0 <= c < math.inf:
        raise InputError(f"A Dobrushin coefficient is a number of at least 0; got {c:g}.")


def _check_distance(distance: int) -> None:
    if distance < 0:
        raise InputError(f"A distance must be at least 0; got {distance}.")
