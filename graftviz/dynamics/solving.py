"""Search for parents by penalised regression: shared options, and blocks of regressions."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from graftviz.data.series.series import StandardisedData, TimeSeries, Transitions
from graftviz.dynamics.base import SECONDS_OF_PRODUCT, DynamicsLearner, Row, Work, check_enough
from graftviz.dynamics.coordinate import coordinate_descent
from graftviz.dynamics.path import Solver, solve_path
from graftviz.dynamics.rows import fit_row, strongest
from graftviz.dynamics.sgd import GradientDescent
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError
from graftviz.utils.options import option
from graftviz.utils.parallel import lazy_map

_BLOCK = 16  # regressions per block; their coefficients should fit in the cache of a core
_USUAL_PARENTS = 15  # as in the experiments of the thesis
_COORDINATE_SWEEPS = 100_000  # maximum number of sweeps of coordinate descent
_SECONDS_OF_TERM = 0.9e-9  # for a coefficient at a row in a pass of gradient descent
_TYPICAL_PASSES = 25  # easy data take half of that, hard ones twice as many
_SECONDS_OF_PAIR = 40e-9  # for a pair of coefficients in coordinate descent
_EXACT = 1e-8  # tolerance of coordinate descent, in standardised units


@dataclass(frozen=True)
class SolverOptions(DynamicsLearner, ABC):
    """Options of learners that find parents by ℓ₁-penalised regression."""

    parents: int | None = option(
        None,
        "k: maximum number of parents of a series",
        label="k (parents)",
        minimum=1,
        none_means=f"{_USUAL_PARENTS}, or all series if there are fewer",
    )
    lam: float | None = option(
        None,
        "λ: weight of ‖Aᵢ‖₁ against half the mean squared error, for standardised series",
        label="λ",
        minimum=0.0,
        maximum=1.0,
        scale="log",
        none_means="1/√N, the typical coefficient of unrelated series",
    )
    path: int = option(
        1,
        "number of values of λ on the path from 1 to λ; with more than 1, which requires the "
        "coordinate solver, parents are selected by order of entry instead of by coefficient",
        label="Path length",
        minimum=1,
        maximum=1000,
        advanced=True,
    )
    solver: Literal["sgd", "coordinate"] = option(
        "sgd",
        "stochastic gradient descent (sgd), or coordinate descent, which is exact and quadratic "
        "in n",
        label="Solver",
        titles=("stochastic gradient", "coordinate descent"),
    )
    step: float = option(
        0.5,
        "initial step size, times the mean of ‖x‖²",
        label="Step size",
        above=0.0,
        maximum=1.0,
        advanced=True,
    )
    decay: float = option(
        0.3,
        "μ: decrease of the step size, γ₀ / (1 + γ₀ μ t) after t rows",
        label="Decay",
        minimum=0.0,
        maximum=10.0,
        advanced=True,
    )
    penalty: Literal["proximal", "subgradient"] = option(
        "proximal",
        "step of the ℓ₁ penalty in gradient descent: proximal stops at zero, subgradient, the form "
        "of the thesis, subtracts λ sign(w) and may overshoot",
        label="Penalty step",
        advanced=True,
    )
    tolerance: float = option(
        0.05,
        "a regression ends when a pass changes its coefficients by at most this share of their "
        "size",
        label="Tolerance",
        above=0.0,
        maximum=1.0,
        scale="log",
        advanced=True,
    )
    max_passes: int = option(
        50,
        "maximum number of passes of gradient descent over all rows",
        label="Maximum passes",
        minimum=1,
        maximum=100_000,
        advanced=True,
    )

    def seconds(self, n: int, rows: int) -> float:
        """Return the estimated time: regressions on all series, and least squares on parents."""
        k, regressed = self.parent_count(n), self.regression_count(n)
        if self.solver == "coordinate":
            search = SECONDS_OF_PRODUCT * rows * n * (n + regressed)
            search += self.path * regressed * n * k * _SECONDS_OF_PAIR
        else:
            search = _SECONDS_OF_TERM * _TYPICAL_PASSES * rows * n * regressed
        return super().seconds(n, rows) + search + n * rows * k**2 * SECONDS_OF_PRODUCT

    def stored_numbers(self, n: int) -> int:
        """Return the number of values in the steps: parents and their coefficients."""
        return 2 * n * self.parent_count(n)

    def regression_count(self, n: int) -> int:
        """Return the number of regressions for n series."""
        return n

    def parent_count(self, n: int) -> int:
        """Return k for n series.

        Raises
        ------
        InputError
            When the option exceeds the number of series.
        """
        if self.parents is None:
            return min(_USUAL_PARENTS, n)
        if self.parents > n:
            raise InputError(f"Option parents is {self.parents}, but there are only {n} series.")
        return self.parents

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path > 1 and self.solver != "coordinate":
            raise InputError(
                "A path of λ requires exact regressions: use solver=coordinate or path=1."
            )
        if self.penalty == "subgradient" and self.solver == "coordinate":
            raise InputError(
                "A subgradient step is one of gradient descent: use solver=sgd or penalty=proximal."
            )

    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` for too few series or rows."""
        check_enough(data, self.parent_count(len(data.names)))

    def solver_of(self, inputs: np.ndarray, seed: int, tolerance: float | None = None) -> Solver:
        """Return the solver for standardised `inputs`, shape (rows, n).

        If passed, `tolerance` replaces the option of that name for gradient descent.
        """
        lam = 1.0 / math.sqrt(len(inputs)) if self.lam is None else self.lam
        if self.solver == "coordinate":
            return coordinate_descent(inputs, lam, _EXACT, _COORDINATE_SWEEPS)
        enough = self.tolerance if tolerance is None else tolerance
        return GradientDescent(
            inputs, lam, self.step, self.decay, enough, self.max_passes, seed, self.penalty
        )


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
        See :class:`graftviz.dynamics.base.NodeStep`; None without two-hop solver.
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
    return [np.array(nodes[at : at + _BLOCK]) for at in range(0, len(nodes), _BLOCK)]


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
