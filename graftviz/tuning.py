"""A learner at every combination of some options: which is best by recall, and by held-out NLPL.

The paper tunes λ and λ₂ like this, on edge grafting, by recall and test NLPL (BC appendix C). Its
grid, :data:`PAPER_GRID`, is meant for learners with ``preset="paper"``. With d_g the number of
joint states most of it is of no use: on the paper's kind of data λ ≥ 0.1 activates nothing, and
with λ₂ ≥ 0.5 the model hardly predicts better than one without edges. :data:`USEFUL_GRID` lies
where models are good, by either preset.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graftviz.errors import InputError
from graftviz.learners.base import Learner, checked_seed
from graftviz.learners.registry import learner_class, learner_names
from graftviz.options import option_specs, plain_value
from graftviz.parallel import parallel_map
from graftviz.runs import check_test, checked_edges, learn
from graftviz.table import DiscreteTable

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
PAPER_GRID: Mapping[str, Sequence[Any]] = {
    "lam": (1e-4, 1e-3, 1e-2, 1e-1, 1.0),
    "lam2": (0.5, 0.75, 1.0, 1.5),
    "alpha": ALPHAS,
}
USEFUL_GRID: Mapping[str, Sequence[Any]] = {
    "lam": (1e-4, 3e-4, 1e-3, 3e-3),
    "lam2": (1e-4, 1e-3, 1e-2, 1e-1),
    "alpha": ALPHAS,
}
# What can be best, and whether that is the largest (1) or the smallest (−1).
_CRITERIA = {
    **dict.fromkeys(("recall", "precision", "f1"), 1),
    **dict.fromkeys(("nlpl_test", "nlpl_train", "objective", "edges", "seconds"), -1),
}


class TuningPoint(NamedTuple):
    """What came of one combination.

    Attributes
    ----------
    options : dict
        The options that were tried, by name.
    edges : int
    recall, precision, f1 : float or None
        Against the true edges, where these are known; None also where a ratio is 0 / 0.
    nlpl_train, nlpl_test : float or None
        Negative log pseudo-likelihood (nats per row); of test rows, where there are any.
    objective, kkt_residual : float
    tests, tables_counted : int
    converged : bool
    stop_reason : str
    seconds : float
        Engine time on the machine that did it, which may have done other things too.
    """

    options: dict[str, Any]
    edges: int
    recall: float | None
    precision: float | None
    f1: float | None
    nlpl_train: float
    nlpl_test: float | None
    objective: float
    kkt_residual: float
    tests: int
    tables_counted: int
    converged: bool
    stop_reason: str
    seconds: float


@dataclass(frozen=True)
class Tuning:
    """A learner at every point of a grid.

    Attributes
    ----------
    learner : Learner
        As it was given; options of the grid take precedence.
    seed : int
    points : tuple of TuningPoint
        In the order of the grid, whose last option changes fastest.
    """

    learner: Learner
    seed: int
    points: tuple[TuningPoint, ...]

    def best(self, by: str = "nlpl_test") -> TuningPoint:
        """Return the best point: of equals, the one of fewer edges, then the first.

        Parameters
        ----------
        by : str
            ``"recall"``, ``"precision"`` or ``"f1"``, of which more is better; ``"nlpl_test"``,
            ``"nlpl_train"``, ``"objective"``, ``"edges"`` or ``"seconds"``, of which less is.

        Raises
        ------
        InputError
            When that is no criterion, or no point has a value of it.
        """
        if by not in _CRITERIA:
            raise InputError(f"{by!r} is no criterion; the criteria are {', '.join(_CRITERIA)}.")
        values = [(getattr(point, by), point) for point in self.points]
        known = [(value, point) for value, point in values if value is not None]
        if not known:
            needed = "test rows" if by == "nlpl_test" else "true edges"
            raise InputError(f"No point of the grid has a value of {by}, which needs {needed}.")
        sign = _CRITERIA[by]
        return min(known, key=lambda pair: (-sign * pair[0], pair[1].edges))[1]

    def at(self, point: TuningPoint) -> Learner:
        """Return the learner with the options of `point`."""
        return dataclasses.replace(self.learner, **point.options)

    def rows(self) -> list[dict[str, Any]]:
        """Return a flat dict per point, as for a data frame."""
        return [{**point.options, **_measures(point)} for point in self.points]


class _Task(NamedTuple):
    """What all combinations share."""

    learner: Learner
    table: DiscreteTable
    test: DiscreteTable | None
    truth: np.ndarray | None
    seed: int


def tuning_grid(
    table: DiscreteTable,
    learner: Learner,
    grid: Mapping[str, Sequence[Any]] = USEFUL_GRID,
    *,
    test: DiscreteTable | None = None,
    truth: Iterable[Iterable[int]] | np.ndarray | None = None,
    seed: int = 0,
    jobs: int | None = None,
    on_done: Callable[[int, int], Any] | None = None,
) -> Tuning:
    """Run `learner` with every combination of the options in `grid`.

    Parameters
    ----------
    table : DiscreteTable
        The rows to learn from.
    learner : Learner
        Its own options hold where the grid says nothing.
    grid : mapping of str to sequence
        Values of each option. Options that only other learners have are left out, as is α of
        these grids for edge grafting.
    test : DiscreteTable, optional
        Held-out rows, coded like `table`.
    truth : int array-like, shape (k, 2), optional
        The true edges.
    seed : int
        Of every run.
    jobs, on_done
        See :func:`graftviz.parallel.parallel_map`: the default follows ``joblib.parallel_config``,
        with ``backend="dask"`` onto a cluster.

    Raises
    ------
    InputError
        Before any work is done: when no option of the grid is one of the learner's, a value is not
        allowed, or table, test, truth and learner do not go together.
    """
    combinations = grid_points(learner, grid)
    for options in combinations:
        dataclasses.replace(learner, **options).check(table)
    if test is not None:
        check_test(table, test)
    edges = None if truth is None else checked_edges(truth, table.n_variables)
    task = _Task(learner, table, test, edges, checked_seed(seed))
    points = parallel_map(_point, combinations, shared=task, jobs=jobs, on_done=on_done)
    return Tuning(learner, task.seed, tuple(points))


def grid_points(learner: Learner, grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of those options of `grid` that `learner` has.

    Raises
    ------
    InputError
        When it has none of them, some are no option of any learner, or one has no value.
    """
    own = [spec.name for spec in option_specs(learner)]
    axes = {}
    for name, values in grid.items():
        if name in own:
            axes[name] = [plain_value(value) for value in values]
        elif name not in _options_of_any_learner():
            raise InputError(
                f"{name!r} in the grid is no option of any learner; {learner.title} has "
                f"{', '.join(own)}."
            )
    if not axes:
        raise InputError(f"{learner.title} has none of the options {', '.join(grid)} of the grid.")
    for name, values in axes.items():
        if not values:
            raise InputError(f"The grid holds no value of option {name}; give it at least one.")
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _options_of_any_learner() -> set[str]:
    return {spec.name for name in learner_names() for spec in option_specs(learner_class(name))}


def _point(task: _Task, options: dict[str, Any]) -> TuningPoint:
    learner = dataclasses.replace(task.learner, **options)
    result = learn(task.table, learner, seed=task.seed, test=task.test, truth=task.truth)
    facts = {name: getattr(result, name) for name in _MEASURED}
    return TuningPoint(options=options, **facts, seconds=result.seconds.total)


_MEASURED = tuple(name for name in TuningPoint._fields if name not in ("options", "seconds"))


def _measures(point: TuningPoint) -> dict[str, Any]:
    return {name: value for name, value in point._asdict().items() if name != "options"}
