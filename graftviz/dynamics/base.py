"""Base class of learners of linear dynamical systems, and the steps and outcome they produce."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from graftviz.data.series.series import TimeSeries, Transitions
from graftviz.dynamics.system import LinearSystem
from graftviz.utils.errors import InputError
from graftviz.utils.options import CodeLine, normalise_options, option

# Measured on one core of about 2.5 GHz, precise enough to distinguish seconds from minutes.
SECONDS_OF_STEP = 60e-6
SECONDS_OF_PRODUCT = 0.15e-9  # of a product of two series at a row


class Work(NamedTuple):
    """Numbers of multiplications in the two phases of table 2.1 of the thesis.

    Attributes
    ----------
    structure : int
        Search for parents: one multiplication per coefficient updated at each row, the scores of
        candidates, and the products of grafted parents.
    coefficients : int
        Least squares on the parents, with the residuals: see
        :class:`~graftviz.dynamics.products.Products`.

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
