"""Answers about one node, one edge or one pair at a chosen step: the dicts of docs/player.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from graftviz.inference.methods import infer
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.history import History
from graftviz.learning.nodewise.nodewise_l1 import distances
from graftviz.learning.prior import PriorOptions
from graftviz.learning.run import LearningRun
from graftviz.learning.scores.pair_test import (
    chance_of,
    pair_test,
    smallest_norms,
    usual_significance,
)
from graftviz.learning.trace import PASSED, Step
from graftviz.model.pairwise import zero_sum
from graftviz.reports.texts import catalogue
from graftviz.reports.words.judging import (
    activation_test,
    history_at,
    judge,
    rows_needed_words,
    score_of,
    verdict,
)
from graftviz.reports.words.learners import (
    bounded_absence,
    edge_words,
    exchange_absence,
    feature_absence,
    path_absence,
    tree_absence,
)
from graftviz.reports.words.phrases import (
    Absence,
    counted,
    pair,
    score,
    short,
)
from graftviz.reports.words.regions import cheap_tree
from graftviz.reports.words.steps import learner_at
from graftviz.reports.words.third_variable import (
    explain_edge,
    neighbours,
    pair_scale,
    strongest_third,
)
from graftviz.utils.arrays import places_of
from graftviz.utils.errors import InputError

_FEW_STATES = 6  # label pairs named per edge
_FAINT = 0.2  # weights below this share of the largest are not named
Texts = Mapping[str, Any]  # a part of the catalogue "answers"


# Sentences of a learner → why a pair is not active; learners that test pairs have none.
_ABSENCES: Mapping[str, Callable[[LearningRun, Any, int, int, int], Absence]] = {
    "tree": tree_absence,
    "path": path_absence,
    "exchange": lambda run, _, *about: exchange_absence(run, *about),
    "bound": bounded_absence,
    "feature": lambda run, _, i, j, t: feature_absence(
        run, history_at(run, t), i, j, t, activation_test(run, t)
    ),
}


class _Test(NamedTuple):
    """One test of a pair: in which step, with which score and verdict.

    The score is None if it was not significant: the value compared with λ is not a score then.
    """

    t: int
    score: float | None
    verdict: int


def node_facts(run: LearningRun, i: int, t: int) -> dict[str, Any]:
    """Describe variable `i` after step `t`: degree, beliefs against data, strongest partners.

    Raises
    ------
    InputError
        When there is no such variable, or step `t` has not been made.
    """
    history = history_at(run, t)
    _check_variables(run, i)
    state = history.state_at(t)
    model = state.model
    degrees = model.degrees()
    offsets = model.node_offsets
    counts = run.table.state_counts(i)
    norms = model.edge_norms()
    touching = np.flatnonzero((model.edges == i).any(axis=1))
    touching = touching[np.argsort(-norms[touching], kind="stable")]
    partners = []
    for e in touching:
        other = int(model.edges[e].sum()) - i
        partners.append({"node": other, "name": model.names[other], "norm": float(norms[e])})
    return {
        "t": t,
        "name": model.names[i],
        "degree": int(degrees[i]),
        "rank": 1 + int((degrees > degrees[i]).sum()),
        "labels": list(model.labels[i]),
        "marginal": state.node_beliefs[offsets[i] : offsets[i + 1]].tolist(),
        "data": (counts / run.table.total_weight).tolist(),
        "partners": partners,
    }


def why_edge(run: LearningRun, i: int, j: int, t: int) -> dict[str, Any]:
    """Explain an edge that is active after step `t`: its activation and its effect on states.

    Raises
    ------
    InputError
        When there are no such variables or step, or the edge is not active then.
    """
    history = history_at(run, t)
    _check_variables(run, i, j)
    i, j = min(i, j), max(i, j)
    at = _position(history, i, j, t)
    if at is None:
        raise InputError(f"{pair(run.table.names, i, j)} is not active at step {t}.")
    since = history.activated_in(int(history.ids_at(t)[at]))
    model = history.state_at(t).model
    weights = model.edge_weights(at)
    # Weights of single features are shown as fitted; a shift of rows and columns
    # would spread them over cells that are not active.
    by_feature = run.learner.by_feature
    cells = history.active_cells_at(t)[at] if by_feature else None
    centred = zero_sum(weights)
    interaction = weights if by_feature else centred
    labels = (model.labels[i], model.labels[j])
    attract = _strongest(interaction, labels)
    repel = _strongest(-interaction, labels)
    repel = [(a, b, -weight) for a, b, weight in repel]
    step = run.steps[since - 1]
    chosen = next(edge for edge in step.activated if edge[:2] == (i, j))
    names = (model.names[i], model.names[j])
    texts = catalogue("answers")["edge"]
    words = [_chosen_words(step, chosen.score, texts), _state_words(names, attract, repel, texts)]
    if cells is not None:
        words.insert(1, edge_words(cells))
    return {
        "t": t,
        "names": list(names),
        "since": since,
        "norm": float(np.linalg.norm(centred)),
        "labels": [list(labels[0]), list(labels[1])],
        "weights": interaction.tolist(),
        "active": None if cells is None else cells.tolist(),
        "attract": [list(entry) for entry in attract],
        "repel": [list(entry) for entry in repel],
        "truth": _truth(run, i, j),
        "tests": _times_tested(run, i, j, since),
        "score_at_activation": float(chosen.score),
        "words": " ".join(words),
        "why": explain_edge(run, history, i, j, t, activation_test(run, t)),
    }


def why_not(run: LearningRun, i: int, j: int, t: int) -> dict[str, Any]:
    """Explain why a pair is not active after step `t`: its score and the results of its tests.

    Raises
    ------
    InputError
        When there are no such variables or step, or the edge is active then.
    """
    history = history_at(run, t)
    _check_variables(run, i, j)
    i, j = min(i, j), max(i, j)
    if _position(history, i, j, t) is not None:
        raise InputError(f"{pair(run.table.names, i, j)} is active at step {t}.")
    learner = learner_at(run, t)
    explain = _ABSENCES.get(learner.sentences, _tested)
    why = explain(run, learner, i, j, t)
    if _holds(learner.forbidden_pairs(run.table.names), i, j):
        words = str(catalogue("answers")["absence"]["forbidden"])
        why = why._replace(words=words, needs=None)
    return {
        "t": t,
        "names": [run.table.names[i], run.table.names[j]],
        "score": why.score,
        "threshold": why.threshold,
        "symbol": why.symbol,
        "violates": why.violates,
        "tests": why.tests,
        "last_test": why.last_test,
        "truth": _truth(run, i, j),
        "words": why.words,
        "needs": why.needs,
    }


def _tested(run: LearningRun, _: Any, i: int, j: int, t: int) -> Absence:
    """Return the reason of a learner that tests pairs: the last test, and the score at step `t`."""
    test = activation_test(run, t)
    own = score_of(run, history_at(run, t), i, j, t, test)
    judged = judge(own, test, t)
    tests, texts = _tests(run, i, j, t), catalogue("answers")["absence"]
    last = None
    if tests:
        t_last, score_last, verdict = tests[-1]
        last = {"t": t_last, "score": score_last, "verdict": texts["verdicts"][verdict]}
    sizes, rows = run.table.cardinalities[[i, j]].tolist(), round(run.table.total_weight)
    return judged._replace(
        needs=rows_needed_words(own, test, sizes, rows) if _truth(run, i, j) else None,
        tests=_times_tested(run, i, j, t),
        last_test=last,
        words=f"{_reason(run, i, j, t, tests)} {judged.words}",
    )


def _check_variables(run: LearningRun, *variables: int) -> None:
    n = run.table.n_variables
    for i in variables:
        if not 0 <= i < n:
            raise InputError(f"There is no variable {i}; they are numbered 0 … {n - 1}.")
    if len(set(variables)) < len(variables):
        raise InputError("An edge joins two different variables.")


def _position(history: History, i: int, j: int, t: int) -> int | None:
    """Return the place of an edge in the model after step `t`, if it is active then."""
    places = places_of(history.edges_at(t), i, j)
    return int(places[0]) if len(places) else None


def _truth(run: LearningRun, i: int, j: int) -> bool | None:
    return None if run.truth is None else _holds(run.truth, i, j)


def _scores_all(step: Step) -> bool:
    """Whether a step scored every inactive pair, instead of logging tests of some."""
    return step.tests > 0 and len(step.tested.scores) == 0


def _tests(run: LearningRun, i: int, j: int, t: int) -> list[_Test]:
    found: list[_Test] = []
    for step in run.steps[:t]:
        tested = step.tested
        by_noise = step.test is not None and step.test.significance > 0.0
        for k in places_of(tested.edges, i, j):
            verdict = int(tested.verdicts[k])
            is_score = not (by_noise and verdict == PASSED)
            own = float(tested.scores[k]) if is_score else None
            found.append(_Test(step.index, own, verdict))
    return found


def _times_tested(run: LearningRun, i: int, j: int, t: int) -> int:
    if run.learner.sentences == "tree":
        return 1  # the sorted pairs are visited once each
    return len(_tests(run, i, j, t)) + sum(_scores_all(step) for step in run.steps[:t])


def _holds(edges: np.ndarray, i: int, j: int) -> bool:
    return len(places_of(edges, i, j)) > 0


def _reason(run: LearningRun, i: int, j: int, t: int, tests: list[_Test]) -> str:
    """Return the sentence why the pair is not active after step `t`."""
    texts: Texts = catalogue("answers")["absence"]
    if t == 0:
        return str(texts["no_step"])
    step = run.steps[t - 1]
    if _scores_all(step):
        best = step.activated[0]
        edge = pair(run.table.names, best.source, best.target)
        return str(texts["largest"].format(step=t, score=score(best.score), edge=edge))
    if step.reservoir is not None and _holds(step.reservoir.edges, i, j):
        return _waiting(run, step, i, j, texts)
    if not tests:
        pairs = counted(catalogue("steps")["lists"]["pairs"], step.tables_possible)
        tables = f"{step.tables_counted:,}"
        return counted(texts["untested"], step.tests_total, tables=tables, pairs=pairs)
    last = tests[-1]
    often = texts["tested"][min(len(tests), 3) - 1]
    verdict = texts["verdicts"][last.verdict]
    text = often.format(n=f"{len(tests):,}", step=last.t, verdict=verdict)
    for later in run.steps[last.t - 1 : t]:
        if _holds(later.replaced, i, j):
            return str(texts["displaced"].format(text=text, step=later.index))
        if later.index > last.t and _holds(later.dropped, i, j):
            return str(texts["dropped"].format(text=text, step=later.index - 1))
    return f"{text}."


def _waiting(run: LearningRun, step: Step, i: int, j: int, texts: Texts) -> str:
    """Return the sentence about an edge in the reservoir that was not chosen."""
    view = step.reservoir
    assert view is not None
    at = int(places_of(view.edges, i, j)[0])
    own = float(view.scores[at])
    size = f"{len(view.scores):,}"
    place = texts["place"].format(place=f"{at + 1:,}", size=size, score=score(own))
    if _holds(step.skipped_adjacent, i, j):
        rival = next(edge for edge in step.activated if {edge.source, edge.target} & {i, j})
        edge = pair(run.table.names, rival.source, rival.target)
        return str(texts["adjacent"].format(step=step.index, place=place, edge=edge))
    reason = texts["below" if own < view.tau else "better"]
    return str(reason.format(step=step.index, place=place, tau=score(view.tau)))


def _chosen_words(step: Step, own: float, texts: Texts) -> str:
    view = step.reservoir
    if step.required:
        kind = "required"
    elif view is None or len(view.scores) == 1:
        kind = "chosen"
    else:
        kind = "best" if own >= view.maximum else "reached"
    tau = "" if view is None else score(view.tau)
    return str(texts[kind].format(step=step.index, score=score(own), tau=tau))


def _strongest(
    weights: np.ndarray, labels: tuple[tuple[str, ...], tuple[str, ...]]
) -> list[tuple[str, str, float]]:
    """Return the label pairs of the largest weights that are positive and not faint."""
    floor = _FAINT * float(np.abs(weights).max())
    order = np.argsort(-weights, axis=None, kind="stable")[:_FEW_STATES]
    cells = [np.unravel_index(int(k), weights.shape) for k in order]
    return [
        (labels[0][a], labels[1][b], float(weights[a, b]))
        for a, b in cells
        if weights[a, b] > floor and weights[a, b] > 1e-9
    ]


def _state_words(
    names: tuple[str, str],
    attract: list[tuple[str, str, float]],
    repel: list[tuple[str, str, float]],
    texts: Texts,
) -> str:
    """Return the sentence about the strongest attraction and repulsion."""

    def written(kind: str, entry: tuple[str, str, float], text: str = "") -> str:
        a, b = (
            f"{short(name)} = {short(state)}" for name, state in zip(names, entry[:2], strict=True)
        )
        return str(texts[kind].format(a=a, b=b, text=text))

    if not attract:
        return written("repels", repel[0]) if repel else str(texts["no_effect"])
    text = written("attracts", attract[0])
    other = next((entry for entry in attract if _differs(entry, attract[0])), None)
    if other is not None and other[2] > 0.6 * attract[0][2]:
        text = written("attracts_too", other, text)
    return written("repels_too", repel[0], text) if repel else f"{text}."


def _differs(entry: tuple[str, str, float], from_entry: tuple[str, str, float]) -> bool:
    return entry[0] != from_entry[0] and entry[1] != from_entry[1]


# --- effect of an activation on the marginal of its pair ------------------------------------------

_MOST_CELLS = 6  # pairs of states that are returned
_BP_TOLERANCE, _BP_SWEEPS = 1e-6, 200


def activation_effect(run: LearningRun, i: int, j: int, t: int) -> dict[str, Any]:
    """Return the marginal of a pair that step `t` activated, in both models and in the data.

    Inference is exact where the junction tree of the later model is small, else by belief
    propagation, in whose model without the edge the pair is independent.

    Returns
    -------
    dict
        ``method``, the method of inference; ``cells``, ``[state of i, state of j, before, after,
        data]`` of the pairs of states farthest from the data before the step, farthest first;
        ``left``, the number of the other cells; ``gap``, the total variation distance of the
        marginal from the data, before and after; ``words``.

    Raises
    ------
    InputError
        When there is no such step, or it did not activate the edge.
    """
    i, j = min(i, j), max(i, j)
    history, table = history_at(run, t), run.table
    added = [] if t == 0 else [edge[:2] for edge in run.steps[t - 1].activated]
    if (i, j) not in added:
        raise InputError(f"Step {t} did not activate {pair(table.names, i, j)}.")
    before, after, method = _marginals(history, i, j, t)
    data = table.joint_counts(i, j) / table.total_weight
    order = np.argsort(-np.abs(before - data), axis=None, kind="stable")[:_MOST_CELLS]
    gaps = [0.5 * float(np.abs(marginal - data).sum()) for marginal in (before, after)]
    labels, texts = table.labels, catalogue("answers")["effect"]
    return {
        "method": texts[method],
        "cells": [
            [labels[i][a], labels[j][b], *(float(part[a, b]) for part in (before, after, data))]
            for a, b in zip(*np.unravel_index(order, data.shape), strict=True)
        ],
        "left": data.size - len(order),
        "gap": gaps,
        "words": texts["gap"].format(before=score(gaps[0]), after=score(gaps[1])),
    }


def _marginals(history: History, i: int, j: int, t: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the pair marginal before and after step `t`, and the key of the inference."""
    before, after = (history.state_at(s).model for s in (t - 1, t))
    tree = cheap_tree(after)
    if tree is not None:
        earlier = cheap_tree(before)
        if earlier is not None:
            return earlier.pair(i, j), tree.pair(i, j), "exact"
    settings: dict[str, Any] = {"tolerance": _BP_TOLERANCE, "max_sweeps": _BP_SWEEPS}
    first, second = (infer(model, "bp", **settings) for model in (before, after))
    method = "bp" if first.converged and second.converged else "bp_open"
    edge = int(places_of(after.edges, i, j)[0])
    return np.outer(first.node[i], first.node[j]), second.edge[edge], method


# --- the strongest pairs that are not edges at the end, with reasons ------------------------------

_MOST_VARIABLES = 2_000
_MOST_COUNTS = 20_000_000_000  # rows times pairs, which take about a second
_BY_CHANCE = 0.5  # share of the listed pairs that chance may explain


class _Absent(NamedTuple):
    """Inactive pair with its strength, and how many as strong ones chance makes of all inactive."""

    i: int
    j: int
    strength: float
    by_chance: float
    inactive: int


class AbsentPair(NamedTuple):
    """Pair of variables that is not an edge although its rows are dependent, and why.

    Attributes
    ----------
    source, target : int
        source < target.
    strength : float
        Distance of the rows of both variables from independence, as a multiple of what independent
        variables exceed at the level of the run, or at the usual one if only λ decides. Up to 1,
        chance may explain it.
    reason : str
        "given": not in the graph that was given; "forbidden" by the options; "violates": the run
        ended first; "third": a third variable explains it;
        "edges": all edges together explain it; "rare": too few rows are in the states that deviate;
        "rows": too weak for these rows.
    third : int or None
        The third variable.
    words : str
        The reason, in sentences.

    Examples
    --------
    >>> gv.learn(survey, gv.BestChoice(max_edges=10)).not_found[0].reason
    'violates'
    """

    source: int
    target: int
    strength: float
    reason: str
    third: int | None
    words: str


def strongest_absent(run: LearningRun, most: int = 5) -> tuple[AbsentPair, ...] | None:
    """Return the inactive pairs whose rows depend most, strongest first, and why they are no edges.

    The list ends before the pair with which chance would explain half of it.

    None for learners that do not score pairs, and for large tables.
    """
    learner, table = learner_at(run, len(run.steps)), run.table
    n = table.n_variables
    is_large = n > _MOST_VARIABLES or n * (n - 1) // 2 * table.n_rows > _MOST_COUNTS
    if not learner.by_score or learner.by_feature or is_large:
        return None
    return tuple(_explained(run, absent) for absent in _strongest_missing(run, most))


def absent_words(run: LearningRun, found: AbsentPair) -> str:
    """Return a pair with its reason, as text."""
    return f"{pair(run.table.names, found.source, found.target)}: {found.words}"


def _strongest_missing(run: LearningRun, most: int) -> list[_Absent]:
    """Rank the inactive pairs by their distance from independence, over that of chance."""
    t, counts = len(run.steps), PairCounts(run.table)
    margins, offsets, rows = counts.packed.margins, counts.packed.node_offsets, counts.packed.rows
    kappa = activation_test(run, t).significance or usual_significance(margins, offsets)
    test = pair_test(margins, offsets, rows, kappa)
    limits = smallest_norms(test)
    strengths = distances(counts) / np.where(limits > 0.0, limits, np.inf)
    active = history_at(run, t).edges_at(t)
    strengths[active[:, 0], active[:, 1]] = 0.0
    pairs = np.column_stack(np.triu_indices(len(strengths), 1))
    flat, inactive = strengths[pairs[:, 0], pairs[:, 1]], len(pairs) - len(active)
    best = np.argsort(-flat, kind="stable")[:most]
    best = best[flat[best] > 0.0]
    by_chance = chance_of(test, pairs[best], np.minimum(flat[best], 1.0)) * inactive
    is_real = (flat[best] > 1.0) | (by_chance < _BY_CHANCE * np.arange(1, len(best) + 1))
    last = int(np.argmin(np.append(is_real, False)))
    found = zip(pairs[best].tolist(), flat[best].tolist(), by_chance.tolist(), strict=True)
    return [_Absent(i, j, own, chance, inactive) for (i, j), own, chance in found][:last]


def _explained(run: LearningRun, absent: _Absent) -> AbsentPair:
    """Return the reason why a pair is no edge."""
    i, j, strength, by_chance, inactive = absent
    t, table, texts = len(run.steps), run.table, catalogue("answers")

    def because(reason: str, words: str, third: int | None = None) -> AbsentPair:
        return AbsentPair(i, j, strength, reason, third, words)

    learner = learner_at(run, t)
    if isinstance(learner, PriorOptions) and learner.is_given(table.names):
        return because("given", texts["absence"]["given"])
    if len(places_of(learner.forbidden_pairs(table.names), i, j)):
        return because("forbidden", texts["absence"]["forbidden"])
    history, test = history_at(run, t), activation_test(run, t)
    own = score_of(run, history, i, j, t, test)
    kind, judged = verdict(own, test), judge(own, test, t).words
    if kind in ("above", "passes"):
        return because("violates", why_not(run, i, j, t)["words"])
    if kind == "rare":
        return because("rare", judged)
    near = neighbours(history.edges_at(t), i, j)
    if strength > 1.0 and near:
        best = strongest_third(table, pair_scale(learner, table, i, j, test), i, j, near)
        if best.explains:
            name = short(table.names[best.third])
            fall = best.words(name)
            words = texts["not_found"]["third"].format(third=name, fall=fall)
            return because("third", words, best.third)
        if best.limit is not None and best.raw > best.limit:
            raw, left = score(best.raw), score(own.value)
            return because("edges", texts["not_found"]["edges"].format(raw=raw, left=left))
    sizes, rows = table.cardinalities[[i, j]].tolist(), round(table.total_weight)
    sentences = [judged, rows_needed_words(own, test, sizes, rows)]
    if strength <= 1.0:
        count, pairs = f"{by_chance:.1g}", f"{inactive:,}"
        sentences.append(texts["not_found"]["chance"].format(count=count, pairs=pairs))
    return because("rows", " ".join(filter(None, sentences)))
