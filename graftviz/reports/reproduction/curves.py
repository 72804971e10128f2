"""Learner runs of the papers on edge grafting: measurement, learning curves, and checks."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from scipy.stats import gmean

from graftviz.data.table import DiscreteTable
from graftviz.evaluation.benchmarks.bench import LAM, LAM2, Size
from graftviz.learning.base import Learner
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.edge_grafting import EdgeGrafting, FirstHit
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import Step
from graftviz.reports.reproduction.claims import Cases, Check
from graftviz.reports.reproduction.data import GENERATED, Data
from graftviz.reports.reproduction.experiment import MeasuringTask, Part
from graftviz.reports.reproduction.figures import (
    BASELINE_LOOKS,
    CurvePanel,
    Line,
    Look,
    learning_curves,
    scale_look,
)
from graftviz.reports.reproduction.rows import Row, Table, Values
from graftviz.reports.reproduction.statistics import NotMeasured, rank_correlation
from graftviz.reports.words.remarks import remark_words
from graftviz.utils.files import json_value
from graftviz.utils.options import attributes, option_values

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
EDGE_GRAFTING, FIRST_HIT = "edge grafting", "first hit"
AS_WRITTEN = "edge grafting as written"  # the paper's, which scores every edge at every step
POINTS = 240  # largest number of points of a curve
MEASURES = ("seconds", "tests", "tables", "edges", "objective", "recall", "nlpl")
QUANTITIES = {
    "objective": "objective (nats per row)",
    "nlpl": "held-out NLPL (nats per row)",
    "recall": "recall of true edges",
}
# Pairs of λ and λ₂: of the package's benchmark, the λ that the papers' procedure selects, and both.
WEIGHTS = ((LAM, LAM2), (1e-4, LAM2), (1e-4, 0.5))
SETTINGS = {
    "lam and lam2": WEIGHTS,
    "why": "The first pair is that of the package's benchmark. The papers choose from a grid, of "
    "which (10⁻⁴, 0.5) is best here (best-choice-tuning); the second pair separates the effect of "
    "λ from that of λ₂. On real data only the first is used.",
    "times": "processor seconds up to the last activation; ratios are to edge grafting",
}
# Other programs on the machine disturb short runs, so the fastest of some repetitions counts.
_SHORT_SECONDS, _REPETITIONS = 1.0, 3
_WORK_OF_ALL_EDGES = 12  # edges per variable at which λ typically ends a run without a budget
_SLACK = {"objective": 0.002, "nlpl": 0.005, "recall": 0.01}  # differences that are ignored


class Method(NamedTuple):
    """Learner with all options except the edge budget; α is None for the baselines."""

    name: str
    learner: Learner
    alpha: float | None = None
    hubs: bool = True


# Online edge grafting of the thesis: all pairs are queued at the start, and the first filling
# continues until the reservoir is full.
ONLINE: Mapping[str, Any] = {"full_queue": True, "first_tests": 100_000_000}


def best_choice(alpha: float, *, hubs: bool | None = None, **options: Any) -> Method:
    """Return best-choice grafting by the preset paper, with options that differ from it."""
    learner = BestChoice(**{"alpha": alpha, "preset": "paper", "hubs": hubs, **options})
    name = f"α = {alpha:g}{', no hub rule' if hubs is False else ''}"
    return Method(name, learner, alpha, hubs is not False)


def baselines() -> tuple[Method, Method, Method]:
    """Return edge grafting, also as written, and first hit with the settings of the paper."""
    return (
        Method(EDGE_GRAFTING, EdgeGrafting(preset="paper")),
        Method(AS_WRITTEN, EdgeGrafting(preset="paper", rescoring="all")),
        Method(FIRST_HIT, FirstHit(preset="paper")),
    )


def all_methods(**options: Any) -> tuple[Method, ...]:
    """Return the methods of most figures: the baselines, and best-choice at five α."""
    return (*baselines(), *(best_choice(alpha, **options) for alpha in ALPHAS))


def hub_methods(**options: Any) -> tuple[Method, ...]:
    """Return best-choice at five α with and without the hub rule."""
    return tuple(
        best_choice(alpha, hubs=hubs, **options) for alpha in ALPHAS for hubs in (True, False)
    )


class Panel(NamedTuple):
    """Data size, edge budget (None: until no inactive edge violates), λ and λ₂ of one panel."""

    size: Size
    edges: int | None
    lam: float = LAM
    lam2: float = LAM2

    @property
    def weights(self) -> str:
        """λ and λ₂ as text."""
        return f"λ = {self.lam:g}, λ₂ = {self.lam2:g}"

    @property
    def title(self) -> str:
        """Size and budget in the terms of the papers."""
        nodes = f"{self.size.nodes:,} nodes"
        if self.size.source != GENERATED:
            nodes = f"{self.size.source.capitalize()}, {self.size.nodes:,} variables"
        return f"{nodes}, {self.edges:,} edges" if self.edges else f"{nodes}, to convergence"

    def learner(self, method: Method) -> Learner:
        """Return the method's learner with the edge budget and the penalty of this panel."""
        possible = math.comb(self.size.nodes, 2)
        edges = self.edges and min(self.edges, possible)
        if edges is None and method.learner.edge_budget(self.size.nodes) < possible:
            edges = possible  # a preset of the papers would set a budget
        options = {"max_edges": edges, "lam": self.lam, "lam2": self.lam2}
        return dataclasses.replace(method.learner, **options)


def learner_runs(
    seed: int,
    panels: Sequence[Panel],
    *,
    methods: Sequence[Method],
    repeats: int = 1,
    held_out: bool = True,
) -> Iterator[Part]:
    """Yield one run for every panel, seed and method; `held_out` evaluates rows after each step."""
    for panel, k, method in itertools.product(panels, range(repeats), methods):
        yield learner_run(panel, method, seed + k, held_out=held_out)


def learner_run(panel: Panel, method: Method, seed: int, *, held_out: bool = True) -> Part:
    """Return a run of one learner; the seed is also that of generated or reduced data."""
    size = dataclasses.replace(panel.size, seed=seed)
    learner = panel.learner(method)
    settings: Row = {"data": dataclasses.asdict(size), "options": option_values(learner)}
    settings |= {"held_out": held_out}
    columns: Row = {"panel": f"{panel.title}, {panel.weights}", "method": method.name}
    columns |= {"seed": seed, "nodes": size.nodes}
    columns |= {"title": panel.title, "weights": panel.weights}
    columns |= attributes(method, "alpha", "hubs")
    measure = partial(_measure, size, learner, seed, held_out)
    work = panel.edges or _WORK_OF_ALL_EDGES * size.nodes
    rehearse = partial(_rehearse, size, learner)
    return Part(columns, measure, work, settings, size.source, rehearse=rehearse)


def _rehearse(size: Size, learner: Learner, data: Data) -> None:
    """Learn a few edges from tiny data."""
    problem = data.problem(size.rehearsal())
    few = dataclasses.replace(learner, **{"max_edges": 3})
    _finish(LearningRun(problem.train, few, test=problem.test, truth=problem.truth))


def _finish(run: LearningRun, callback: Callable[[], None] = lambda: None) -> LearningRun:
    while run.advance():
        callback()
    return run


def _measure(
    size: Size, learner: Learner, seed: int, held_out: bool, task: MeasuringTask
) -> list[Row]:
    """Learn, and return one row with the curves and the times of the fastest repetition."""
    problem = task.data.problem(size)
    test = problem.test if held_out else None
    run = LearningRun(problem.train, learner, seed=seed, test=test, truth=problem.truth)
    _finish(run, lambda: task.progress(run.steps[-1].n_edges))
    times = [_timed(problem.train, learner, seed)]
    while times[0] and times[0][-1] < _SHORT_SECONDS and len(times) < _REPETITIONS:
        times.append(_timed(problem.train, learner, seed))
    # A run without steps has no times.
    return [_recorded(run, min(times, key=lambda seconds: seconds[-1] if seconds else 0.0))]


def _timed(train: DiscreteTable, learner: Learner, seed: int) -> list[float]:
    """Return processor times after every step of the same run without evaluation."""
    started, times = time.process_time(), list[float]()
    _finish(
        LearningRun(train, learner, seed=seed), lambda: times.append(time.process_time() - started)
    )
    return times


def _recorded(run: LearningRun, times: Sequence[float]) -> Row:
    """Return the end of a finished run and its thinned-out curves, as lists by measure.

    The first point is the model without edges. The seconds are those of `times`, after every step.
    """
    found, taken = run.result(), run.steps
    count = len(taken)
    first = taken[0].previous_objective if taken else found.objective
    at_start = (first, found.start.recall, found.start.nlpl_test)
    points: list[tuple[Any, ...]] = [(0.0, 0, 0, 0, *at_start)]
    if taken and taken[0].tables_counted == taken[0].tables_possible:
        # A learner that counts all pairs first has no edge until then.
        seconds = taken[0].seconds
        counting = times[0] * seconds.statistics / max(seconds.total, 1e-9)
        points.append((counting, 0, taken[0].tables_possible, 0, *at_start))
    shown = np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(int))
    for k in shown.tolist():
        step, metrics = taken[k], found.metrics[k]
        work = (times[k], step.tests_total, step.tables_counted, step.n_edges)
        points.append((*work, step.objective, metrics.recall, metrics.nlpl_test))
    columns = zip(MEASURES, zip(*points, strict=True), strict=True)
    return {
        "points": {name: json_value(values) for name, values in columns},
        "steps": count,
        "seconds": times[-1] if taken else found.seconds.total,
        "tables": taken[-1].tables_counted if taken else found.tables_counted,
        "tests": found.tests,
        "features": int(np.count_nonzero(found.model.weights[found.model.cardinalities.sum() :])),
        "reservoir": _occupancy(taken[0]) if taken else None,
        "edges": found.n_edges,
        **attributes(found, "tables_possible", "objective", "kkt_residual"),
        **attributes(found, "recall", "precision", "converged"),
        "stop_reason": remark_words(found.trace.stop_reason),
        "nlpl": json_value(found.nlpl_test),
        "bp_restart_gap": json_value(found.bp_restart_gap),
        "variables": found.n_variables,
        "rows": found.n_rows,
        "rows_held_out": found.n_rows_test,
    }


def _occupancy(step: Step) -> list[int] | None:
    """Return the number of edges in the reservoir, and |R|."""
    view = step.reservoir
    return None if view is None else [len(view.scores), view.capacity]


# --- figure and tables --------------------------------------------------------------------------


def look_of(row: Row) -> Look:
    """Return the line style of a method, the same in all figures."""
    if row["alpha"] is None:
        return BASELINE_LOOKS[(EDGE_GRAFTING, FIRST_HIT, AS_WRITTEN).index(row["method"])]
    return scale_look(ALPHAS.index(row["alpha"]), faint=not row["hubs"])


def draw_curves(
    title: str, rows: Table, *, quantities: Sequence[str], axis: str = "ratio"
) -> go.Figure:
    """Draw the curves of the first seed, with one row of plots for each quantity.

    `axis` is the initial horizontal axis, a key of
    :data:`graftviz.reports.reproduction.figures.AXES`.
    """
    charts = []
    for name, here in rows.group("title").items():
        first = here.where(seed=min(here.column("seed")))
        lines = {}
        for key, (weights, shown) in itertools.product(quantities, first.group("weights").items()):
            drawn = [_line(row, key, rows) for row in shown if row["points"][key][-1] is not None]
            if drawn:
                lines[f"{QUANTITIES[key]}<br>{weights}"] = drawn
        charts.append(CurvePanel(name, lines))
    return learning_curves(title, charts, axis=axis)


def _whole(row: Row, rows: Table) -> Row:
    """Return the run of edge grafting on the same data, or an empty row if not measured."""
    same = rows.where(panel=row["panel"], seed=row["seed"], method=EDGE_GRAFTING)
    return next(iter(same), {})


def _line(row: Row, quantity: str, rows: Table) -> Line:
    points, whole = row["points"], _whole(row, rows)
    x = {name: points[name] for name in ("seconds", "tests", "tables", "edges")}
    if whole.get("seconds"):
        x["ratio"] = [seconds / whole["seconds"] for seconds in points["seconds"]]
    return Line(row["method"], x, points[quantity], look_of(row))


def curve_table(rows: Table) -> Iterator[Row]:
    """Yield one row for every point of every curve."""
    for row in rows:
        seconds = _whole(row, rows).get("seconds")
        for values in zip(*row["points"].values(), strict=True):
            point = dict(zip(row["points"], values, strict=True))
            yield {
                **{name: row[name] for name in ("panel", "method", "seed")},
                **point,
                "time_to_edge_grafting": point["seconds"] / seconds if seconds else None,
            }


def run_table(rows: Table) -> Iterator[Row]:
    """Yield the final values of every run, also relative to edge grafting."""
    for row in rows:
        whole = _whole(row, rows)
        ratios = {
            f"{name}_to_edge_grafting": row[name] / whole[name] if whole.get(name) else None
            for name in ("seconds", "tests", "tables")
        }
        yield {key: value for key, value in row.items() if key != "points"} | ratios


# --- checks -------------------------------------------------------------------------------------


def each_panel(of_panel: Callable[[Table], Any]) -> Cases:
    """Return cases by panel."""
    return lambda rows: rows.group("panel").map(of_panel)


def over_alpha(rows: Table) -> Table:
    """Return the means of best-choice with the hub rule in a panel, by increasing α."""
    runs = Table(row for row in rows if row["alpha"] is not None and row["hubs"])
    found = Table(map(_mean_run, runs.group("method").values()))
    if len(found) < 2:
        raise NotMeasured("Best-choice was not measured for two α.")
    return found.by("alpha")


def the_run(rows: Table, method: str) -> Row:
    """Return the mean of the runs of a method in a panel."""
    return _mean_run(rows.group("method")[method])


def _mean_run(rows: Table) -> Row:
    """Return the first run, with the means of its final values and of the first objective."""
    starts = [row["points"]["objective"][0] for row in rows]
    means = {
        name: float(np.mean(rows.column(name))) for name in MEASURES if rows[0][name] is not None
    }
    return {**rows[0], **means, "start": float(np.mean(starts))}


def _over_seeds(of_seed: Callable[[Table], dict[str, float]]) -> Callable[[Table], Values]:
    """Return a function of the means over seeds of values by method."""

    def means(rows: Table) -> Values:
        found = [of_seed(here) for here in rows.group("seed").values()]
        return Values({key: float(np.mean([one[key] for one in found])) for key in found[0]})

    return means


def _by_weights(of_weights: Callable[[Table], Any]) -> Cases:
    """Return cases by λ and λ₂."""

    def cases(rows: Table) -> Values:
        return rows.group("weights").map(of_weights)

    return cases


def _others(rows: Table) -> Table:
    """Return edge grafting and best-choice, which first hit is compared with."""
    return Table([the_run(rows, AS_WRITTEN), *over_alpha(rows)])


def of_methods(quantity: str) -> Check:
    """Report a final quantity of all methods."""
    return quantity, lambda rows: rows.nested(quantity, "panel", "method")


def _ratios(rows: Table, quantity: str, baseline: str = AS_WRITTEN) -> dict[str, float]:
    """Return the ratios of a baseline to the other methods in a quantity, by method."""
    whole = the_run(rows, baseline)[quantity]
    others = _others(rows) if baseline == FIRST_HIT else over_alpha(rows)
    return {row["method"]: whole / max(row[quantity], 1e-9) for row in others}


def _more(quantity: str) -> Check:
    words = f"{quantity} of edge grafting as written to those of best-choice"
    return words, each_panel(lambda rows: _ratios(rows, quantity)), "above 1"


FASTER: tuple[Check, ...] = (
    _more("seconds"),
    (
        "the same of edge grafting that scores only what could be the best",
        each_panel(lambda rows: _ratios(rows, "seconds", EDGE_GRAFTING)),
    ),
)
FEWER: tuple[Check, ...] = (
    _more("tests"),
    _more("tables"),
    (
        "edges in the reservoir at the first activation, and |R|",
        each_panel(lambda rows: over_alpha(rows)[-1]["reservoir"]),
    ),
)


def _mean_ratios(quantity: str) -> Callable[[Table], Values]:
    """Return a function of the geometric mean over α of the ratios, by number of variables."""

    def means(rows: Table) -> Values:
        sizes = rows.group("nodes")
        if len(sizes) < 2:
            raise NotMeasured("One size alone cannot show how the advantage grows.")
        found = {n: gmean([*_ratios(here, quantity).values()]) for n, here in sizes.items()}
        return Values({f"n = {n}": ratio for n, ratio in found.items()})

    return means


_growth = _by_weights(lambda rows: _mean_ratios("seconds")(rows).steps())
GAP_GROWS: tuple[Check, ...] = (
    ("growth of the mean ratio of seconds", _growth, "above 0"),
    (
        "mean ratio of seconds of edge grafting as written to best-choice's",
        _by_weights(_mean_ratios("seconds")),
    ),
    ("mean ratio of tests", _by_weights(_mean_ratios("tests"))),
)


def many_times_as_long(times: float, nodes: int) -> tuple[Check, ...]:
    """Check that edge grafting takes about `times` as long with `nodes` variables."""

    def ratios(rows: Table) -> dict[str, float]:
        if not rows.where(nodes=nodes):
            raise NotMeasured(f"{nodes} variables were not measured; --scale paper has them.")
        return _ratios(rows.where(nodes=nodes), "seconds")

    def median(rows: Table) -> float:
        return float(np.median([*ratios(rows).values()]))

    medians = _by_weights(median)
    return (
        (f"median over α of the ratio of seconds with {nodes} variables", medians, "above 1.5"),
        ("the same, nearly as stated", medians, f"at least {0.8 * times:g}"),
        ("ratios of seconds", _by_weights(ratios)),
    )


def _objective_gap(rows: Table) -> float | None:
    """Return the largest relative difference of objectives on the same data."""
    samples = [here.column("objective") for here in rows.group("seed").values()]
    gaps = [max(ends) / min(ends) - 1.0 for ends in samples if len(ends) > 1]
    return max(gaps, default=None)


SAME_OBJECTIVE: tuple[Check, ...] = (
    ("relative difference of objectives", each_panel(_objective_gap), "at most 0.001"),
    of_methods("objective"),
    ("proved to have converged", lambda r: r.nested("converged", "panel", "method", of=all)),
)
_first_hits = each_panel(lambda rows: _ratios(rows, "seconds", FIRST_HIT))
FIRST_HIT_LAST: Check = ("seconds of first hit to those of others", _first_hits, "above 1")


def _descended(rows: Table, per_table: float) -> dict[str, float]:
    """Return the share of its descent that best-choice has done at edge grafting's first edge.

    Counting a pair table takes `per_table` seconds longer than measured.
    """

    def seconds(row: Row) -> np.ndarray:
        points = row["points"]
        return np.array(points["seconds"]) + per_table * np.array(points["tables"])

    exhaustive = the_run(rows, AS_WRITTEN)
    start = seconds(exhaustive)[int(np.argmax(np.array(exhaustive["points"]["edges"]) > 0))]
    shares = {}
    for row in over_alpha(rows):
        objective = np.array(row["points"]["objective"])
        reached = objective[seconds(row) <= start][-1]
        whole = objective[0] - objective[-1]
        shares[row["method"]] = (objective[0] - reached) / whole if whole > 0 else 1.0
    return shares


def starts_late(per_table: float = 0.0) -> tuple[Check, ...]:
    """Check that best-choice has nearly converged at edge grafting's first edge."""
    shares = _over_seeds(partial(_descended, per_table=per_table))
    return (
        (
            "largest share of its descent that best-choice has done at edge grafting's first edge",
            each_panel(lambda rows: max(shares(rows).values())),
            "at least 0.9",
        ),
        ("shares by α", each_panel(shares)),
    )


def better_with_alpha(quantity: str) -> tuple[Check, ...]:
    """Check that a larger α gives a better final `quantity` and takes longer."""

    def improves(rows: Table) -> bool:
        values = over_alpha(rows).column(quantity)
        slack = _SLACK[quantity] * (1.0 if quantity == "recall" else abs(values[0]))
        gains = np.diff(values) * (1.0 if quantity == "recall" else -1.0)
        return bool(gains.sum() > 0.0 and (gains >= -slack).all())

    def longer(rows: Table) -> float:
        first, *_, last = over_alpha(rows).column("seconds")
        return float(last / first)

    return (
        (f"{quantity} improves with every α", each_panel(improves), "true"),
        ("seconds of the largest α to those of the smallest", each_panel(longer), "above 1"),
        *(of_methods(name) for name in (quantity, "seconds", "tests")),
    )


def quick_but_poor(quantity: str) -> tuple[Check, ...]:
    """Check that first hit finishes first, with the worst value of `quantity`."""

    def larger(name: str, sign: float) -> Cases:
        def count(rows: Table) -> int:
            first = the_run(rows, FIRST_HIT)[name]
            return sum(sign * value > sign * first for value in _others(rows).column(name))

        return each_panel(count)

    worse = larger(quantity, -1.0 if quantity == "recall" else 1.0)
    return (
        (f"methods with a worse {quantity} than first hit", worse, "at most 0"),
        ("methods that reach the limit sooner", larger("seconds", -1.0), "at most 0"),
        *(of_methods(name) for name in (quantity, "seconds", "tests")),
    )


def _lost_descent(rows: Table) -> float:
    whole = the_run(rows, AS_WRITTEN)
    lost = np.ptp(over_alpha(rows).column("objective"))
    return float(lost / (whole["start"] - whole["objective"]))


def _lost_recall(rows: Table) -> float:
    recalls = over_alpha(rows).column("recall")
    return float(np.ptp(recalls) / max(*recalls, 1e-12))


def _lost_with_no_alpha(rows: Table) -> float:
    first, *_, last = over_alpha(rows)
    descent = last["start"] - last["objective"]
    return float((first["objective"] - last["objective"]) / descent)


SMALL_LOSS: tuple[Check, ...] = (
    (
        "share of the descent less that of recall between the best and the worst α",
        each_panel(lambda rows: _lost_descent(rows) - _lost_recall(rows)),
        "below 0",
    ),
    ("share of the descent", each_panel(_lost_descent)),
    ("share of recall", each_panel(_lost_recall)),
)
ALPHA_MATTERS: Check = (
    *("share of the descent by which α = 0 ends above α = 1", each_panel(_lost_with_no_alpha)),
    "at least 0.05",
)


def _along_runs(value: Callable[[dict[str, list[float]]], float]) -> Cases:
    """Return means by panel and method, of all runs of several steps with held-out NLPL."""

    def cases(rows: Table) -> Values:
        evaluated = (row for row in rows if None not in row["points"]["nlpl"])
        long = Table(row for row in evaluated if len(row["points"]["nlpl"]) > 2)
        mean_of = partial(_mean_of, value)
        return long.nested("points", "panel", "method", of=mean_of)

    return cases


def _mean_of(value: Callable[[Any], float], curves: Sequence[Any]) -> float:
    return float(np.mean([value(curve) for curve in curves]))


CORRELATED: Check = (
    "rank correlation of objective and held-out NLPL along a run",
    _along_runs(lambda points: rank_correlation(points["objective"], points["nlpl"])),
    "at least 0.9",
)
NO_OVERFITTING: Check = (
    "relative rise of the held-out NLPL from its lowest value on the way to the end",
    _along_runs(lambda points: points["nlpl"][-1] / min(points["nlpl"]) - 1.0),
    "at most 0.01",
)


def _areas(rows: Table) -> Values:
    """Return the mean recall without and with the hub rule, up to the edges that all runs reach."""
    points = rows.column("points")
    grid = np.linspace(0, min(one["edges"][-1] for one in points), 200)
    areas = rows.nested(
        *("points", "alpha", "hubs"),
        of=lambda runs: np.mean([np.interp(grid, one["edges"], one["recall"]) for one in runs]),
    )
    return Values({f"α = {x:g}": [a[False], a[True]] for x, a in areas.items() if len(a) == 2})


_gains = each_panel(lambda rows: _areas(rows).map(lambda both: both[1] - both[0]))
HUBS_HELP: tuple[Check, ...] = (
    ("change of the mean recall over all numbers of edges by the hub rule", _gains, "above 0.01"),
    ("mean recall without and with", each_panel(_areas)),
)
