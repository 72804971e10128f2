"""Tables of runs, models and rows as CSV and data frames.

A cell is empty if a value does not apply. Floats are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.inspection import (
    STATUS_WORDS,
    ModelDifference,
    degree_ranks,
    entropies,
    mutual_informations,
    strongest_partners,
    total_variations,
)
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.reading import ModelFormat
from graftviz.reports.files.table_csv import shown_cell
from graftviz.reports.words.inspection import most_likely_states
from graftviz.utils.files import csv_text

if TYPE_CHECKING:  # the process that reads models needs neither learners nor numba
    from graftviz.evaluation.race import Race
    from graftviz.evaluation.reservoir import RankedStep
    from graftviz.evaluation.selection.intervals import EdgeIntervals
    from graftviz.evaluation.selection.path import LamPath
    from graftviz.evaluation.selection.stability import EdgeStability
    from graftviz.inference.local.marginal import RegionStep
    from graftviz.learning.observer import StepMetrics
    from graftviz.learning.run import LearningResult
    from graftviz.learning.trace import History, Step


# --- tables of runs -------------------------------------------------------------------------------

EDGE_COLUMNS = ("source", "target", "weight_norm", "step")
FEATURE_COLUMNS = ("features", "features_possible")
TRACE_COLUMNS = (
    *("step", "edges", "activated", "objective", "kkt_residual"),
    *("recall", "precision", "nlpl_test", "tests", "tables_counted"),
    *("reservoir_size", "reservoir_mean", "tau", "reservoir_max"),
    *("queue", "frozen", "unseen", "hubs", "seconds"),
)
PATH_COLUMNS = (
    *("lam", "edges", "weights", "objective", "nlpl_train", "nlpl_held_out", "ebic"),
    *("recall", "precision", "f1"),
)
INTERVAL_COLUMNS = ("strength_low", "strength_high")
STABILITY_COLUMNS = (
    *("source", "target", "frequency", "in_model", "frequency_low", "frequency_high"),
    *INTERVAL_COLUMNS,
)
RESERVOIR_COLUMNS = ("step", "place", "source", "target", "score")
RACE_COLUMNS = (
    *("racer", "step", "end", "seconds", "tests", "tables_counted", "edges"),
    *("objective", "recall", "precision", "nlpl_test"),
)
# Columns of the steps of a run under a bound: keys of their records.
_BOUNDED = {
    "complexity": "value",
    "width": "width",
    "infeasible": "infeasible",
    "gradient": "norm",
    "nll": "nll",
}


def edges_csv(result: LearningResult, stability: EdgeStability | None = None) -> str:
    """Return one line per edge in order of activation: two names, zero-sum ‖w_ij‖₂, its step.

    If `stability` is passed, further columns hold the share of subsamples in which the edge was
    found, and the 95 % intervals of that share and of the norm. If the run activated single
    features, two more columns hold the number of active and of all features of the edge.
    """
    names = result.model.names
    edges = result.model.edges.tolist()
    columns: list[list[Any]] = [
        [names[i] for i, _ in edges],
        [names[j] for _, j in edges],
        result.model.edge_norms().tolist(),
        activation_steps(result).tolist(),
    ]
    header: tuple[str, ...] = EDGE_COLUMNS
    if stability is not None:
        columns.append(stability.frequency_of(edges).tolist())
        columns += _interval_columns(stability, result.model.edges, result)
        header = (*EDGE_COLUMNS, "stability", "stability_low", "stability_high", *INTERVAL_COLUMNS)
    history, recorded = _recorded(result)
    if history.features:
        columns += history.feature_counts_at(recorded).T.tolist()
        header = (*header, *FEATURE_COLUMNS)
    return _csv(header, zip(*columns, strict=True))


def stability_csv(result: LearningResult, stability: EdgeStability) -> str:
    """Return one line per edge found in any subsample, with its frequency, in descending order.

    ``in_model`` is 1 for edges of the model, which was learned from all rows; the intervals are
    those of :class:`graftviz.EdgeIntervals` at 95 %, of strengths for edges of the model only.
    """
    names = result.model.names
    inside = set(map(tuple, result.model.edges.tolist()))
    rows = zip(
        stability.edges.tolist(),
        stability.frequencies.tolist(),
        *_interval_columns(stability, stability.edges, result),
        strict=True,
    )
    return _csv(
        STABILITY_COLUMNS,
        (
            (shown_cell(names[i]), shown_cell(names[j]), share, int((i, j) in inside), *ends)
            for (i, j), share, *ends in rows
        ),
    )


def _interval_columns(
    stability: EdgeStability, edges: np.ndarray, result: LearningResult
) -> list[list[float | None]]:
    """Return the ends of the intervals of frequency and of strength; None if there is none."""
    model = result.model
    strengths = stability.intervals(model).strength_intervals.tolist()
    by_pair = dict(zip(map(tuple, model.edges.tolist()), strengths, strict=True))
    ends = [by_pair.get((i, j), (math.nan, math.nan)) for i, j in edges.tolist()]
    both = (stability.frequency_intervals(edges), np.array(ends).reshape(-1, 2))
    return [
        [value if math.isfinite(value) else None for value in column]
        for column in np.concatenate(both, axis=1).T.tolist()
    ]


def weight_intervals_csv(intervals: EdgeIntervals) -> str:
    """Return one line per pair of states: names, labels, zero-sum weight and its interval."""
    frame = intervals.weights_frame()
    rows = frame.itertuples(index=False, name=None)
    return _csv(tuple(frame.columns), ([shown_cell(value) for value in row] for row in rows))


def path_csv(path: LamPath) -> str:
    """Return one line per λ, largest first; see `PathPoint`."""
    return _csv(PATH_COLUMNS, (point[: len(PATH_COLUMNS)] for point in path.points))


def trace_csv(result: LearningResult) -> str:
    """Return one line per step.

    ``activated`` holds pairs of column indices, ``i-j;i-j``, best score first; ``tests``,
    ``tables_counted`` and ``seconds`` are cumulative; ``hubs`` is the number of hubs.
    """
    rows = zip(result.trace.steps, result.metrics, strict=True)
    return _csv(TRACE_COLUMNS, (_trace_row(step, metrics) for step, metrics in rows))


def bounded_steps_csv(names: Sequence[str], steps: Sequence[Mapping[str, Any]]) -> str:
    """Return the model without edges, then one line per edge activated under a bound.

    Parameters
    ----------
    names : sequence of str
    steps : sequence of mapping
        Records of the steps, as in :mod:`graftviz.app.budget`.
    """
    rows = []
    for number, step in enumerate(steps):
        ends = (None, None) if step["edge"] is None else (names[i] for i in step["edge"])
        rows.append([number, *ends, *(step[key] for key in _BOUNDED.values())])
    return _csv(("step", "source", "target", *_BOUNDED), rows)


def reservoirs_csv(names: Sequence[str], steps: Sequence[RankedStep]) -> str:
    """Return one line per step and candidate of its reservoir, best first."""
    rows = []
    for step in steps:
        pairs = zip(step.reservoir.edges.tolist(), step.reservoir.scores.tolist(), strict=True)
        for place, ((i, j), score) in enumerate(pairs, start=1):
            rows.append((step.index, place, names[i], names[j], score))
    return _csv(RESERVOIR_COLUMNS, rows)


def race_csv(race: Race, axis: str = "seconds") -> str:
    """Return one line per moment, sorted by its cost on `axis`; racers share one timeline.

    ``step`` 0 is the model without edges; ``end`` is 1 for the end of a racer, after its last fit.
    A cell is empty if a value does not apply; floats are exact.

    Raises
    ------
    InputError
        When there is no such axis.
    """
    rows = []
    for number, course in enumerate(race.courses):
        last = len(course.moments) - 1
        for k, (cost, moment) in enumerate(zip(course.costs(axis), course.moments, strict=True)):
            is_end = int(course.ended and k == last)
            step, *values = moment
            rows.append((cost, number, k, (shown_cell(course.name), step, is_end, *values)))
    in_order = sorted(rows, key=lambda entry: entry[:3])
    return _csv(RACE_COLUMNS, (row for *_, row in in_order))


def region_csv(
    names: Sequence[str],
    labels: Sequence[str],
    steps: Iterable[tuple[RegionStep, np.ndarray]],
) -> str:
    """Return a region as CSV.

    Parameters
    ----------
    names : sequence of str
        Of all variables of the model.
    labels : sequence of str
        States of the query.
    steps : iterable of (RegionStep, array)
        Each step with the marginal of the query in the region so far.

    Returns
    -------
    str
        Columns ``size``, ``variable``, ``bound`` (1: vacuous), ``coefficient``, and one column
        ``p(label)`` for each state of the query.
    """
    header = ["size", "variable", "bound", "coefficient", *(f"p({label})" for label in labels)]
    rows = (
        [step.size, names[step.added], step.bound, step.coefficient, *marginal.tolist()]
        for step, marginal in steps
    )
    return _csv(header, rows)


def result_model(model_format: ModelFormat, result: LearningResult) -> str | bytes:
    """Return the file of a learned model, with the step of every edge."""
    return model_format.write(result.model, activation_steps(result).tolist())


def activation_steps(result: LearningResult) -> np.ndarray:
    """Return the step in which each edge of the final model was activated, int64, shape (m,)."""
    history, recorded = _recorded(result)
    steps = [history.activated_in(e) for e in history.ids_at(recorded).tolist()]
    return np.array(steps, dtype=np.int64)


def _recorded(result: LearningResult) -> tuple[History, int]:
    """Return the history of the run, and the number of its steps that the result includes."""
    trace = result.trace
    if trace.outcome is None:
        return trace.steps[-1].history, len(trace.steps)
    return trace.outcome.history, len(trace.outcome.history.counts)


def _trace_row(step: Step, metrics: StepMetrics) -> tuple[Any, ...]:
    reservoir = step.reservoir
    view: tuple[Any, ...] = (None, None, None, None)
    if reservoir is not None:
        view = (len(reservoir.scores), reservoir.mean, reservoir.tau, reservoir.maximum)
    return (
        *(step.index, step.n_edges, ";".join(f"{i}-{j}" for i, j, _ in step.activated)),
        *(step.objective, step.kkt_residual),
        *(metrics.recall, metrics.precision, metrics.nlpl_test),
        *(step.tests_total, step.tables_counted, *view),
        *(step.queue, step.frozen, step.unseen, len(step.hubs), step.seconds.total),
    )


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    plain = ([v.item() if isinstance(v, np.generic) else v for v in row] for row in rows)
    return csv_text([columns, *plain])


# --- nodes, edges and marginals of a model --------------------------------------------------------

MODEL_EDGE_COLUMNS = ("source", "target", "weight_norm", "mutual_information")
MARGINAL_COLUMNS = ("variable", "state", "probability")
EVIDENCE_COLUMN = "probability_given_evidence"


def model_edges_csv(model: PairwiseModel, beliefs: Beliefs | None = None) -> str:
    """Return one line per edge in the order of the model: two names and zero-sum ‖w_ij‖₂.

    If `beliefs` are passed, a further column holds the mutual information of the two variables, in
    nats.
    """
    columns: list[Sequence[Any]] = [
        [model.names[i] for i, _ in model.edges.tolist()],
        [model.names[j] for _, j in model.edges.tolist()],
        model.edge_norms().tolist(),
    ]
    if beliefs is not None:
        columns.append(mutual_informations(beliefs.edge).tolist())
    return csv_text([MODEL_EDGE_COLUMNS[: len(columns)], *zip(*columns, strict=True)])


def marginals_csv(model: PairwiseModel, before: Beliefs, after: Beliefs | None = None) -> str:
    """Return one line per state of every variable, with its probability, for spreadsheets.

    Parameters
    ----------
    model : PairwiseMRF
    before : Beliefs
        Marginals without evidence.
    after : Beliefs, optional
        Marginals given the evidence, for a fourth column.
    """
    flat = [np.concatenate(beliefs.node) for beliefs in (before, after) if beliefs is not None]
    states = (
        (shown_cell(name), shown_cell(label))
        for name, labels in zip(model.names, model.labels, strict=True)
        for label in labels
    )
    numbers = np.stack(flat, axis=1).tolist()
    rows = ((*state, *values) for state, values in zip(states, numbers, strict=True))
    header = MARGINAL_COLUMNS if after is None else (*MARGINAL_COLUMNS, EVIDENCE_COLUMN)
    return csv_text([header, *rows])


def node_frame(
    model: PairwiseModel, before: Beliefs | None = None, after: Beliefs | None = None
) -> pd.DataFrame:
    """Return the table of variables, in the order of the model."""
    information = None if before is None else mutual_informations(before.edge)
    best = strongest_partners(model, information).tolist()
    norms = _finite(model.edge_norms())
    columns: dict[str, Any] = {
        "variable": model.names,
        "degree": model.degrees(),
        "rank": degree_ranks(model),
    }
    for title, beliefs in (("marginal", before), ("posterior", after)):
        if beliefs is not None:
            likely = most_likely_states(model, beliefs)
            columns[title] = [marginal.tolist() for marginal in beliefs.node]
            columns[f"{title}: most likely"] = [f"{label} ({p:.2f})" for label, p in likely]
    if before is not None and after is not None:
        columns["change"] = total_variations(before.node, after.node)
    latest = before if after is None else after
    if latest is not None:
        columns["entropy"] = entropies(latest.node)
    columns["strongest partner"] = [
        "" if e < 0 else model.names[int(model.edges[e].sum()) - i] for i, e in enumerate(best)
    ]
    columns["partner weight"] = [None if e < 0 else float(norms[e]) for e in best]
    columns["states"] = model.cardinalities
    return pd.DataFrame(columns)


def edge_frame(model: PairwiseModel, beliefs: Beliefs | None = None) -> pd.DataFrame:
    """Return the table of edges, in the order of the model."""
    frame = _ends(model.edges, model.names)
    frame["weight"] = _finite(model.edge_norms())
    if beliefs is not None:
        frame["mutual information"] = mutual_informations(beliefs.edge)
    return frame


def partner_frame(model: PairwiseModel, i: int, beliefs: Beliefs | None = None) -> pd.DataFrame:
    """Return a row per neighbour of a node, strongest first; the index is the edge's number.

    The strength is the mutual information, or the norm of the edge without `beliefs`.
    """
    own = np.flatnonzero((model.edges == i).any(axis=1))
    partners = model.edges[own].sum(axis=1) - i
    strengths = model.edge_norms()[own]
    columns = {"partner": [model.names[j] for j in partners.tolist()], "weight": _finite(strengths)}
    if beliefs is not None:
        strengths = mutual_informations([beliefs.edge[e] for e in own.tolist()])
        columns["information"] = strengths
    return pd.DataFrame(columns, index=own).iloc[np.lexsort((partners, -strengths))]


def difference_frame(difference: ModelDifference, names: Sequence[str]) -> pd.DataFrame:
    """Return a row per edge of either model."""
    frame = _ends(difference.edges, names)
    frame["where"] = [STATUS_WORDS[status] for status in difference.status]
    for title, numbers in zip(("first", "second"), difference.numbers.T, strict=True):
        norms = _finite(getattr(difference, title))
        frame[title] = np.where(numbers >= 0, norms, np.nan)
    return frame


def _ends(edges: np.ndarray, names: Sequence[str]) -> pd.DataFrame:
    pairs = [(names[i], names[j]) for i, j in edges.tolist()]
    return pd.DataFrame(pairs, columns=["source", "target"])


def _finite(norms: np.ndarray) -> np.ndarray:
    """Return norms, with NaN where a zero potential makes them infinite."""
    return np.where(np.isfinite(norms), norms, np.nan)
