"""What learners that look for parents share: their options, and blocks of regressions."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graftviz.dynamics.base import DynamicsLearner, Work, check_enough
from graftviz.dynamics.coordinate import coordinate_descent
from graftviz.dynamics.path import Solver, along_path
from graftviz.dynamics.rows import Row, fitted_row, strongest
from graftviz.dynamics.series import Standardised, TimeSeries, Transitions
from graftviz.dynamics.sgd import GradientDescent
from graftviz.dynamics.system import frozen
from graftviz.errors import InputError
from graftviz.options import option
from graftviz.parallel import parallel_map

_BLOCK = 16  # regressions side by side: their coefficients should fit into a core's own cache
_USUAL_PARENTS = 15  # of the thesis's experiments
_COORDINATE_SWEEPS = 100_000  # after which coordinate descent gives up
_EXACT = 1e-8  # violation that coordinate descent leaves, in standardised units


@dataclass(frozen=True)
class SolverOptions(DynamicsLearner, ABC):
    """Options of learners that find parents by ℓ₁-penalised regression."""

    parents: int | None = option(
        None,
        "k: how many parents a series gets at most",
        label="k (parents)",
        minimum=1,
        none_means=f"{_USUAL_PARENTS}, or all where there are fewer series",
    )
    lam: float | None = option(
        None,
        "λ: weight of ‖Aᵢ‖₁ against half the mean squared error, for standardised series",
        label="λ",
        minimum=0.0,
        maximum=1.0,
        scale="log",
        none_means="1/√N, what a coefficient of unrelated series is by chance",
    )
    path: int = option(
        1,
        "how many values of λ lead down from 1 to λ: above 1, which needs the coordinate solver, "
        "those become parents that enter first, not those of the largest coefficients",
        label="Path length",
        minimum=1,
        maximum=1000,
        advanced=True,
    )
    solver: str = option(
        "sgd",
        "stochastic gradient descent (sgd), or coordinate descent: exact, and quadratic in n",
        label="Solver",
        choices=("sgd", "coordinate"),
    )
    step: float = option(
        0.5,
        "first step size, times the mean of ‖x‖²",
        label="Step size",
        above=0.0,
        maximum=1.0,
        advanced=True,
    )
    decay: float = option(
        0.3,
        "μ: how fast steps get shorter, γ₀ / (1 + γ₀ μ t) after t rows",
        label="Decay",
        minimum=0.0,
        maximum=10.0,
        advanced=True,
    )
    tolerance: float = option(
        0.05,
        "a regression is done when a pass changes its coefficients by this share of their size",
        label="Tolerance",
        above=0.0,
        maximum=1.0,
        scale="log",
        advanced=True,
    )
    max_passes: int = option(
        50,
        "passes through all rows after which gradient descent gives up",
        label="Most passes",
        minimum=1,
        maximum=100_000,
        advanced=True,
    )

    def parent_count(self, n: int) -> int:
        """Return k for n series.

        Raises
        ------
        InputError
            When more parents are asked than there are series.
        """
        if self.parents is None:
            return min(_USUAL_PARENTS, n)
        if self.parents > n:
            raise InputError(
                f"Option parents asks for {self.parents}, but there are only {n} series."
            )
        return self.parents

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path > 1 and self.solver != "coordinate":
            raise InputError(
                "A path of λ needs exact regressions: choose solver=coordinate with it, or path=1."
            )

    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` for too few series or rows."""
        check_enough(data, self.parent_count(len(data.names)))

    def solver_of(self, inputs: np.ndarray, seed: int, tolerance: float | None = None) -> Solver:
        """Return the solver for standardised `inputs`, shape (rows, n).

        Gradient descent stops at `tolerance`, if given, in place of the option of that name.
        """
        lam = 1.0 / math.sqrt(len(inputs)) if self.lam is None else self.lam
        if self.solver == "coordinate":
            return coordinate_descent(inputs, lam, _EXACT, _COORDINATE_SWEEPS)
        enough = self.tolerance if tolerance is None else tolerance
        return GradientDescent(inputs, lam, self.step, self.decay, enough, self.max_passes, seed)


class Search(NamedTuple):
    """The search for parents, as it travels to other processes.

    Attributes
    ----------
    data : Standardised
    one_hop : solver
        For X(t + 1) from X(t).
    two_hop : solver or None
        For X(t + 2) from X(t); of seeds only.
    k : int
    path : int
        How many values of λ the one-hop regressions go through.
    """

    data: Standardised
    one_hop: Solver
    two_hop: Solver | None
    k: int
    path: int = 1


class Regressed(NamedTuple):
    """What the regressions of one series say, before k parents are chosen.

    Attributes
    ----------
    node : int
    counted : float array, shape (n,)
        How much each series should count as a parent; zero for those that are none.
    two_hop : float array, shape (n,), or None
        See :class:`graftviz.dynamics.base.NodeStep`; of a search that has two-hop rows.
    passes : int
    converged : bool
    work : int
        Multiplications.
    """

    node: int
    counted: np.ndarray
    two_hop: np.ndarray | None
    passes: int
    converged: bool
    work: int


def blocks_of(nodes: Sequence[int]) -> list[np.ndarray]:
    """Return the nodes in the blocks whose regressions are made side by side."""
    return [np.array(nodes[at : at + _BLOCK]) for at in range(0, len(nodes), _BLOCK)]


def found_rows(search: Search, nodes: Sequence[int], jobs: int | None) -> Iterator[Row]:
    """Yield the row of each node, its parents the k largest coefficients of its regression."""
    if jobs in (None, 1):
        for block in blocks_of(nodes):
            yield from _search_block(search, block)
    else:
        for rows in parallel_map(_search_block, blocks_of(nodes), shared=search, jobs=jobs):
            yield from rows


def _search_block(search: Search, nodes: np.ndarray) -> list[Row]:
    return [chosen_row(search.data, one, search.k) for one in regressed_block(search, nodes)]


def regressed_block(search: Search, nodes: np.ndarray) -> list[Regressed]:
    """Regress a few series side by side."""
    found, counted = along_path(search.one_hop, search.data.targets[nodes].T, search.path)
    reached = search.two_hop and search.two_hop.solve(search.data.later[:, nodes])
    spent = found.work + (reached.work if reached else 0)
    every = []
    for at, node in enumerate(nodes):
        two_hop, passes, converged = None, int(found.passes[at]), bool(found.converged[at])
        if reached:
            sizes = np.abs(reached.weights[at])
            total = sizes.sum()
            two_hop = frozen(sizes / total if total > 0.0 else sizes)
            passes += int(reached.passes[at])
            converged = converged and bool(reached.converged[at])
        # The work of a block is shared out evenly; the rest of the division goes to its first row.
        share = spent // len(nodes) + (spent % len(nodes) if at == 0 else 0)
        every.append(Regressed(int(node), counted[at], two_hop, passes, converged, share))
    return every


def chosen_row(data: Standardised, one: Regressed, k: int) -> Row:
    """Return the row of a series whose parents are the `k` that count most."""
    row = fitted_row(data, one.node, strongest(one.counted, k))
    work = Work(one.work, row.work.coefficients)
    return row._replace(passes=one.passes, converged=one.converged, two_hop=one.two_hop, work=work)
