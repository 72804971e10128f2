"""Sentences about single features: steps, partially active edges and inactive pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graftviz.learning.features.run import FeatureOptions
from graftviz.learning.history import History
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import ActivationTest, ScoredFeature, Step
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import Absence, counted, pair, score, short


def feature_step(step: Step, learner: FeatureOptions, names: Sequence[str]) -> list[str]:
    """Return the sentences of a step: the feature taken, and the state of its edge."""
    feature, texts = step.features[0], catalogue("learners")
    own, is_first = texts["feature"], step.index == 1
    assert step.test is not None  # a feature is activated because it passed one
    chosen = own["first" if is_first else "scored"].format(
        features=counted(
            texts["counts"]["features" if is_first else "inactive_features"], step.tests
        ),
        score=score(feature.score),
        state=joint_state(names, step.history.start.labels, feature),
        limit=step.test.words,
    )
    if learner.one_step:
        chosen = own["one_step"].format(text=chosen)
    edge = pair(names, feature.source, feature.target)
    active, possible = counts_of(step.history, feature.source, feature.target, step.index)
    share = partly(active, possible)
    reach = own["becomes" if step.activated else "now"].format(edge=edge, partly=share)
    return [f"{chosen}.", reach]


def joint_state(
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
    feature: ScoredFeature,
) -> str:
    """Write "a = yes with b = no"."""
    i, j, a, b, _ = feature
    first, second = (
        f"{short(names[k])} = {short(labels[k][state])}" for k, state in ((i, a), (j, b))
    )
    return str(catalogue("learners")["feature"]["state"].format(a=first, b=second))


def partly(active: int, possible: int) -> str:
    """Write "partially active: 3 of its 25 features", or that all are active."""
    texts = catalogue("learners")
    text = texts["feature"]["full" if active == possible else "part"]
    features = counted(texts["counts"]["features"], possible)
    return str(text.format(active=f"{active:,}", features=features))


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
    kind = "is_full" if active == possible else "is_part"
    text: str = catalogue("learners")["feature"][kind]
    return text.format(partly=partly(active, possible))


def feature_absence(
    run: LearningRun,
    history: History,
    i: int,
    j: int,
    t: int,
    test: ActivationTest,
) -> Absence:
    """Explain why a pair has no active feature after step `t`: the score of its best one."""
    names = run.table.names
    offsets = history.start.node_offsets
    beliefs = history.state_at(t).node_beliefs
    belief_i, belief_j = (beliefs[offsets[k] : offsets[k + 1]] for k in (i, j))
    frequencies = run.table.joint_counts(i, j) / run.table.total_weight
    gaps = np.abs(np.outer(belief_i, belief_j) - frequencies)
    a, b = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    best = ScoredFeature(i, j, int(a), int(b), float(gaps[a, b]))
    violates = best.score > test.lam
    texts: Mapping[str, str] = catalogue("learners")["feature"]
    words = texts["largest" if violates else "largest_below"].format(
        step=t,
        score=score(best.score),
        state=joint_state(names, run.table.labels, best),
        lam=f"{test.lam:g}",
    )
    if t == 0:
        words = f"{catalogue('answers')['absence']['no_step']} {words}"
    elif violates:
        chosen = run.steps[t - 1].features[0]
        state = joint_state(names, run.table.labels, chosen)
        words = texts["chosen"].format(step=t, score=score(chosen.score), state=state, text=words)
    return Absence(best.score, test.lam, t, words)
