"""Noise in tables: cells replaced at random."""

from __future__ import annotations

import dataclasses

from graftviz.data.synthetic.seeds import generator
from graftviz.data.table import DiscreteTable
from graftviz.utils.errors import InputError


def add_noise(table: DiscreteTable, share: float, seed: int = 0) -> DiscreteTable:
    """Return a table in which cells are replaced by states drawn uniformly, each by chance `share`.

    A cell may be replaced by its own state.

    Parameters
    ----------
    table : DiscreteTable
    share : float
        From 0 to 1.
    seed : int

    Raises
    ------
    InputError
        For another share.
    """
    check_share(share)
    if share == 0.0:
        return table
    rng = generator(seed, "noise")
    codes = table.codes.copy()
    for states, column in zip(table.cardinalities.tolist(), codes, strict=True):
        is_replaced = rng.random(len(column)) < share
        column[is_replaced] = rng.integers(0, states, int(is_replaced.sum()))
    return dataclasses.replace(table, codes=codes)


def check_share(share: float) -> None:
    """Raise :class:`InputError` unless a share of noise is from 0 to 1."""
    if not 0.0 <= share <= 1.0:
        raise InputError(f"The noise must be a share from 0 to 1; got {share:g}.")
