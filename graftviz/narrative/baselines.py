"""Sentences about Chow–Liu trees and nodewise regression: steps and inactive pairs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import networkx as nx
import numpy as np

from graftviz.arrays import places_of
from graftviz.learners.chow_liu import ChowLiu
from graftviz.learners.nodewise_l1 import NodewiseL1
from graftviz.narrative.phrases import (
    Absence,
    listed_edges,
    pair,
    plural,
    score,
    short,
    was,
)
from graftviz.runs import Run
from graftviz.trace import Step

_LONGEST_PATH = 5  # variables named of the path between two ends


def tree_step(step: Step, names: Sequence[str]) -> str:
    """Return the sentence of a step of the algorithm of Chow and Liu."""
    chosen = step.activated[0]
    edge = f"{pair(names, chosen.source, chosen.target)} with {score(chosen.score)} nats"
    skipped = step.tests - 1
    if step.index == 1:
        counted = plural(step.tables_possible, "pair")
        return (
            f"Computed the mutual information of {counted}; the largest, {edge}, is the first edge."
        )
    if skipped == 0:
        return f"The next pair by mutual information, {edge}, closes no cycle, so it was activated."
    return (
        f"Skipped {plural(skipped, 'pair')} that would close a cycle; the next by mutual "
        f"information, {edge}, joins two trees and was activated."
    )


def path_step(step: Step, names: Sequence[str]) -> str:
    """Return the sentence of a step of the nodewise path."""
    assert step.test is not None  # every step of a path has its λ
    text = f"At λ = {score(step.test.lam)} all regressions were fitted again"
    if added := step.activated:
        named = listed_edges(names, [edge[:2] for edge in added], [edge.score for edge in added])
        text += f": {named} {was(len(added))} added"
    if count := len(step.removed):
        text += f"; {listed_edges(names, step.removed.tolist())} {was(count)} removed"
    return f"{text}."


def tree_absence(run: Run, learner: ChowLiu, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is no edge of the forest after step `t`."""
    names, counts = run.table.names, run.table.joint_counts(i, j)
    smoothed = counts + learner.pseudo_count / counts.size
    own = mutual_information(smoothed / smoothed.sum())
    informed = f"Its mutual information is {score(own)} nats"
    if t == 0:
        return Absence(own, None, 0, f"No step has been made yet. {informed}.")
    forest = nx.Graph()
    forest.add_nodes_from((i, j))
    for step in run.steps[:t]:
        for edge in step.activated:
            forest.add_edge(edge.source, edge.target, information=edge.score)
    if not nx.has_path(forest, i, j):
        is_over = run.outcome is not None and t == len(run.steps)
        why = (
            "the run ended before it was reached"
            if is_over
            else "pairs with more information come first"
        )
        if own <= 0.0:
            why = "pairs without information are not added"
        words = f"{informed}. No path joins its ends yet, but {why}."
        return Absence(own, 0.0, 0, words, "least")
    path = nx.shortest_path(forest, i, j)
    weakest = min(forest.edges[a, b]["information"] for a, b in itertools.pairwise(path))
    steps = [short(names[node]) for node in path]
    if len(steps) > _LONGEST_PATH:
        steps = [*steps[: _LONGEST_PATH - 2], "…", steps[-1]]
    compared = "has at least" if own <= weakest else "was added first, and has at least"
    reached = int(own >= run.steps[t - 1].activated[0].score)
    return Absence(
        own,
        weakest,
        reached,
        f"{informed}. It would close a cycle: every edge on the path {' – '.join(steps)} "
        f"{compared} {score(weakest)}.",
        "weakest of the path",
    )


def path_absence(run: Run, learner: NodewiseL1, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is no edge at the λ of step `t`."""
    if t == 0:
        return Absence(None, None, 0, "No step has been made yet.")
    step = run.steps[t - 1]
    assert step.test is not None  # every step of a path has its λ
    lam = step.test.lam
    tested = step.tested
    at = places_of(tested.edges, i, j)
    if len(at):
        own = float(tested.scores[at[0]])
        direction = "in one direction " if learner.rule == "and" else ""
        return Absence(
            own,
            lam,
            t,
            f"At step {t} the gradient of its weights, divided by d, is {score(own)} {direction}"
            f"where they are zero: not above λ = {score(lam)}, so they stay zero.",
        )
    if len(tested.scores) == 0:
        words = f"Its weights stayed zero at λ = {score(lam)}; not all scores are stored."
        return Absence(None, lam, t, words)
    left_out = (
        "the edge budget, the least norm or the rule" if learner.min_norm else "the edge budget"
    )
    words = f"Its weights are not zero at λ = {score(lam)}, but {left_out} excludes it."
    return Absence(None, lam, t, words)


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
