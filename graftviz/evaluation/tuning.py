"""Grid search over options of a learner, by recall and by held-out NLPL.

The paper tunes λ and λ₂ of edge grafting in this way, by recall and test NLPL (BC appendix C). Its
grid, :data:`PAPER_GRID`, is for learners with ``preset="paper"``. With d_g the number of joint
states most of it is useless: on data like the paper's λ ≥ 0.1 activates no edge, and with λ₂ ≥ 0.5
the model hardly predicts better than one without edges. :data:`USEFUL_GRID` covers the range of
good models for both presets.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graftviz.data.reading.reading import Tabular
from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.registry import DEFAULT, learner_class, learner_names, table_and_learner
from graftviz.learning.run import Edges, checked_edges, checked_test, learn_network
from graftviz.learning.trace import Remark
from graftviz.utils.errors import InputError
from graftviz.utils.options import checked_seed, option_specs, plain_value
from graftviz.utils.parallel import parallel_map

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
# Criteria, with 1 if larger values are better and −1 if smaller ones are.
_CRITERIA = {
    **dict.fromkeys(("recall", "precision", "f1"), 1),
    **dict.fromkeys(("nlpl_test", "nlpl_train", "objective", "n_edges", "seconds"), -1),
}


class TuningPoint(NamedTuple):
    """Result of one combination of options.

    Attributes
    ----------
    options : dict
        Options of this combination by name.
    n_edges : int
    recall, precision, f1 : float or None
        Comparison with the true edges, if these are available; None also if a ratio is 0 / 0.
    nlpl_train, nlpl_test : float or None
        Negative log pseudo-likelihood (nats per row) of training rows, and of test rows if given.
    objective, kkt_residual : float
    tests, tables_counted : int
    converged : bool
    stop_reason : Remark
    seconds : float
        Engine time on the machine of the run.

    Examples
    --------
    >>> (point,) = gv.tuning_grid(survey, gv.BestChoice(), {"lam": [0.02]}).points
    >>> point.options, point.n_edges, point.converged
    ({'lam': 0.02}, 10, True)
    """

    options: dict[str, Any]
    n_edges: int
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
    stop_reason: Remark
    seconds: float


@dataclass(frozen=True, repr=False)
class Tuning:
    """Results of a learner at every point of a grid.

    Attributes
    ----------
    learner : Learner
        The learner; options of the grid take precedence.
    seed : int
    points : tuple of TuningPoint
        Points in the order of the grid, whose last option changes fastest.

    Examples
    --------
    >>> tuning = gv.tuning_grid(survey, gv.BestChoice(), {"lam": [0.05, 0.02]})
    >>> tuning.best("nlpl_train").options
    {'lam': 0.02}
    """

    learner: Learner
    seed: int
    points: tuple[TuningPoint, ...]

    def __repr__(self) -> str:
        options = ", ".join(self.points[0].options) if self.points else "no options"
        return f"<Tuning of {self.learner.name}: {len(self.points):,} points over {options}>"

    def best(self, by: str = "nlpl_test") -> TuningPoint:
        """Return the best point; ties go to the point with fewer edges, then to the first.

        Parameters
        ----------
        by : str
            ``"recall"``, ``"precision"`` or ``"f1"`` (higher is better); ``"nlpl_test"``,
            ``"nlpl_train"``, ``"objective"``, ``"n_edges"`` or ``"seconds"`` (lower is better).

        Raises
        ------
        InputError
            If `by` is no criterion, or no point has a value of it.
        """
        if by not in _CRITERIA:
            raise InputError(f"{by!r} is no criterion; the criteria are {', '.join(_CRITERIA)}.")
        values = [(getattr(point, by), point) for point in self.points]
        available = [(value, point) for value, point in values if value is not None]
        if not available:
            needed = "test rows" if by == "nlpl_test" else "true edges"
            raise InputError(f"No point of the grid has a value of {by}, which needs {needed}.")
        sign = _CRITERIA[by]
        return min(available, key=lambda pair: (-sign * pair[0], pair[1].n_edges))[1]

    def at(self, point: TuningPoint) -> Learner:
        """Return the learner with the options of `point`."""
        return dataclasses.replace(self.learner, **point.options)

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat dict per point, as for a data frame; stop reasons by their kind."""
        rows = []
        for point in self.points:
            values = point._asdict()
            options = values.pop("options")
            rows.append({**options, **values, "stop_reason": point.stop_reason.kind})
        return rows


class _Task(NamedTuple):
    """Inputs that all combinations share."""

    learner: Learner
    table: DiscreteTable
    test: DiscreteTable | None
    truth: np.ndarray | None
    seed: int


def tuning_grid(
    table: Tabular,
    learner: Learner | str = DEFAULT,
    grid: Mapping[str, Sequence[Any]] = USEFUL_GRID,
    *,
    test: Tabular | None = None,
    truth: Edges | None = None,
    seed: int = 0,
    jobs: int | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> Tuning:
    """Run `learner` with every combination of the options in `grid`.

    Parameters
    ----------
    table : DiscreteTable
        Training rows.
    learner : Learner
        Its options apply unless the grid sets them.
    grid : mapping of str to sequence
        Values of each option. Options that only other learners have are ignored, such as α for
        edge grafting.
    test : DiscreteTable, optional
        Held-out rows with the codes of `table`.
    truth : array-like of shape (k, 2) or DataFrame, optional
        The true edges by name or position.
    seed : int
        Seed of every run.
    jobs : int, optional
        Runs at a time, -1: one per core. The default is that of ``joblib.parallel_config``, which
        may select a cluster with ``backend="dask"``.
    callback : callable, optional
        Called as ``callback(done, of)`` after each run.

    Raises
    ------
    InputError
        Before any run: if the learner has no option of the grid, a value is not allowed, or
        table, test, truth and learner are incompatible.

    Examples
    --------
    >>> tuning = gv.tuning_grid(survey, "best-choice", {"lam": [0.05, 0.02]})
    >>> [(point.options["lam"], point.n_edges) for point in tuning.points]
    [(0.05, 2), (0.02, 10)]
    """
    table, learner = table_and_learner(table, learner)
    combinations = grid_points(learner, grid)
    for options in combinations:
        dataclasses.replace(learner, **options).check(table)
    if test is not None:
        test = checked_test(table, test)
    edges = None if truth is None else checked_edges(truth, table.names)
    task = _Task(learner, table, test, edges, checked_seed(seed))
    points = parallel_map(_point, combinations, shared=task, jobs=jobs, callback=callback)
    return Tuning(learner, task.seed, tuple(points))


def grid_points(learner: Learner, grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the options of `grid` that `learner` has.

    Raises
    ------
    InputError
        If it has none of them, one is no option of any learner, or one has no values.
    """
    own = [spec.name for spec in option_specs(learner)]
    classes = map(learner_class, learner_names())
    of_any = {spec.name for cls in classes for spec in option_specs(cls)}
    axes = {}
    for name, values in grid.items():
        if name in own:
            axes[name] = [plain_value(value) for value in values]
        elif name not in of_any:
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


def _point(task: _Task, options: dict[str, Any]) -> TuningPoint:
    learner = dataclasses.replace(task.learner, **options)
    result = learn_network(task.table, learner, seed=task.seed, test=task.test, truth=task.truth)
    facts = {name: getattr(result, name) for name in _MEASURED}
    reason = result.trace.stop_reason
    return TuningPoint(options=options, **facts, stop_reason=reason, seconds=result.seconds.total)


_OTHERS = ("options", "stop_reason", "seconds")
_MEASURED = tuple(name for name in TuningPoint._fields if name not in _OTHERS)
