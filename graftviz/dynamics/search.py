"""Search for parents: by regressions, by two-hop rows of seeds, or by gradients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from graftviz.data.series.series import StandardisedData, centred
from graftviz.dynamics.base import (
    Products,
    Row,
    Work,
    fit_row,
    strongest,
)
from graftviz.dynamics.solvers import Solver, solve_path
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError
from graftviz.utils.parallel import lazy_map

_REGRESSIONS = 16  # regressions per block; their coefficients should fit in the cache of a core
SeedChoice = Literal["random", "activity", "spread"]
CHOICES: tuple[SeedChoice, ...] = get_args(SeedChoice)
GRAFT_ROUNDS = 3  # rounds of activation; the coefficients are fitted again after each
_GRADIENTS = 64  # series whose gradients are computed in one product


class ParentSearch(NamedTuple):
    """Data and solvers of the search for parents, as sent to other processes.

    Attributes
    ----------
    data : StandardisedData
    one_hop : solver
        Solver for X(t + 1) from X(t).
    two_hop : solver or None
        Solver for X(t + 2) from X(t), for seeds.
    k : int
    path : int
        Number of values of λ in the one-hop regressions.
    """

    data: StandardisedData
    one_hop: Solver
    two_hop: Solver | None
    k: int
    path: int = 1


class SeriesRegression(NamedTuple):
    """Regressions of one series, before its k parents are selected.

    Attributes
    ----------
    node : int
    priorities : float array, shape (n,)
        Priority of each series as a parent; zero for series that cannot be parents.
    two_hop : float array, shape (n,), or None
        See :class:`~graftviz.dynamics.base.NodeStep`; None without two-hop solver.
    passes : int
    converged : bool
    work : int
        Multiplications.
    """

    node: int
    priorities: np.ndarray
    two_hop: np.ndarray | None
    passes: int
    converged: bool
    work: int


def split_blocks(nodes: Sequence[int]) -> list[np.ndarray]:
    """Return the nodes in blocks that are regressed together."""
    return [np.array(nodes[at : at + _REGRESSIONS]) for at in range(0, len(nodes), _REGRESSIONS)]


def search_rows(search: ParentSearch, nodes: Sequence[int], jobs: int | None) -> Iterator[Row]:
    """Yield the row of each node, with parents selected by its regression."""
    for rows in lazy_map(_search_block, split_blocks(nodes), shared=search, jobs=jobs):
        yield from rows


def _search_block(search: ParentSearch, nodes: np.ndarray) -> list[Row]:
    return [fit_best_parents(search.data, one, search.k) for one in regress_block(search, nodes)]


def regress_block(search: ParentSearch, nodes: np.ndarray) -> list[SeriesRegression]:
    """Regress a block of series."""
    found, priorities = solve_path(search.one_hop, search.data.targets[nodes].T, search.path)
    reached = search.two_hop and search.two_hop.solve(search.data.later[:, nodes])
    spent = found.work + (reached.work if reached else 0)
    every = []
    for at, node in enumerate(nodes):
        two_hop, passes, converged = None, int(found.passes[at]), bool(found.converged[at])
        if reached:
            sizes = np.abs(reached.weights[at])
            total = sizes.sum()
            two_hop = read_only(sizes / total if total > 0.0 else sizes)
            passes += int(reached.passes[at])
            converged = converged and bool(reached.converged[at])
        # The work of a block is divided evenly; the remainder is added to its first row.
        share = spent // len(nodes) + (spent % len(nodes) if at == 0 else 0)
        every.append(SeriesRegression(int(node), priorities[at], two_hop, passes, converged, share))
    return every


def fit_best_parents(data: StandardisedData, one: SeriesRegression, k: int) -> Row:
    """Return the row of a series whose parents are the `k` of highest priority."""
    row = fit_row(data, one.node, strongest(one.priorities, k))
    work = Work(one.work, row.work.coefficients)
    return replace(row, passes=one.passes, converged=one.converged, two_hop=one.two_hop, work=work)


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
    unit = centred(data.before)
    sizes = np.linalg.norm(unit, axis=0)
    unit /= np.where(sizes > 0.0, sizes, 1.0)
    seeds = [int(by_activity[0])]
    nearest = np.abs(unit.T @ unit[:, seeds[0]])
    nearest[seeds[0]] = np.inf
    while len(seeds) < count:
        further = int(np.argmin(nearest))
        seeds.append(further)
        nearest = np.maximum(nearest, np.abs(unit.T @ unit[:, further]))
        nearest[further] = np.inf
    return np.sort(seeds)


class Scores(NamedTuple):
    """Scores of candidate parents, by series, and the additions that they took."""

    by_series: dict[int, np.ndarray]
    additions: int


def two_hop_scores(seeds: Iterable[tuple[np.ndarray, np.ndarray]], n: int) -> Scores:
    """Return the scores E_j of each series j that is a parent of seeds (equation 2.9).

    E_ju = Σ |B_iu| / ‖B_i‖₁ over the seeds i that have j among their parents: if u drives i in two
    steps, and j drives i in one, then u is likely to drive j.

    Parameters
    ----------
    seeds : iterable of (parents, two_hop)
        For each seed: int array, and float array of shape (n,) that sums to 1, or to 0 if there is
        no information.
    n : int
    """
    scores: dict[int, np.ndarray] = {}
    additions = 0
    for parents, two_hop in seeds:
        if not two_hop.any():
            continue
        for j in parents.tolist():
            scores.setdefault(j, np.zeros(n))
            scores[j] += two_hop
            additions += n
    return Scores(scores, additions)


def grafted_parents(
    data: StandardisedData, nodes: Sequence[int], k: int, times: Products
) -> dict[int, np.ndarray]:
    """Return k parents of each node, selected by the gradient of its squared error.

    A third of the parents is activated in each round; least squares on the active parents then
    updates the gradients. This is stagewise orthogonal matching pursuit, at the cost of three
    products with X′.
    """
    found = {int(node): np.zeros(0, dtype=np.int64) for node in nodes}
    sizes = [len(part) for part in np.array_split(np.arange(k), min(GRAFT_ROUNDS, k))]
    for at in range(0, len(nodes), _GRADIENTS):
        block = [int(node) for node in nodes[at : at + _GRADIENTS]]
        gaps = data.targets[block]
        for number, size in enumerate(sizes):
            if number > 0:
                for column, node in enumerate(block):
                    row = fit_row(data, node, found[node])
                    times.count += row.work.coefficients
                    weights = row.coefficients * data.scale[row.parents] / data.scale[node]
                    gaps[column] = data.targets[node] - times(weights, data.columns[row.parents])
            gradients = np.abs(times(gaps, data.before))
            for column, node in enumerate(block):
                gradients[column, found[node]] = 0.0
                new = strongest(gradients[column], size)
                found[node] = np.union1d(found[node], new)
    return found
