"""Sentences about Chow–Liu trees and nodewise regression: steps and inactive pairs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np

from graftviz.learning.nodewise.nodewise_l1 import NodewiseL1
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import Step
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import Absence, counted, listed_edges, pair, score, short
from graftviz.utils.arrays import places_of

_LONGEST_PATH = 5  # variables named of the path between two ends


def tree_step(step: Step, names: Sequence[str]) -> str:
    """Return the sentence of a step of the algorithm of Chow and Liu."""
    texts, chosen, skipped = catalogue("learners"), step.activated[0], step.tests - 1
    own = texts["tree"]
    named = pair(names, chosen.source, chosen.target)
    edge = own["edge"].format(edge=named, score=score(chosen.score))
    kind = "first" if step.index == 1 else "skipped" if skipped else "next"
    pairs = counted(texts["counts"]["pairs"], step.tables_possible if kind == "first" else skipped)
    return str(own[kind].format(pairs=pairs, edge=edge))


def path_step(step: Step, names: Sequence[str]) -> str:
    """Return the sentence of a step of the nodewise path."""
    assert step.test is not None  # every step of a path has its λ
    own = catalogue("learners")["path"]
    text: str = own["fitted"].format(lam=score(step.test.lam))
    if added := step.activated:
        pairs, scores = [edge[:2] for edge in added], [edge.score for edge in added]
        edges = listed_edges(names, pairs, scores)
        text = counted(own["added"], len(added), text=text, edges=edges)
    if count := len(step.removed):
        edges = listed_edges(names, step.removed.tolist())
        text = counted(own["removed"], count, text=text, edges=edges)
    return f"{text}."


def tree_absence(run: LearningRun, learner: ChowLiu, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is no edge of the forest after step `t`."""
    texts: Mapping[str, str] = catalogue("learners")["tree"]
    names, counts = run.table.names, run.table.joint_counts(i, j)
    smoothed = counts + learner.pseudo_count / counts.size
    own = mutual_information(smoothed / smoothed.sum())
    informed = texts["information"].format(score=score(own))
    if t == 0:
        return Absence(own, None, 0, texts["no_step"].format(informed=informed))
    forest = nx.Graph()
    forest.add_nodes_from((i, j))
    for step in run.steps[:t]:
        for edge in step.activated:
            forest.add_edge(edge.source, edge.target, information=edge.score)
    if not nx.has_path(forest, i, j):
        is_over = run.outcome is not None and t == len(run.steps)
        why = texts["empty" if own <= 0.0 else "ended" if is_over else "later"]
        words = texts["apart"].format(informed=informed, why=why)
        return Absence(own, 0.0, 0, words, "least")
    path = nx.shortest_path(forest, i, j)
    weakest = min(forest.edges[a, b]["information"] for a, b in itertools.pairwise(path))
    steps = [short(names[node]) for node in path]
    if len(steps) > _LONGEST_PATH:
        steps = [*steps[: _LONGEST_PATH - 2], "…", steps[-1]]
    reached = int(own >= run.steps[t - 1].activated[0].score)
    words = texts["cycle" if own <= weakest else "cycle_first"].format(
        informed=informed, path=" – ".join(steps), weakest=score(weakest)
    )
    return Absence(own, weakest, reached, words, "weakest of the path")


def path_absence(run: LearningRun, learner: NodewiseL1, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is no edge at the λ of step `t`."""
    texts: Mapping[str, str] = catalogue("learners")["path"]
    if t == 0:
        return Absence(None, None, 0, catalogue("answers")["absence"]["no_step"])
    step = run.steps[t - 1]
    assert step.test is not None  # every step of a path has its λ
    lam = step.test.lam
    tested = step.tested
    at = places_of(tested.edges, i, j)
    if len(at):
        own = float(tested.scores[at[0]])
        text = texts["zero_one_way" if learner.rule == "and" else "zero"]
        return Absence(own, lam, t, text.format(step=t, score=score(own), lam=score(lam)))
    kind = "not_stored" if len(tested.scores) == 0 else "rule" if learner.min_norm else "budget"
    return Absence(None, lam, t, texts[kind].format(lam=score(lam)))


def mutual_information(frequencies: np.ndarray) -> float:
    """Return Σ p(x, y) log(p(x, y) / (p(x) p(y))) in nats; cells that are empty count nothing.

    Parameters
    ----------
    frequencies : float array, shape (s_i, s_j)
        How often each pair of states occurs, as shares that sum to 1.
    """
    independent = np.outer(frequencies.sum(axis=1), frequencies.sum(axis=0))
    seen = frequencies > 0.0
    total = np.sum(frequencies[seen] * np.log(frequencies[seen] / independent[seen]))
    return max(float(total), 0.0)
