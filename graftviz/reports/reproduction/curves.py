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
import pandas as pd
import plotly.graph_objects as go
from scipy.stats import gmean

from graftviz.data.table import DiscreteTable
from graftviz.evaluation.benchmarks.bench import LAM, LAM2, Size
from graftviz.learning.base import Learner
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.edge_grafting import EdgeGrafting, FirstHit
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import Step
from graftviz.reports.reproduction.claims import (
    Check,
    Checks,
    Frame,
    NotMeasured,
    Row,
    Series,
    changes,
    rank_correlation,
)
from graftviz.reports.reproduction.data import GENERATED, Data
from graftviz.reports.reproduction.experiment import MeasuringTask, Part
from graftviz.reports.reproduction.figures import (
    BASELINE_LOOKS,
    Line,
    Look,
    learning_curves,
    scale_look,
)
from graftviz.reports.words.outcomes import remark_words
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
    warm_up = partial(_warm_up, size, learner)
    return Part(columns, measure, work, settings, size.source, warm_up=warm_up)


def _warm_up(size: Size, learner: Learner, data: Data) -> None:
    """Learn a few edges from tiny data."""
    problem = data.problem(size.tiny())
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


def look_of(method: str, alpha: float | None, hubs: bool) -> Look:
    """Return the line style of a method, the same in all figures."""
    if pd.isna(alpha):
        return BASELINE_LOOKS[(EDGE_GRAFTING, FIRST_HIT, AS_WRITTEN).index(method)]
    return scale_look(ALPHAS.index(alpha), faint=not hubs)


def _with_baseline(rows: Frame) -> Frame:
    """Return the runs with their ratios to edge grafting on the same data; NaN without it."""
    same, works = ["panel", "seed"], ["seconds", "tests", "tables"]
    whole = rows.loc[rows["method"] == EDGE_GRAFTING, [*same, *works]]
    beside = rows[same].merge(whole, "left", on=same)[works].astype(float).set_axis(rows.index)
    ratios = rows[works].astype(float) / beside.where(beside != 0.0)
    return rows.join(ratios.add_suffix("_to_edge_grafting")).assign(whole=beside["seconds"])


def draw_curves(
    title: str, rows: Frame, *, quantities: Sequence[str], axis: str = "ratio"
) -> go.Figure:
    """Draw the curves of the first seed, with one row of plots for each quantity.

    `axis` is the initial horizontal axis, a key of
    :data:`graftviz.reports.reproduction.figures.AXES`.
    """
    panels: dict[str, dict[str, list[Line]]] = {}
    for name, here in _with_baseline(rows).groupby("title", sort=False):
        first = here[here["seed"] == here["seed"].min()]
        panels[name] = {}
        for quantity, (weights, shown) in itertools.product(
            quantities, first.groupby("weights", sort=False)
        ):
            lines = [_line(row, quantity) for row in shown.itertuples()]
            lines = [line for line in lines if line.y[-1] is not None]
            if lines:
                panels[name][f"{QUANTITIES[quantity]}<br>{weights}"] = lines
    return learning_curves(title, panels, axis=axis)


def _line(row: Any, quantity: str) -> Line:
    x = {name: row.points[name] for name in ("seconds", "tests", "tables", "edges")}
    if row.whole > 0.0:
        x["ratio"] = [seconds / row.whole for seconds in x["seconds"]]
    return Line(row.method, x, row.points[quantity], look_of(row.method, row.alpha, row.hubs))


def curve_table(rows: Frame) -> Frame:
    """Return one row for every point of every curve."""
    curves = []
    for row in _with_baseline(rows).itertuples():
        points = pd.DataFrame(row.points, dtype=object)
        points = points.assign(time_to_edge_grafting=points["seconds"] / row.whole)
        place = pd.DataFrame(
            {"panel": row.panel, "method": row.method, "seed": row.seed}, points.index
        )
        curves.append(place.join(points))
    return pd.concat(curves)


def run_table(rows: Frame) -> Frame:
    """Return the final values of every run, also relative to edge grafting."""
    return _with_baseline(rows).drop(columns=["points", "whole"])


# --- checks -------------------------------------------------------------------------------------


def _mean_runs(rows: Frame) -> Frame:
    """Return the means over seeds by method: final values, and the first objective as "start"."""
    starts = [points["objective"][0] for points in rows["points"]]
    values = rows.assign(**rows[[*MEASURES]].astype(float), start=starts)
    how = dict.fromkeys(("weights", "nodes", "alpha", "hubs", "reservoir"), "first")
    how |= dict.fromkeys((*MEASURES, "start"), "mean")
    return values.groupby("method", sort=False).agg(how)


def each_panel(rows: Frame, of_runs: Callable[[Frame], Any]) -> dict[str, Any]:
    """Return a function of the mean runs by method, for each panel."""
    return {name: of_runs(_mean_runs(here)) for name, here in rows.groupby("panel", sort=False)}


def over_alpha(runs: Frame) -> Frame:
    """Return the mean runs of best-choice with the hub rule, by increasing α."""
    found = runs[runs["alpha"].notna() & runs["hubs"]]
    if len(found) < 2:
        raise NotMeasured("Best-choice was not measured for two α.")
    return found.sort_values("alpha")


def _others(runs: Frame) -> Frame:
    """Return edge grafting and best-choice, which first hit is compared with."""
    return pd.concat([runs.loc[[AS_WRITTEN]], over_alpha(runs)])


def _ratios(runs: Frame, quantity: str, baseline: str = AS_WRITTEN) -> Series:
    """Return the ratios of a baseline to the other methods in a quantity, by method."""
    whole = runs.loc[baseline, quantity]
    others = _others(runs) if baseline == FIRST_HIT else over_alpha(runs)
    return whole / others[quantity].clip(lower=1e-9)


def _more(rows: Frame, quantity: str) -> Check:
    words = f"{quantity} of edge grafting as written to those of best-choice"
    return words, each_panel(rows, lambda runs: _ratios(runs, quantity)), "above 1"


def faster(rows: Frame) -> Checks:
    """Check that best-choice takes less time than edge grafting."""
    yield _more(rows, "seconds")
    yield (
        "the same of edge grafting that scores only what could be the best",
        each_panel(rows, lambda runs: _ratios(runs, "seconds", EDGE_GRAFTING)),
    )


def fewer(rows: Frame) -> Checks:
    """Check that best-choice makes fewer tests and counts fewer tables."""
    yield _more(rows, "tests")
    yield _more(rows, "tables")
    yield (
        "edges in the reservoir at the first activation, and |R|",
        each_panel(rows, lambda runs: over_alpha(runs)["reservoir"].iloc[-1]),
    )


def gap_grows(rows: Frame) -> Checks:
    """Check that the mean over α of the ratio to edge grafting grows with the variables."""

    def means(here: Frame, quantity: str) -> Series:
        sizes = here.groupby("nodes", sort=False)
        if len(sizes) < 2:
            raise NotMeasured("One size alone cannot show how the advantage grows.")
        found = {f"n = {n}": gmean(_ratios(_mean_runs(of_n), quantity)) for n, of_n in sizes}
        return pd.Series(found)

    seconds = _by_weights(rows, lambda here: means(here, "seconds"))
    grown = {weights: changes(by_n) for weights, by_n in seconds.items()}
    yield "growth of the mean ratio of seconds", grown, "above 0"
    yield "mean ratio of seconds of edge grafting as written to best-choice's", seconds
    yield "mean ratio of tests", _by_weights(rows, lambda here: means(here, "tests"))


def _by_weights(rows: Frame, of_rows: Callable[[Frame], Any]) -> dict[str, Any]:
    return {weights: of_rows(here) for weights, here in rows.groupby("weights", sort=False)}


def many_times_as_long(rows: Frame, *, times: float, nodes: int) -> Checks:
    """Check that edge grafting takes about `times` as long with `nodes` variables."""
    rows = rows[rows["nodes"] == nodes]
    if rows.empty:
        raise NotMeasured(f"{nodes} variables were not measured; --scale paper has them.")
    ratios = _by_weights(rows, lambda here: _ratios(_mean_runs(here), "seconds"))
    medians = {weights: of_alpha.median() for weights, of_alpha in ratios.items()}
    yield f"median over α of the ratio of seconds with {nodes} variables", medians, "above 1.5"
    yield "the same, nearly as stated", medians, f"at least {0.8 * times:g}"
    yield "ratios of seconds", ratios


def _of_methods(rows: Frame, *quantities: str) -> Checks:
    """Report final quantities of all methods."""
    runs = rows.groupby(["panel", "method"], sort=False)
    return (
        (name, runs[name].agg(lambda values: values.astype(float).mean())) for name in quantities
    )


def same_objective(rows: Frame) -> Checks:
    """Check that all methods reach the same objective on the same data."""
    gaps = {}
    for name, here in rows.groupby("panel", sort=False):
        ends = here.groupby("seed")["objective"].agg(["max", "min", "size"])
        ends = ends[ends["size"] > 1]
        gaps[name] = (ends["max"] / ends["min"] - 1.0).max()
    yield "relative difference of objectives", gaps, "at most 0.001"
    yield from _of_methods(rows, "objective")
    converged = rows.groupby(["panel", "method"], sort=False)["converged"].all()
    yield "proved to have converged", converged


def first_hit_last(rows: Frame) -> Checks:
    """Check that first hit takes longer than all others."""
    ratios = each_panel(rows, lambda runs: _ratios(runs, "seconds", FIRST_HIT))
    yield "seconds of first hit to those of others", ratios, "above 1"


def _descended(runs: Frame, per_table: float) -> Series:
    """Return the share of its descent that best-choice has done at edge grafting's first edge.

    Counting a pair table takes `per_table` seconds longer than measured.
    """

    def seconds(points: Row) -> np.ndarray:
        return np.array(points["seconds"]) + per_table * np.array(points["tables"])

    def share(points: Row) -> float:
        objective = np.array(points["objective"])
        whole = objective[0] - objective[-1]
        reached = objective[seconds(points) <= start][-1]
        return float((objective[0] - reached) / whole) if whole > 0 else 1.0

    exhaustive = runs.loc[AS_WRITTEN, "points"]
    start = seconds(exhaustive)[int(np.argmax(np.array(exhaustive["edges"]) > 0))]
    return over_alpha(runs)["points"].map(share)


def starts_late(rows: Frame, *, per_table: float = 0.0) -> Checks:
    """Check that best-choice has nearly converged at edge grafting's first edge."""
    shares = {}
    for name, here in rows.groupby("panel", sort=False):
        seeds = [
            _descended(runs.set_index("method"), per_table) for _, runs in here.groupby("seed")
        ]
        shares[name] = pd.DataFrame(seeds).mean()
    yield (
        "largest share of its descent that best-choice has done at edge grafting's first edge",
        {name: by_alpha.max() for name, by_alpha in shares.items()},
        "at least 0.9",
    )
    yield "shares by α", shares


def better_with_alpha(rows: Frame, *, quantity: str) -> Checks:
    """Check that a larger α gives a better final `quantity` and takes longer."""
    is_recall = quantity == "recall"

    def improves(runs: Frame) -> bool:
        values = over_alpha(runs)[quantity].to_numpy()
        slack = _SLACK[quantity] * (1.0 if is_recall else abs(values[0]))
        gains = np.diff(values) * (1.0 if is_recall else -1.0)
        return bool(gains.sum() > 0.0 and (gains >= -slack).all())

    def longer(runs: Frame) -> float:
        seconds = over_alpha(runs)["seconds"]
        return float(seconds.iloc[-1] / seconds.iloc[0])

    yield f"{quantity} improves with every α", each_panel(rows, improves), "true"
    words = "seconds of the largest α to those of the smallest"
    yield words, each_panel(rows, longer), "above 1"
    yield from _of_methods(rows, quantity, "seconds", "tests")


def quick_but_poor(rows: Frame, *, quantity: str) -> Checks:
    """Check that first hit finishes first, with the worst value of `quantity`."""

    def worse(runs: Frame) -> int:
        first, others = runs.loc[FIRST_HIT, quantity], _others(runs)[quantity]
        return int((others < first if quantity == "recall" else others > first).sum())

    def sooner(runs: Frame) -> int:
        return int((_others(runs)["seconds"] < runs.loc[FIRST_HIT, "seconds"]).sum())

    words = f"methods with a worse {quantity} than first hit"
    yield words, each_panel(rows, worse), "at most 0"
    yield "methods that reach the limit sooner", each_panel(rows, sooner), "at most 0"
    yield from _of_methods(rows, quantity, "seconds", "tests")


def small_loss(rows: Frame) -> Checks:
    """Check that α matters less for the objective than for recall."""

    def descent(runs: Frame) -> float:
        whole = runs.loc[AS_WRITTEN]
        lost = np.ptp(over_alpha(runs)["objective"])
        return float(lost / (whole["start"] - whole["objective"]))

    def recall(runs: Frame) -> float:
        recalls = over_alpha(runs)["recall"]
        return float(np.ptp(recalls) / max(recalls.max(), 1e-12))

    yield (
        "share of the descent less that of recall between the best and the worst α",
        each_panel(rows, lambda runs: descent(runs) - recall(runs)),
        "below 0",
    )
    yield "share of the descent", each_panel(rows, descent)
    yield "share of recall", each_panel(rows, recall)


def alpha_matters(rows: Frame) -> Checks:
    """Check that α = 0 ends with a clearly worse objective than α = 1."""

    def lost(runs: Frame) -> float:
        ends = over_alpha(runs)
        first, last = ends["objective"].iloc[[0, -1]]
        return float((first - last) / (ends["start"].iloc[-1] - last))

    words = "share of the descent by which α = 0 ends above α = 1"
    yield words, each_panel(rows, lost), "at least 0.05"


def _along_runs(rows: Frame, of_points: Callable[[Row], float]) -> Series:
    """Return means by panel and method, of all runs of several steps with held-out NLPL."""
    losses = rows["points"].map(lambda points: points["nlpl"])
    long = rows[[None not in losses_of_run and len(losses_of_run) > 2 for losses_of_run in losses]]
    values = long.assign(value=long["points"].map(of_points).astype(float))
    return values.groupby(["panel", "method"], sort=False)["value"].mean()


def correlated(rows: Frame) -> Checks:
    """Check that objective and held-out NLPL fall together."""
    correlations = _along_runs(
        rows, lambda points: rank_correlation(points["objective"], points["nlpl"])
    )
    words = "rank correlation of objective and held-out NLPL along a run"
    yield words, correlations, "at least 0.9"


def no_overfitting(rows: Frame) -> Checks:
    """Check that the held-out NLPL hardly rises on the way to the end."""
    rises = _along_runs(rows, lambda points: points["nlpl"][-1] / min(points["nlpl"]) - 1.0)
    words = "relative rise of the held-out NLPL from its lowest value on the way to the end"
    yield words, rises, "at most 0.01"


def hubs_help(rows: Frame) -> Checks:
    """Check that the hub rule recovers more edges, up to the edges that all runs reach."""
    without_and_with = {}
    for name, here in rows.groupby("panel", sort=False):
        grid = np.linspace(0, min(points["edges"][-1] for points in here["points"]), 200)
        recalls = [
            np.interp(grid, points["edges"], points["recall"]).mean() for points in here["points"]
        ]
        areas = here.assign(area=recalls).pivot_table("area", "alpha", "hubs", sort=False).dropna()
        without_and_with[name] = {
            f"α = {alpha:g}": [both[False], both[True]] for alpha, both in areas.iterrows()
        }
    gains = {
        name: {alpha: recalls[1] - recalls[0] for alpha, recalls in areas.items()}
        for name, areas in without_and_with.items()
    }
    words = "change of the mean recall over all numbers of edges by the hub rule"
    yield words, gains, "above 0.01"
    yield "mean recall without and with", without_and_with
