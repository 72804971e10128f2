"""Sentences about single features: steps, partially active edges and inactive pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graftviz.history import History
from graftviz.learners.feature_options import FeatureOptions
from graftviz.narrative.phrases import Absence, counted, pair, score, short
from graftviz.runs import Run
from graftviz.texts import LANGUAGE, catalogue
from graftviz.trace import ActivationTest, ScoredFeature, Step


def feature_step(
    step: Step, learner: FeatureOptions, names: Sequence[str], language: str = LANGUAGE
) -> list[str]:
    """Return the sentences of a step: the feature taken, and the state of its edge."""
    feature, texts = step.features[0], catalogue("learners", language)
    own, is_first = texts["feature"], step.index == 1
    assert step.test is not None  # a feature is activated because it passed one
    chosen = own["first" if is_first else "scored"].format(
        features=counted(
            texts["counts"]["features" if is_first else "inactive_features"], step.tests
        ),
        score=score(feature.score),
        state=joint_state(names, step.history.start.labels, feature, language),
        limit=step.test.words,
    )
    if learner.one_step:
        chosen = own["one_step"].format(text=chosen)
    edge = pair(names, feature.source, feature.target)
    active, possible = counts_of(step.history, feature.source, feature.target, step.index)
    share = partly(active, possible, language)
    reach = own["becomes" if step.activated else "now"].format(edge=edge, partly=share)
    return [f"{chosen}.", reach]


def joint_state(
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
    feature: ScoredFeature,
    language: str = LANGUAGE,
) -> str:
    """Write "a = yes with b = no"."""
    i, j, a, b, _ = feature
    first, second = (
        f"{short(names[k])} = {short(labels[k][state])}" for k, state in ((i, a), (j, b))
    )
    return str(catalogue("learners", language)["feature"]["state"].format(a=first, b=second))


def partly(active: int, possible: int, language: str = LANGUAGE) -> str:
    """Write "partially active: 3 of its 25 features", or that all are active."""
    texts = catalogue("learners", language)
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


def edge_words(cells: np.ndarray, language: str = LANGUAGE) -> str:
    """Return the share of an edge that is active; `cells` masks its active features."""
    active, possible = int(np.count_nonzero(cells)), cells.size
    kind = "is_full" if active == possible else "is_part"
    text: str = catalogue("learners", language)["feature"][kind]
    return text.format(partly=partly(active, possible, language))


def feature_absence(
    run: Run,
    history: History,
    i: int,
    j: int,
    t: int,
    test: ActivationTest,
    language: str = LANGUAGE,
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
    texts: Mapping[str, str] = catalogue("learners", language)["feature"]
    words = texts["largest" if violates else "largest_below"].format(
        step=t,
        score=score(best.score),
        state=joint_state(names, run.table.labels, best, language),
        lam=f"{test.lam:g}",
    )
    if t == 0:
        words = f"{catalogue('answers', language)['absence']['no_step']} {words}"
    elif violates:
        chosen = run.steps[t - 1].features[0]
        state = joint_state(names, run.table.labels, chosen, language)
        words = texts["chosen"].format(step=t, score=score(chosen.score), state=state, text=words)
    return Absence(best.score, test.lam, t, words)
