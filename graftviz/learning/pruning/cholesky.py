"""Solution of a symmetric positive definite system on one thread.

Libraries use all cores for a matrix of some hundred rows; on busy cores this takes many times as
long as the serial computation.
"""

from __future__ import annotations

import numpy as np

from graftviz.utils.compiling import kernel


@kernel
def solve_positive_definite(matrix, right):
    """Return the solution x of A x = b by Cholesky's factorisation A = L Lᵀ.

    Parameters
    ----------
    matrix : float64 array, shape (p, p)
        A, symmetric; its lower triangle is overwritten with L. A pivot that is not positive,
        which only rounding can cause, is replaced by a tiny one.
    right : float64 array, shape (p,)
        b.
    """
    size = len(right)
    for k in range(size):
        row = matrix[k]
        for i in range(k):
            above = matrix[i]
            total = 0.0
            for j in range(i):
                total += row[j] * above[j]
            row[i] = (row[i] - total) / above[i]
        total = row[k]
        for j in range(k):
            total -= row[j] * row[j]
        row[k] = np.sqrt(max(total, 1e-14))
    solution = right.copy()
    for k in range(size):
        total = solution[k]
        for j in range(k):
            total -= matrix[k, j] * solution[j]
        solution[k] = total / matrix[k, k]
    for k in range(size - 1, -1, -1):
        solution[k] /= matrix[k, k]
        for j in range(k):
            solution[j] -= matrix[k, j] * solution[k]
    return solution
