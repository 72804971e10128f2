"""Merging of equal rows of a table into distinct rows with multiplicities."""

from __future__ import annotations

import numpy as np

_HASH_SEED = 20
_MERGE_BELOW = 0.8  # share of distinct rows below which equal rows are merged


def merged_rows(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of a table and their multiplicities.

    Tables with few repetitions are returned unchanged. Rows are hashed by a 64-bit sum of random
    words, one for each variable and state, and then compared, so that a collision costs time but
    not correctness.

    Parameters
    ----------
    codes : int array, shape (n, N)

    Returns
    -------
    codes : array of the same type, shape (n, R)
        In order of their first occurrence.
    multiplicity : float32 array, shape (R,)
    """
    n, rows = codes.shape
    generator = np.random.default_rng(_HASH_SEED)
    sums = np.zeros(rows, dtype=np.uint64)
    for i in range(n):
        words = generator.integers(0, 2**64, int(codes[i].max()) + 1, dtype=np.uint64)
        sums += words[codes[i]]
    _, firsts, groups, counts = np.unique(
        sums, return_index=True, return_inverse=True, return_counts=True
    )
    if len(firsts) > _MERGE_BELOW * rows or (codes != codes[:, firsts[groups]]).any():
        return codes, np.ones(rows, dtype=np.float32)
    order = np.argsort(firsts)
    merged = np.ascontiguousarray(codes[:, firsts[order]])
    merged.flags.writeable = False  # like a table's codes: part of the compiled type
    return merged, counts[order].astype(np.float32)
