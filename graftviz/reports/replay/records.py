"""JSON records of runs for the player: header, steps, outcome and details (docs/player.md).

All functions return dicts, lists, texts, bools, integers and finite floats of six significant
digits; NaN and infinities become None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from graftviz.learning.base import Learner
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import ActivationTest, Complexity, ReservoirView, Step
from graftviz.model.pairwise import zero_sum_norms
from graftviz.reports.layout import GrowingLayout, static_layout
from graftviz.reports.replay.plain import number, numbers, rounded
from graftviz.reports.words.answers import activation_effect, node_facts, why_edge, why_not
from graftviz.reports.words.judging import activation_test
from graftviz.reports.words.learners import counts_of
from graftviz.reports.words.outcomes import quality_words, remark_words
from graftviz.reports.words.phrases import score_line
from graftviz.reports.words.regions import certified_region, region_settings
from graftviz.reports.words.steps import (
    learner_at,
    overfitting_words,
    path_words,
    screening_words,
    step_words,
)
from graftviz.utils.errors import InputError
from graftviz.utils.options import attributes, option_specs

# A key frame is due if this share of the edges is new, and at least after n / 20 new edges. A run
# of 3n edges has sixty to eighty key frames, most of them at its beginning.
FRAME_SHARE = 1 / 8
FRAMES_PER_NODE = 1 / 20


def run_header(
    run: LearningRun,
    *,
    title: str,
    token: str = "run",
    positions: np.ndarray | Sequence[Sequence[float]] | None = None,
    branch: Mapping[str, Any] | None = None,
    note: str = "",
) -> dict[str, Any]:
    """Return the header of a run.

    Parameters
    ----------
    run : LearningRun
        After its first step or after its end.
    title : str
        Title of the data set.
    token : str
        Identifier of the run.
    positions : array, shape (n, 2), optional
        Positions of the variables, 0 … 10000. Default: the layout of the true graph, if the run has
        true edges; it is the same for all runs with the same true edges.
    branch : mapping, optional
        ``{t, run, text}``, see docs/player.md.
    note : str
        Sentence shown below the title.

    Raises
    ------
    ValueError
        Before the first step, when the objective of the model without edges is not available.
    """
    start = run.start
    if start is None:
        raise ValueError("a run has no header before its first step")
    if run.steps:
        objective = run.steps[0].previous_objective
    else:
        assert run.outcome is not None  # a run with a start has made a step or ended
        objective = run.outcome.objective
    table = run.table
    n = table.n_variables
    learner = learner_at(run, len(run.steps))
    test = activation_test(run, len(run.steps)) if learner.by_score else None
    lam = getattr(learner, "lam", None) if test is None else test.lam
    places: Sequence[Any] | None = None
    if positions is not None:
        places = [[number(x), number(y)] for x, y in positions]
    elif run.truth is not None and _has_skeleton(run):
        places = _skeleton(n, run.truth.tobytes())
    return {
        "run": token,
        "title": title,
        "learner": {
            "name": learner.name,
            "title": learner.title,
            "options": _options(learner),
            "pseudocode": _pseudocode(learner, test),
        },
        "seed": run.seed,
        "names": list(table.names),
        "labels": [list(states) for states in table.labels],
        "positions": places,
        "layout": GrowingLayout(n).start().reshape(-1).tolist() if places is None else None,
        "truth": None if run.truth is None else run.truth.tolist(),
        "possible": n * (n - 1) // 2,
        "lam": number(lam),
        "threshold": None if test is None else _threshold(test),
        "rows": {"train": table.n_rows, "test": 0 if run.test is None else run.test.n_rows},
        "start": {"objective": number(objective), "nlpl": number(start.nlpl_test)},
        "branch": None if branch is None else dict(branch),
        "note": note,
    }


def _pseudocode(learner: Learner, test: ActivationTest | None) -> list[dict[str, Any]]:
    """Return the lines of a learner's pseudo-code, that of the score with its formula."""
    lines = [line._asdict() for line in learner.code_lines]
    for line in lines:
        if line["key"] == "score":
            line["text"] = score_line(line["text"], test)
    return lines


def step_record(run: LearningRun, t: int, layout: GrowingLayout | None = None) -> dict[str, Any]:
    """Return the record of step `t`.

    Parameters
    ----------
    run : LearningRun
    t : int
        From 1; with a layout, steps must be requested in order.
    layout : GrowingLayout, optional
        Layout that is updated with the records; some records contain it as a key frame, including
        the last record of a run that has ended. Not used if the header has the positions of the
        true graph.
    """
    step, metrics = run.steps[t - 1], run.metrics[t - 1]
    record = {
        "t": t,
        "activated": [[e.source, e.target, number(e.score)] for e in step.activated],
        "features": _feature_counts(step),
        "removed": step.removed.tolist(),
        "objective": number(step.objective),
        "kkt": number(step.kkt_residual),
        "recall": number(metrics.recall),
        "precision": number(metrics.precision),
        "nlpl": number(metrics.nlpl_test),
        "reservoir": None if step.reservoir is None else _reservoir(step, step.reservoir),
        "replaced": step.replaced.tolist(),
        "dropped": step.dropped.tolist(),
        "edges": step.n_edges,
        **attributes(step, "queue", "frozen", "unseen"),
        **attributes(step, "tests", "tests_total", "test_limit"),
        "tables": step.tables_counted,
        "weights": _changed_norms(step),
        "seconds": number(step.seconds.total),
        "complexity": None if step.complexity is None else _complexity(step.complexity),
        "lines": list(step.lines),
        "words": step_words(step, learner_at(run, t), run.table.names),
        "notes": [remark_words(note) for note in step.notes],
    }
    if t > 1 and step.test is not None and step.test != run.steps[t - 2].test:
        record["threshold"] = _threshold(step.test)
    if layout is not None and not _has_skeleton(run):
        is_last = run.outcome is not None and t == len(run.steps)
        due = max(1.0, min(FRAME_SHARE * step.n_edges, FRAMES_PER_NODE * layout.n))
        if is_last or step.n_edges - layout.n_edges >= due:
            record["layout"] = layout.grow(step.active_edges()).reshape(-1).tolist()
    return record


def outcome_record(run: LearningRun) -> dict[str, Any] | None:
    """Return the record of the end of a run; None before the end."""
    outcome, final = run.outcome, run.final
    if outcome is None or final is None:
        return None
    screening = outcome.certificate.screening
    return {
        "steps": len(run.steps),
        "stop_reason": " ".join((remark_words(outcome.stop_reason), *_quality(run))),
        "converged": outcome.converged,
        "path": " ".join(filter(None, (path_words(run), overfitting_words(run)))),
        "objective": number(outcome.objective),
        "kkt": number(outcome.kkt_residual),
        "seconds": number(outcome.seconds.total),
        "certificate": rounded(
            attributes(
                outcome.certificate,
                *("scored", "possible", "worst_score", "threshold", "symbol", "unit"),
            )
        )
        | {"screening": None if screening is None else screening_words(screening)},
        "edges": len(outcome.history.ids_at(len(outcome.history.counts))),
        "dropped": outcome.dropped_at_the_end.tolist(),
        "recall": number(final.recall),
        "precision": number(final.precision),
        "nlpl": number(final.nlpl_test),
        "bp_restart_gap": number(outcome.bp_restart_gap),
    }


def _quality(run: LearningRun) -> list[str]:
    quality = run.result().quality
    return [] if quality is None else [quality_words(quality)]


def recorded_run(
    run: LearningRun,
    *,
    title: str,
    positions: np.ndarray | Sequence[Sequence[float]] | None = None,
    note: str = "",
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any] | None]:
    """Return header, all records and outcome of a run that has ended or was interrupted."""
    header = run_header(run, title=title, positions=positions, note=note)
    layout = GrowingLayout(run.table.n_variables) if header["positions"] is None else None
    records = [step_record(run, t, layout) for t in range(1, len(run.steps) + 1)]
    return header, records, outcome_record(run)


def answer(run: LearningRun, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details that the player requests by ``{kind: "node" | "edge" | "pair", i, j, t}``.

    A request for a node may have the key ``region`` with the settings of
    :func:`~graftviz.reports.words.regions.certified_region`; if the region cannot be computed, the
    result holds the error message instead. A request for an edge that step t activated may have the
    key ``effect`` with a true value, for :func:`~graftviz.reports.words.answers.activation_effect`.

    Raises
    ------
    InputError
        For an invalid request, or an unknown variable, edge or step.
    """
    kind = question.get("kind")
    explain: dict[Any, Callable[..., dict[str, Any]]] = {"edge": why_edge, "pair": why_not}
    if kind == "node":
        i, t = _index(question, "i"), _index(question, "t")
        facts = node_facts(run, i, t)
        if "region" in question:
            facts["region"] = _region(run, i, t, question["region"])
    elif kind in explain:
        places = (_index(question, "i"), _index(question, "j"), _index(question, "t"))
        facts = explain[kind](run, *places)
        if kind == "edge" and question.get("effect") is True:
            facts["effect"] = activation_effect(run, *places)
    else:
        raise InputError("The kind of a request must be node, edge or pair.")
    plain: dict[str, Any] = rounded(facts)
    return plain


def _region(run: LearningRun, i: int, t: int, settings: object) -> dict[str, Any]:
    try:
        return certified_region(run, i, t, **region_settings(settings))
    except InputError as error:
        return {"node": i, "t": t, "error": str(error)}


def _index(question: Mapping[str, Any], key: str) -> int:
    value = question.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"The request needs a whole number {key!r}.")
    return value


def _options(learner: Learner) -> dict[str, Any]:
    """Return the values of basic options, and of advanced options that differ from the default."""
    values = {}
    for spec in option_specs(learner):
        value = getattr(learner, spec.name)
        if not spec.advanced or value != spec.default:
            values[spec.name] = number(value) if spec.kind == "float" else spec.title_of(value)
    return values


def _threshold(test: ActivationTest) -> dict[str, Any]:
    """Return the threshold of the scores in the records, and the significance level."""
    return {
        "symbol": "λ",
        "value": number(test.lam),
        "score": test.score,
        "significance": number(test.significance),
    }


def _has_skeleton(run: LearningRun) -> bool:
    return run.truth is not None and len(run.truth) > 0


@lru_cache(maxsize=8)
def _skeleton(n: int, truth: bytes) -> list[list[int]]:
    """Return the layout of the true graph; cached, since all runs on the same data use it."""
    edges = np.frombuffer(truth, dtype=np.int64).reshape(-1, 2)
    places: list[list[int]] = static_layout(n, edges).tolist()
    return places


def _reservoir(step: Step, view: ReservoirView) -> dict[str, Any]:
    edges = view.edges.tolist()
    place = {(i, j): k for k, (i, j) in enumerate(edges)}
    taken = [place[edge.source, edge.target] for edge in step.activated]
    return {
        "edges": edges,
        "scores": numbers(view.scores.tolist()),
        "mean": number(view.mean),
        "tau": number(view.tau),
        "max": number(view.maximum),
        "capacity": view.capacity,
        "taken": taken,
        "skipped": [place[i, j] for i, j in step.skipped_adjacent.tolist()],
    }


def _complexity(complexity: Complexity) -> dict[str, Any]:
    names = ("measure", "value", "bound", "infeasible", "newly_infeasible", "width", "inference")
    record: dict[str, Any] = rounded(attributes(complexity, *names))
    return record


def _feature_counts(step: Step) -> list[list[int]]:
    """Return [i, j, active, possible] of every edge with features activated in the step."""
    pairs = dict.fromkeys((f.source, f.target) for f in step.features)
    return [[i, j, *counts_of(step.history, i, j, step.index)] for i, j in pairs]


def _changed_norms(step: Step) -> list[list[Any]]:
    """Return [i, j, zero-sum ‖w_ij‖] of every edge whose weights the step changed."""
    changes, history = step.changes, step.history
    if len(changes.edges) == 0:
        return []
    pairs = [history.activations[e] for e in changes.edges.tolist()]
    shapes = history.start.cardinalities[np.array(pairs)]
    norms = zero_sum_norms(shapes, changes.edge_weights)
    return [[i, j, number(norm)] for (i, j), norm in zip(pairs, norms.tolist(), strict=True)]
