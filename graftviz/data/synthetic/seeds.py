"""Random generators: an independent stream of one seed for each purpose."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from graftviz.utils.errors import InputError

Purpose = Literal["graph", "potentials", "gibbs", "exact", "noise"]


def generator(seed: int, purpose: Purpose) -> np.random.Generator:
    """Return the generator for `purpose`; the streams of one seed are independent of each other.

    Raises
    ------
    InputError
        For a negative seed.
    """
    if seed < 0:
        raise InputError(f"A seed must be 0 or a positive whole number; got {seed}.")
    stream = get_args(Purpose).index(purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
