"""The contract of learners of linear dynamical systems, and what they share.

A learner yields a step for every row of A and returns an outcome. Every row is a least squares fit
on the parents of a series, whose multiplications are counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr, solve_triangular, svd

from graftviz.data.series.series import StandardisedData, TimeSeries, Transitions
from graftviz.dynamics.system import LinearSystem, system_of_rows
from graftviz.utils.arrays import freeze, read_only
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, normalise_options, option
from graftviz.utils.parallel import lazy_map

# Measured on one core of about 2.5 GHz, precise enough to distinguish seconds from minutes.
SECONDS_OF_STEP = 60e-6
SECONDS_OF_PRODUCT = 0.15e-9  # of a product of two series at a row
# Ratio of the diagonal of the Cholesky factor below which singular values are used instead: with
# one step of refinement, seminormal equations are accurate as long as cond(X)² is below 1/ε.
_LEAST_PIVOT = 1e-6


class Work(NamedTuple):
    """Numbers of multiplications in the two phases of table 2.1 of the thesis.

    Attributes
    ----------
    structure : int
        Search for parents: one multiplication per coefficient updated at each row, the scores of
        candidates, and the products of grafted parents.
    coefficients : int
        Least squares on the parents, with the residuals.

    Examples
    --------
    >>> dynamics.learn(series, dynamics.Dense()).work
    Work(structure=0, coefficients=96320)
    """

    structure: int
    coefficients: int


NO_WORK = Work(0, 0)


@dataclass(frozen=True, eq=False)
class Row:
    """Learned row of A, in units of the series; see :class:`NodeStep` for the fields."""

    node: int
    parents: np.ndarray
    coefficients: np.ndarray
    residual: float
    passes: int = 0
    converged: bool = True
    two_hop: np.ndarray | None = None
    work: Work = NO_WORK


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeStep(Row):
    """Learned row of A, a snapshot for observers.

    Attributes
    ----------
    index : int
        Number of the step, from 0.
    node : int
        Series whose row of A was learned.
    kind : {"dense", "given", "induced", "seed", "inferred", "uncovered"}
        Source of the parents: all series, a file, a regression of the series, a regression of the
        series as a seed, the two-hop rows of seeds, or, for a series that is not a parent of any
        seed, its own data.
    parents : int array, shape (k,), read-only, ascending
    coefficients : float array, shape (k,), read-only
        A[node, parents], in the units of the series.
    intercept : float
        c of this series.
    residual : float
        Root mean square of the training residuals, in the units of the series.
    passes : int
        Passes of the solver for this row; 0 if it was not used.
    converged : bool
        Whether the solver met its tolerance; True if it was not used.
    two_hop : float array, shape (n,), or None
        For a seed: |B_i| / ‖B_i‖₁, the relative influence of each series two time steps later.
    work : Work
        Total up to this step.
    lines : tuple of str
        Keys of the executed lines of pseudo-code.

    Examples
    --------
    >>> learned = dynamics.learn(series, dynamics.SparsityInducing(parents=2))
    >>> step = learned.steps[0]
    >>> step.node, step.parents
    (0, array([1, 3]))
    """

    index: int
    kind: str
    intercept: float
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DynamicsOutcome:
    """Outcome of learning.

    Attributes
    ----------
    system : LinearSystem
    seeds : int array, read-only
        Seed series, ascending; empty for learners without seeds.
    uncovered : int array, read-only
        Series that are not parents of any seed, ascending.
    work : Work
    notes : tuple of str
        Warnings, as sentences.

    Examples
    --------
    >>> steps = dynamics.Dense().steps(series)
    >>> while True:
    ...     try:
    ...         step = next(steps)
    ...     except StopIteration as end:
    ...         outcome = end.value
    ...         break
    >>> outcome.system.coefficients.shape, outcome.notes
    ((8, 8), ())
    """

    system: LinearSystem
    seeds: np.ndarray
    uncovered: np.ndarray
    work: Work
    notes: tuple[str, ...]


Steps = Generator[NodeStep, None, DynamicsOutcome]


@dataclass(frozen=True)
class DynamicsLearner(ABC):
    """Base class of learners of A; subclasses add options (``utils/options.py``) and `steps`.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        Name shown to users.
    idea : str
        Short description of the method and of its use.
    opening : str
        Description of the start of a run; ``{k}`` stands for the number of parents and ``{seeds}``
        for the seeds.
    source : str
        Reference.
    pseudocode : tuple of CodeLine

    Examples
    --------
    >>> learner = dynamics.SparsityInducing(parents=2)
    >>> isinstance(learner, dynamics.DynamicsLearner), learner.name
    (True, 'inducing')
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    idea: ClassVar[str] = ""
    opening: ClassVar[str] = ""
    source: ClassVar[str] = ""
    pseudocode: ClassVar[tuple[CodeLine, ...]] = ()

    centre: bool = option(
        False,
        "subtract the mean of every series and learn an intercept (not in the thesis)",
        label="Centre",
        advanced=True,
    )

    def __post_init__(self) -> None:
        normalise_options(self)

    @abstractmethod
    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` if `data` has too few rows for the options."""

    def seconds(self, n: int, rows: int) -> float:
        """Return the estimated time of learning n series from `rows` rows."""
        return n * SECONDS_OF_STEP

    def stored_numbers(self, n: int) -> int:
        """Return the number of values in the steps of a run on n series."""
        return 2 * n * n

    @abstractmethod
    def steps(
        self, data: TimeSeries | Transitions, *, seed: int = 0, jobs: int | None = None
    ) -> Steps:
        """Learn A; yield a step for every series and return the outcome.

        Parameters
        ----------
        data : TimeSeries or Transitions
        seed : int
            Seed of all random choices. The steps do not depend on `jobs`.
        jobs : int, optional
            Number of processes, as in :func:`graftviz.utils.parallel.parallel_map`; all steps of a
            kind are then yielded together. Default: one process; every step is yielded immediately.
        """


def transition_count(data: TimeSeries | Transitions) -> int:
    """Return the number of pairs (x(t), x(t + 1))."""
    return data.n_rows - 1 if isinstance(data, TimeSeries) else len(data.before)


def check_enough(data: TimeSeries | Transitions, parents: int, *, steps: int = 1) -> None:
    """Raise :class:`InputError` if a least squares fit on `parents` series is underdetermined.

    `steps` is 2 for learners that also regress two time steps ahead.
    """
    pairs = transition_count(data)
    if pairs <= parents + steps - 1:
        found = f"{data.n_rows} rows" if isinstance(data, TimeSeries) else f"{pairs} transitions"
        least = parents + steps + isinstance(data, TimeSeries)
        what = "rows" if isinstance(data, TimeSeries) else "transitions"
        word = "parent" if parents == 1 else "parents"
        raise InputError(
            f"{parents} {word} per series need at least {least} {what} of training data, but there "
            f"are {found}; use more data or fewer parents."
        )


class Products:
    """Counter of multiplications, which computes the products itself.

    Attributes
    ----------
    count : int
        Multiplications up to now. Those inside a decomposition of an m × n matrix, which a library
        makes, are counted as m n min(m, n), without the constant of its algorithm.

    Examples
    --------
    >>> times = Products()
    >>> times(np.ones((2, 3)), np.ones(3)).shape, times.count
    ((2,), 6)
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return ``left @ right``."""
        self.count += left.size * right.size // left.shape[-1] if left.size else 0
        product: np.ndarray = left @ right
        return product

    def decomposed(self, matrix: np.ndarray) -> None:
        """Count a decomposition of `matrix` by a library."""
        self.count += matrix.size * min(matrix.shape)


def strongest(sizes: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the k largest positive entries, ascending; ties to the lower index."""
    order = np.argsort(-sizes, kind="stable")[:k]
    return np.sort(order[sizes[order] > 0.0])


def smallest_solution(
    data: StandardisedData, nodes: np.ndarray, parents: np.ndarray, times: Products
) -> np.ndarray:
    """Return the least squares coefficients of smallest norm, shape (nodes, parents).

    The norm is that of the coefficients in the units of the series; the rank is determined from
    standardised series, so that no unit is too small.
    """
    found = np.zeros((len(nodes), len(parents)))
    moving = data.before[:, parents].any(axis=0)
    inputs, units = data.before[:, parents[moving]], data.scale[parents[moving]]
    times.decomposed(inputs)
    left, sizes, right = svd(inputs, full_matrices=False, check_finite=False)
    nonzero = sizes > np.finfo(np.float64).eps * max(inputs.shape) * sizes.max(initial=0.0)
    loads = times(left[:, nonzero].T, data.after[:, nodes]) / sizes[nonzero, None]
    right = right[nonzero]
    if len(right) == len(units):
        solution = times(right.T, loads) / units[:, None]
    else:
        # Rows in decreasing order and pivoted columns keep the accuracy of small units.
        order = np.argsort(-units, kind="stable")
        basis, triangle, pivots = qr((right * units).T[order], mode="economic", pivoting=True)
        solution = np.zeros((len(units), len(nodes)))
        solution[order] = times(basis, solve_triangular(triangle, loads[pivots], trans="T"))
    found[:, moving] = solution.T * data.scale[nodes, None]
    return found


def fit_row(data: StandardisedData, node: int, parents: np.ndarray) -> Row:
    """Return the row of least squares on `parents` (thesis, algorithm 2).

    The method is Cholesky factorisation of the moments of the parents with one step of refinement.
    For nearly dependent parents, singular values give the solution of smallest norm.
    """
    target = data.targets[node]
    inputs = data.columns[parents]
    times = Products()
    units = data.scale[node] / data.scale[parents]
    try:
        factor = cho_factor(times(inputs, inputs.T), lower=True, check_finite=False)
        pivots = np.diagonal(factor[0])
        if len(parents) and pivots.min() < _LEAST_PIVOT * pivots.max():
            raise LinAlgError
        weights = cho_solve(factor, times(inputs, target), check_finite=False)
        gap = target - times(weights, inputs)
        weights += cho_solve(factor, times(inputs, gap), check_finite=False)
        coefficients = weights * units
    except LinAlgError:
        coefficients = smallest_solution(data, np.array([node]), parents, times)[0]
    gap = target - times(coefficients / units, inputs)
    residual = float(np.sqrt(np.mean(gap**2)) * data.scale[node])
    return Row(node, parents, coefficients, residual, work=Work(0, times.count))


def fit_rows(
    data: StandardisedData, tasks: Sequence[tuple[int, np.ndarray]], jobs: int | None
) -> Iterator[Row]:
    """Return the row of least squares for each (node, parents), in order."""
    return lazy_map(_fit_task, tasks, shared=data, jobs=jobs)


def _fit_task(data: StandardisedData, task: tuple[int, np.ndarray]) -> Row:
    return fit_row(data, *task)


def system_of_steps(names: tuple[str, ...], steps: Sequence[NodeStep]) -> LinearSystem:
    """Return the system with the rows of `steps`; other rows are zero."""
    n = len(names)
    parents = [np.zeros(0, dtype=np.int64) for _ in names]
    coefficients, intercept = [np.zeros(0) for _ in names], np.zeros(n)
    for step in steps:
        parents[step.node], coefficients[step.node] = step.parents, step.coefficients
        intercept[step.node] = step.intercept
    return system_of_rows(names, parents, coefficients, intercept)


class StepRecorder:
    """Recorder of learned rows, which returns a step for each and finally the outcome."""

    def __init__(self, data: StandardisedData) -> None:
        self._data = data
        self._steps: list[NodeStep] = []
        self._work = NO_WORK
        self._unsettled = 0

    def step(self, row: Row, kind: str, lines: tuple[str, ...]) -> NodeStep:
        """Record a row and return its step."""
        self.spend(row.work)
        self._unsettled += not row.converged
        shift = self._data.shift
        freeze(row.parents, row.coefficients)
        facts = {**vars(row), "work": self._work}
        intercept = float(shift[row.node] - row.coefficients @ shift[row.parents])
        index = len(self._steps)
        step = NodeStep(**facts, index=index, kind=kind, intercept=intercept, lines=lines)
        self._steps.append(step)
        return step

    def spend(self, work: Work) -> None:
        """Add work that does not belong to a single row."""
        self._work = Work(
            self._work.structure + work.structure, self._work.coefficients + work.coefficients
        )

    def outcome(
        self, *, seeds: Sequence[int] = (), uncovered: Sequence[int] = (), notes: Sequence[str] = ()
    ) -> DynamicsOutcome:
        """Return the outcome after all rows."""
        sentences, n = list(notes), len(self._data.names)
        barren = sum(len(step.parents) == 0 for step in self._steps)
        if barren:
            sentences.append(
                f"{barren} of {n} series have no parents: they are always zero, no coefficient "
                "outweighed λ, or no parents were specified; predictions for them are constant."
            )
        if self._unsettled:
            sentences.append(
                f"{self._unsettled} of {n} regressions reached the maximum number of passes before "
                "their tolerance; their parents may be less reliable."
            )
        return DynamicsOutcome(
            system_of_steps(self._data.names, self._steps),
            read_only(np.array(sorted(seeds), dtype=np.int64)),
            read_only(np.array(sorted(uncovered), dtype=np.int64)),
            self._work,
            tuple(sentences),
        )
