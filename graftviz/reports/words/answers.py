"""Answers about one node, one edge or one pair at a chosen step: the dicts of docs/player.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from graftviz.learning.history import History
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import PASSED, Step
from graftviz.model.pairwise import zero_sum
from graftviz.reports.texts import catalogue
from graftviz.reports.words.baselines import path_absence, tree_absence
from graftviz.reports.words.bounded import bounded_absence
from graftviz.reports.words.features import edge_words, feature_absence
from graftviz.reports.words.judging import activation_test, judge, rows_needed_words, score_of
from graftviz.reports.words.phrases import Absence, counted, pair, score, short
from graftviz.reports.words.pruning import exchange_absence
from graftviz.reports.words.steps import learner_at
from graftviz.reports.words.third_variable import explain_edge
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


def history_at(run: LearningRun, t: int) -> History:
    """Return the history of a run that has made step `t`; InputError if it has not."""
    if not run.steps and run.outcome is None:
        raise InputError("Nothing has been learned yet.")
    if not 0 <= t <= len(run.steps):
        raise InputError(f"Step {t} has not been made; there are {len(run.steps)} so far.")
    return run.steps[-1].history if run.outcome is None else run.outcome.history


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
