"""Choice of the seed series of scalable structure learning."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from graftviz.data.series.series import StandardisedData
from graftviz.utils.errors import InputError

SeedChoice = Literal["random", "activity", "spread"]
CHOICES: tuple[SeedChoice, ...] = get_args(SeedChoice)


def seed_count(option: float, n: int) -> int:
    """Return the number of seeds for the option `seeds`: a share of n below 1, else a number.

    Raises
    ------
    InputError
        For a number that is not whole or exceeds n.
    """
    if option < 1.0:
        return max(round(option * n), 1)
    if option != int(option) or option > n:
        raise InputError(
            f"Option seeds must be a share below 1 or a whole number up to {n}, the number of "
            f"series; got {option:g}."
        )
    return int(option)


def choose_seeds(data: StandardisedData, count: int, choice: str, seed: int) -> np.ndarray:
    """Return `count` seed series, ascending.

    Parameters
    ----------
    data : StandardisedData
    count : int
    choice : {"random", "activity", "spread"}
        At random, as in the thesis; the most active, by variance in the units of the series; or
        spread out: the most active first, then always the series that is least correlated with
        the seeds so far (greedy k-centre clustering, Gonzalez 1985).
    seed : int
        Seed of the random choice.
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
