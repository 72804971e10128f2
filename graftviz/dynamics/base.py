"""What every learner of linear dynamical systems is, and what it yields and returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from graftviz.dynamics.series import TimeSeries, Transitions
from graftviz.dynamics.system import LinearSystem
from graftviz.errors import InputError
from graftviz.learners.base import CodeLine
from graftviz.options import check_options, option, option_specs, plain_value


class Work(NamedTuple):
    """Multiplications, counted for the two phases of the thesis's table 2.1 apart.

    Attributes
    ----------
    structure : int
        Spent on finding parents: one for each coefficient updated at each row.
    coefficients : int
        Spent on least squares with the parents known: k² for each row and series.
    """

    structure: int
    coefficients: int


@dataclass(frozen=True, eq=False)
class NodeStep:
    """One series learned: a snapshot for observers.

    Attributes
    ----------
    index : int
        Number of the step, from 0.
    node : int
        The series whose row of A is now known.
    kind : {"dense", "given", "induced", "seed", "inferred", "unspoken"}
        Where its parents come from: all series, a file, its own regression, its own regression as a
        seed, the two-hop rows of seeds, or itself because no seed speaks for it.
    parents : int array, shape (k,), read-only, ascending
    coefficients : float array, shape (k,), read-only
        A[node, parents], in the units of the series.
    intercept : float
        c of this series.
    residual : float
        Root mean square of what the row leaves unexplained in training, in the series' units.
    passes : int
        Passes the solver made for this row; 0 when it was not asked.
    converged : bool
        Whether the solver met its tolerance; True when it was not asked.
    two_hop : float array, shape (n,), or None
        Of a seed: |B_i| / ‖B_i‖₁, how likely each series reaches it in two steps.
    work : Work
        In all, up to this step.
    lines : tuple of str
        Keys of the pseudo-code lines that ran.
    """

    index: int
    node: int
    kind: str
    parents: np.ndarray
    coefficients: np.ndarray
    intercept: float
    residual: float
    passes: int
    converged: bool
    two_hop: np.ndarray | None
    work: Work
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class DynamicsOutcome:
    """How learning ended.

    Attributes
    ----------
    system : LinearSystem
    seeds : int array, read-only
        The seed series, ascending; empty for learners that have none.
    unspoken : int array, read-only
        The series no seed has among its parents, ascending.
    work : Work
    notes : tuple of str
        Sentences worth showing.
    """

    system: LinearSystem
    seeds: np.ndarray
    unspoken: np.ndarray
    work: Work
    notes: tuple[str, ...]


Steps = Generator[NodeStep, None, DynamicsOutcome]


@dataclass(frozen=True)
class DynamicsLearner(ABC):
    """Base of the learners of A. A subclass adds options (see :mod:`graftviz.options`) and `steps`.

    Attributes
    ----------
    name, title, idea, source : str
        What the command line calls it, what people call it, what it does and when to use it, and
        where it comes from.
    pseudocode : tuple of CodeLine
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    idea: ClassVar[str] = ""
    source: ClassVar[str] = ""
    pseudocode: ClassVar[tuple[CodeLine, ...]] = ()

    centre: bool = option(
        False,
        "subtract the mean of every series and learn an intercept; the thesis does not",
        label="Centre",
        advanced=True,
    )

    def __post_init__(self) -> None:
        check_options(self)
        for spec in option_specs(self):
            object.__setattr__(self, spec.name, plain_value(getattr(self, spec.name)))

    @abstractmethod
    def check(self, data: TimeSeries | Transitions) -> None:
        """Raise :class:`InputError` if `data` are too few for what the options ask."""

    @abstractmethod
    def steps(
        self, data: TimeSeries | Transitions, *, seed: int = 0, jobs: int | None = None
    ) -> Steps:
        """Learn A, yielding a step for every series and returning the outcome.

        Parameters
        ----------
        data : TimeSeries or Transitions
        seed : int
            Of all that is random. The same data and seed give the same steps for any `jobs`.
        jobs : int, optional
            Processes that share the rows, as in :func:`graftviz.parallel.parallel_map`; the steps
            of one kind then come together. Default: one, and steps come as rows are done.
        """


def transition_count(data: TimeSeries | Transitions) -> int:
    """Return the number of pairs (x(t), x(t + 1))."""
    return data.n_rows - 1 if isinstance(data, TimeSeries) else len(data.before)


def check_enough(data: TimeSeries | Transitions, parents: int, *, steps: int = 1) -> None:
    """Refuse data that leave a least squares fit on `parents` series nothing to be fitted to.

    `steps` is 2 for learners that also look two time steps ahead.
    """
    pairs = transition_count(data)
    if pairs <= parents + steps - 1:
        had = f"{data.n_rows} rows" if isinstance(data, TimeSeries) else f"{pairs} transitions"
        least = parents + steps + isinstance(data, TimeSeries)
        what = "rows" if isinstance(data, TimeSeries) else "transitions"
        word = "parent" if parents == 1 else "parents"
        raise InputError(
            f"{parents} {word} a series need at least {least} {what} to learn from, and there are "
            f"{had}; give more, or ask for fewer parents."
        )
