"""Edge budget of a learner."""

from __future__ import annotations

from graftviz.errors import InputError


def checked_budget(max_edges: int | None, n: int) -> int:
    """Return the largest number of edges allowed among `n` variables; None allows every pair.

    Raises
    ------
    InputError
        If the budget exceeds the number of pairs.
    """
    possible = n * (n - 1) // 2
    if max_edges is None:
        return possible
    if max_edges > possible:
        raise InputError(
            f"{max_edges:,} edges were requested, but {n:,} variables have only {possible:,} "
            f"pairs; request at most {possible:,}, or give no limit."
        )
    return int(max_edges)
