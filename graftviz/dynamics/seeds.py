"""Which series are asked first: the seeds of scalable structure learning."""

from __future__ import annotations

import numpy as np

from graftviz.dynamics.series import Standardised
from graftviz.errors import InputError

CHOICES = ("random", "activity", "spread")


def seed_count(asked: float, n: int) -> int:
    """Return how many of n series are seeds: below 1 a share of them, from 1 on a number.

    Raises
    ------
    InputError
        For a number that is not whole, or more than there are series.
    """
    if asked < 1.0:
        return max(round(asked * n), 1)
    if asked != int(asked) or asked > n:
        raise InputError(
            f"Option seeds is a share below 1, or a whole number up to {n}, the number of series; "
            f"got {asked:g}."
        )
    return int(asked)


def chosen_seeds(data: Standardised, count: int, choice: str, seed: int) -> np.ndarray:
    """Return `count` seed series, ascending.

    Parameters
    ----------
    data : Standardised
    count : int
    choice : {"random", "activity", "spread"}
        At random, as in the thesis; the most active, by variance in the series' own units; or
        spread out: beginning with the most active, always the series that is least correlated with
        the seeds there are (greedy k-centre clustering, Gonzalez 1985).
    seed : int
        Of the random choice.
    """
    n = len(data.names)
    if choice == "random":
        return np.sort(np.random.default_rng(seed).choice(n, size=count, replace=False))
    activity = data.before.var(axis=0) * data.scale**2
    by_activity = np.argsort(-activity, kind="stable")
    if choice == "activity":
        return np.sort(by_activity[:count])
    centred = data.before - data.before.mean(axis=0)
    sizes = np.linalg.norm(centred, axis=0)
    centred /= np.where(sizes > 0.0, sizes, 1.0)
    seeds = [int(by_activity[0])]
    nearest = np.abs(centred.T @ centred[:, seeds[0]])
    nearest[seeds[0]] = np.inf
    while len(seeds) < count:
        further = int(np.argmin(nearest))
        seeds.append(further)
        nearest = np.maximum(nearest, np.abs(centred.T @ centred[:, further]))
        nearest[further] = np.inf
    return np.sort(seeds)
