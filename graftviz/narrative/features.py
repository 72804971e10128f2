"""Sentences about single features: steps, partially active edges and inactive pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.history import History
from graftviz.learners.feature_options import FeatureOptions
from graftviz.narrative.phrases import Absence, pair, plural, score, short
from graftviz.runs import Run
from graftviz.trace import ActivationTest, ScoredFeature, Step


def feature_step(step: Step, learner: FeatureOptions, names: Sequence[str]) -> list[str]:
    """Return the sentences of a step: the feature taken, and the state of its edge."""
    feature = step.features[0]
    labels = step.history.start.labels
    where = joint_state(names, labels, feature)
    if step.index == 1:
        scored = f"Counted and scored all {plural(step.tests, 'feature')}"
    else:
        scored = f"Scored {plural(step.tests, 'inactive feature')}, all that could be the best"
    assert step.test is not None  # a feature is activated because it passed one
    chosen = (
        f"{scored}; the largest gradient, {score(feature.score)} of {where}, is "
        f"above {step.test.words}, so this feature was activated"
    )
    if learner.one_step:
        chosen += ", and all active weights took one step"
    edge = pair(names, feature.source, feature.target)
    active, possible = counts_of(step.history, feature.source, feature.target, step.index)
    if step.activated:
        reach = f"With it {edge} becomes an edge, {partly(active, possible)}"
    else:
        reach = f"The edge {edge} is now {partly(active, possible)}"
    return [f"{chosen}.", f"{reach}."]


def joint_state(
    names: Sequence[str], labels: Sequence[Sequence[str]], feature: ScoredFeature
) -> str:
    """Write "a = yes with b = no"."""
    i, j, a, b, _ = feature
    first, second = short(labels[i][a]), short(labels[j][b])
    return f"{short(names[i])} = {first} with {short(names[j])} = {second}"


def partly(active: int, possible: int) -> str:
    """Write "partially active: 3 of its 25 features", or that all are active."""
    if active == possible:
        return f"fully active: all of its {plural(possible, 'feature')}"
    return f"partially active: {active:,} of its {plural(possible, 'feature')}"


def counts_of(history: History, i: int, j: int, t: int) -> tuple[int, int]:
    """Return the numbers of active and of all features of an edge after step `t`."""
    sizes = history.start.cardinalities
    possible = int(sizes[i] * sizes[j])
    taken = history.features[: history.feature_counts[t - 1] if t else 0]
    active = sum(history.activations[e] == (i, j) for e, _ in taken)
    return active, possible


def edge_words(cells: np.ndarray) -> str:
    """Return the share of an edge that is active; `cells` masks its active features."""
    active, possible = int(np.count_nonzero(cells)), cells.size
    rest = "" if active == possible else "; the weights of the others stay zero"
    return f"It is {partly(active, possible)}{rest}."


def feature_absence(
    run: Run, history: History, i: int, j: int, t: int, test: ActivationTest
) -> Absence:
    """Explain why a pair has no active feature after step `t`: the score of its best one."""
    names = run.table.names
    offsets = history.start.node_offsets
    beliefs = history.state_at(t).node_beliefs
    belief_i, belief_j = (beliefs[offsets[k] : offsets[k + 1]] for k in (i, j))
    frequencies = run.table.joint_counts(i, j) / run.table.n_rows
    gaps = np.abs(np.outer(belief_i, belief_j) - frequencies)
    a, b = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    best = ScoredFeature(i, j, int(a), int(b), float(gaps[a, b]))
    violates = best.score > test.lam
    side = "above" if violates else "not above"
    words = (
        f"At step {t} the largest gradient of its features is {score(best.score)}, of "
        f"{joint_state(names, run.table.labels, best)}: {side} λ = {test.lam:g}, so it "
        f"{'violates' if violates else 'does not violate'}."
    )
    if t == 0:
        words = f"No step has been made yet. {words}"
    elif violates:
        chosen = run.steps[t - 1].features[0]
        words = (
            f"Each step activates only the feature with the largest gradient: in step {t} that was "
            f"{score(chosen.score)} of {joint_state(names, run.table.labels, chosen)}. {words}"
        )
    return Absence(best.score, test.lam, t, words)
