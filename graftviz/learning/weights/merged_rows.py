"""Merging of equal rows of a table into distinct rows with multiplicities."""

from __future__ import annotations

import numpy as np

_HASH_SEED = 20
_MERGE_BELOW = 0.8  # share of distinct rows below which equal rows are merged


def merged_rows(
    codes: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of a table and their multiplicities.

    Tables with few repetitions and without case weights are returned unchanged. Rows are hashed by
    a 64-bit sum of random words, one for each variable and state, and then compared, so that a
    collision costs time but not correctness.

    Parameters
    ----------
    codes : int array, shape (n, N)
    weights : float64 array, shape (N,), optional
        Case weights; the multiplicity is their sum.

    Returns
    -------
    codes : array of the same type, shape (n, R)
        In an order that does not depend on that of the table, so that sums are rounded equally.
    multiplicity : float32 array, shape (R,)
    """
    if weights is not None:
        codes, weights = codes[:, weights > 0.0], weights[weights > 0.0]
    n, rows = codes.shape
    generator = np.random.default_rng(_HASH_SEED)
    sums = np.zeros(rows, dtype=np.uint64)
    for i in range(n):
        words = generator.integers(0, 2**64, int(codes[i].max()) + 1, dtype=np.uint64)
        sums += words[codes[i]]
    _, firsts, groups, counts = np.unique(
        sums, return_index=True, return_inverse=True, return_counts=True
    )
    is_sparse = weights is None and len(firsts) > _MERGE_BELOW * rows
    if is_sparse or (codes != codes[:, firsts[groups]]).any():
        alone = np.ones(rows) if weights is None else weights
        return codes, alone.astype(np.float32)
    merged = np.ascontiguousarray(codes[:, firsts])
    merged.flags.writeable = False  # like a table's codes: part of the compiled type
    totals = counts if weights is None else np.bincount(groups, weights)
    return merged, totals.astype(np.float32)
