"""Learner runs on data sets, and the learning curves of the papers."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from graftviz.experiments.bench import LAM, LAM2, Size
from graftviz.experiments.reproduction.data import GENERATED, Data
from graftviz.experiments.reproduction.experiment import NotMeasured, Part, Results
from graftviz.learners.base import Learner
from graftviz.learners.best_choice import BestChoice
from graftviz.learners.edge_grafting import EdgeGrafting
from graftviz.learners.first_hit import FirstHit
from graftviz.options import option_specs
from graftviz.runs import Run
from graftviz.table import DiscreteTable

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
EDGE_GRAFTING, FIRST_HIT = "edge grafting", "first hit"
WITHOUT_HUBS = ", no hub rule"
POINTS = 240  # largest number of points of a curve
MEASURES = ("seconds", "tests", "tables", "edges", "objective", "recall", "nlpl")
# Other programs on the machine disturb short runs, so the fastest of some repetitions counts.
_SHORT_SECONDS, _REPETITIONS = 5.0, 3
_WORK_OF_ALL_EDGES = 12  # edges per variable at which λ typically ends a run without a budget


class Method(NamedTuple):
    """Learner with all options except the edge budget.

    Attributes
    ----------
    name : str
        Name in the legend.
    learner : Learner
    alpha : float or None
        α of best-choice; None for the baselines.
    """

    name: str
    learner: Learner
    alpha: float | None = None


def best_choice(alpha: float, *, preset: str = "paper", hubs: bool | None = None) -> Method:
    """Return best-choice grafting by a preset, with the λ and λ₂ of the benchmark."""
    learner = BestChoice(alpha=alpha, preset=preset, hubs=hubs, lam=LAM, lam2=LAM2)
    return Method(f"α = {alpha:g}{WITHOUT_HUBS if hubs is False else ''}", learner, alpha)


def baselines() -> tuple[Method, Method]:
    """Return edge grafting and first hit with the settings of the paper."""
    return (
        Method(EDGE_GRAFTING, EdgeGrafting(preset="paper", lam=LAM, lam2=LAM2)),
        Method(FIRST_HIT, FirstHit(preset="paper", lam=LAM, lam2=LAM2)),
    )


def all_methods(preset: str = "paper") -> tuple[Method, ...]:
    """Return the methods of most figures: the baselines, and best-choice at five α."""
    return (*baselines(), *(best_choice(alpha, preset=preset) for alpha in ALPHAS))


def hub_methods(preset: str = "paper") -> tuple[Method, ...]:
    """Return best-choice at five α with and without the hub rule."""
    return tuple(
        best_choice(alpha, preset=preset, hubs=hubs) for alpha in ALPHAS for hubs in (True, False)
    )


class Panel(NamedTuple):
    """Data size and edge budget of one panel of a figure.

    Attributes
    ----------
    size : Size
        Size of the data.
    edges : int or None
        Edge budget; None: until no inactive edge violates.
    """

    size: Size
    edges: int | None

    @property
    def title(self) -> str:
        """Title in the terms of the papers."""
        nodes = f"{self.size.nodes:,} nodes"
        if self.size.source != GENERATED:
            nodes = f"{self.size.source.capitalize()}, {self.size.nodes:,} variables"
        return f"{nodes}, {self.edges:,} edges" if self.edges else f"{nodes}, to convergence"

    def learner(self, method: Method) -> Learner:
        """Return the method's learner with the edge budget of this panel."""
        n = self.size.nodes
        edges = self.edges
        if edges is None and method.learner.edge_budget(n) < math.comb(n, 2):
            edges = math.comb(n, 2)  # a preset of the papers would set a budget
        most = None if edges is None else min(edges, math.comb(n, 2))
        budget: dict[str, Any] = {"max_edges": most}
        return dataclasses.replace(method.learner, **budget)


@dataclass(frozen=True)
class LearnerPart(Part):
    """One learner run on one data set.

    Attributes
    ----------
    panel : Panel
    method : Method
    seed : int
        Seed of the learner, and of data that are generated or reduced.
    held_out : bool
        Whether to evaluate held-out rows after every step.
    """

    panel: Panel
    method: Method
    seed: int
    held_out: bool = True

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{self.method.name}, {self.panel.title}"

    @property
    def work(self) -> int:
        """Approximate number of edges to be learned."""
        return self.panel.edges or _WORK_OF_ALL_EDGES * self.panel.size.nodes

    @property
    def source(self) -> str:
        """Source of the data."""
        return self.panel.size.source

    @property
    def size(self) -> Size:
        """Size of the data with the seed of this part."""
        return dataclasses.replace(self.panel.size, seed=self.seed)

    def settings(self, data: Data) -> dict[str, Any]:
        """Return data, learner with its options, and seed."""
        learner = self.panel.learner(self.method)
        return {
            "part": "learner run",
            "data": dataclasses.asdict(self.size),
            "fingerprint": data.fingerprint(self.size),
            "learner": learner.name,
            "options": {spec.name: getattr(learner, spec.name) for spec in option_specs(learner)},
            "seed": self.seed,
            "held_out": self.held_out,
        }

    def rehearse(self, data: Data) -> None:
        """Learn from some rows of some variables, so that compilation is not timed."""
        problem = data.problem(self.size)
        train, test = (_corner(table) for table in (problem.train, problem.test))
        learner = dataclasses.replace(self.panel.learner(self.method), **{"max_edges": 3})
        run = Run(train, learner, test=test, truth=[(0, 1)])
        while run.advance():
            pass

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn, and return the curves with the times of the fastest repetition."""
        problem = data.problem(self.size)
        run = Run(
            problem.train,
            self.panel.learner(self.method),
            seed=self.seed,
            test=problem.test if self.held_out else None,
            truth=problem.truth,
        )
        while run.advance():
            on_progress(run.steps[-1].edges)
        times = [self._timed(problem.train)]
        while times[0] and times[0][-1] < _SHORT_SECONDS and len(times) < _REPETITIONS:
            times.append(self._timed(problem.train))
        # A run without steps has no times.
        return _recorded(run, min(times, key=lambda seconds: seconds[-1] if seconds else 0.0))

    def _timed(self, train: DiscreteTable) -> list[float]:
        """Return processor times after every step of the same run without evaluation."""
        run = Run(train, self.panel.learner(self.method), seed=self.seed)
        started, times = time.process_time(), []
        while run.advance():
            times.append(time.process_time() - started)
        return times


def _corner(table: DiscreteTable) -> DiscreteTable:
    few = min(table.n_variables, 8)
    codes = table.rows(slice(0, 300)).codes[:few]
    return DiscreteTable(codes, table.names[:few], table.labels[:few])


def _recorded(run: Run, times: Sequence[float]) -> dict[str, Any]:
    """Return the thinned-out curves of a finished run and its end.

    Parameters
    ----------
    run : Run
    times : sequence of float
        Seconds after every step.
    """
    outcome, steps, start = run.outcome, run.steps, run.start
    assert outcome is not None
    assert start is not None
    count = len(steps)
    indices = (
        sorted({round(k * (count - 1) / (POINTS - 1)) for k in range(POINTS)}) if count else []
    )
    first = steps[0].previous_objective if steps else outcome.objective
    points: list[tuple[Any, ...]] = [(0.0, 0, 0, 0, first, start.recall, start.nlpl_test)]
    if steps and steps[0].tables_counted == steps[0].tables_possible:
        # A learner that counts all pairs first has no edge until then.
        seconds = steps[0].seconds
        counting = times[0] * seconds.statistics / max(seconds.total, 1e-9)
        points.append(
            (counting, 0, steps[0].tables_possible, 0, first, start.recall, start.nlpl_test)
        )
    for k in indices:
        step, metrics = steps[k], run.metrics[k]
        points.append(
            (
                *(times[k], step.tests_total, step.tables_counted, step.edges),
                *(step.objective, metrics.recall, metrics.nlpl_test),
            )
        )
    final = run.final
    assert final is not None
    return {
        "points": {
            name: [_finite(value) for value in values]
            for name, values in zip(MEASURES, zip(*points, strict=True), strict=True)
        },
        "end": {
            "steps": count,
            "edges": len(outcome.history.ids_at(len(outcome.history.counts))),
            "seconds": times[-1] if steps else outcome.seconds.total,
            "tests": run.tests,
            "tables": steps[-1].tables_counted if steps else outcome.tables_counted,
            "tables_possible": outcome.tables_possible,
            "objective": outcome.objective,
            "kkt_residual": outcome.kkt_residual,
            "recall": final.recall,
            "precision": final.precision,
            "nlpl": _finite(final.nlpl_test),
            "bp_restart_gap": _finite(outcome.bp_restart_gap),
            "converged": outcome.converged,
            "stop_reason": outcome.stop_reason,
            "variables": run.table.n_variables,
            "rows": run.table.n_rows,
            "rows_held_out": 0 if run.test is None else run.test.n_rows,
        },
    }


def _finite(value: float | None) -> float | None:
    """Return the value, or None if it is not finite."""
    return value if value is None or math.isfinite(value) else None


class Curve(NamedTuple):
    """Learning curve of one run.

    Attributes
    ----------
    part : LearnerPart
    points : dict
        Values by measure, one per recorded step; the first is that of the model without edges.
    end : dict
        Final values; seconds, tests and tables are those up to the last activation.
    """

    part: LearnerPart
    points: dict[str, list[Any]]
    end: dict[str, Any]

    @property
    def alpha(self) -> float | None:
        """α of best-choice; None for the baselines."""
        return self.part.method.alpha


def curves(results: Results) -> list[Curve]:
    """Return the curves among the results."""
    return [
        Curve(part, result["points"], result["end"])
        for part, result in results.items()
        if isinstance(part, LearnerPart)
    ]


def panels(results: Results) -> list[Panel]:
    """Return the measured panels in order."""
    return list(dict.fromkeys(curve.part.panel for curve in curves(results)))


def curve_of(results: Results, panel: Panel, name: str) -> Curve:
    """Return the curve of a method in a panel for the first seed.

    Raises
    ------
    NotMeasured
        If there is none.
    """
    for curve in curves(results):
        if curve.part.panel == panel and curve.part.method.name == name:
            return curve
    raise NotMeasured(f"{name} with {panel.title} was not measured.")


def by_alpha(results: Results, panel: Panel) -> list[Curve]:
    """Return the curves of best-choice with the hub rule in a panel, by increasing α.

    Raises
    ------
    NotMeasured
        If there are fewer than two.
    """
    found = [
        curve
        for curve in curves(results)
        if curve.part.panel == panel
        and curve.alpha is not None
        and not curve.part.method.name.endswith(WITHOUT_HUBS)
    ]
    if len(found) < 2:
        raise NotMeasured(f"Best-choice with {panel.title} was not measured for two α.")
    return sorted(found, key=lambda curve: curve.alpha or 0.0)


def ratio_to_edge_grafting(results: Results, curve: Curve, quantity: str) -> float | None:
    """Return the final quantity relative to edge grafting in the same panel, if measured."""
    try:
        whole = curve_of(results, curve.part.panel, EDGE_GRAFTING).end[quantity]
    except NotMeasured:
        return None
    return float(curve.end[quantity] / whole) if whole else None


def parts_of(
    shown: Sequence[Panel], methods: Sequence[Method], seed: int, *, repeats: int, held_out: bool
) -> Iterator[LearnerPart]:
    """Yield the runs of all methods in all panels with `repeats` seeds."""
    for panel in shown:
        for k in range(repeats):
            for method in methods:
                yield LearnerPart(panel, method, seed + k, held_out)


def summaries(results: Results) -> list[dict[str, Any]]:
    """Return the final values of every run, also relative to edge grafting."""
    rows = []
    for curve in curves(results):
        ratios: Mapping[str, float | None] = {
            f"{name}_to_edge_grafting": ratio_to_edge_grafting(results, curve, name)
            for name in ("seconds", "tests", "tables")
        }
        rows.append(
            {
                "panel": curve.part.panel.title,
                "method": curve.part.method.name,
                "seed": curve.part.seed,
                **curve.end,
                **ratios,
            }
        )
    return rows
