"""Generator of the sample data `survey` from a true network, with answers in words."""

from __future__ import annotations

import numpy as np

from graftviz.model.pairwise import PairwiseModel

# Questions, their answers, and the node weight of each answer.
_QUESTIONS: tuple[tuple[str, dict[str, float]], ...] = (
    ("home", {"city": 0.4, "suburb": 0.2, "village": 0.0}),
    ("commute", {"bicycle": 0.0, "bus": 0.2, "car": 0.2, "on foot": -0.2}),
    ("work", {"office": 0.3, "outdoors": -0.2, "shop": 0.0}),
    ("wakes up", {"early": 0.1, "late": 0.0}),
    ("breakfast", {"bread": 0.3, "cereal": 0.1, "nothing": 0.0}),
    ("hot drink", {"coffee": 0.3, "neither": -0.3, "tea": 0.0}),
    ("pet", {"cat": 0.1, "dog": 0.1, "none": 0.4}),
    ("garden", {"no": 0.2, "yes": 0.0}),
    ("exercise", {"daily": -0.1, "never": 0.0, "weekly": 0.3}),
    ("evenings", {"books": 0.0, "friends": 0.0, "screen": 0.3, "sports": -0.2}),
    ("sleeps well", {"no": -0.2, "yes": 0.2}),
)

# Edge weights: positive for answers that occur together, negative for answers that exclude each
# other, zero for pairs that are not listed.
_EDGES: tuple[tuple[str, str, dict[tuple[str, str], float]], ...] = (
    (
        "home",
        "commute",
        {
            ("city", "bicycle"): 0.9,
            ("city", "car"): -1.2,
            ("city", "on foot"): 0.6,
            ("suburb", "bus"): 0.9,
            ("village", "car"): 1.3,
            ("village", "on foot"): -0.6,
        },
    ),
    ("home", "garden", {("city", "no"): 1.1, ("suburb", "yes"): 0.5, ("village", "yes"): 1.2}),
    ("garden", "pet", {("yes", "dog"): 1.0, ("yes", "cat"): 0.5, ("no", "none"): 0.7}),
    ("pet", "exercise", {("dog", "daily"): 1.3, ("dog", "never"): -1.0}),
    (
        "commute",
        "exercise",
        {("bicycle", "daily"): 1.0, ("car", "never"): 0.8, ("bicycle", "never"): -0.8},
    ),
    ("work", "wakes up", {("outdoors", "early"): 1.2, ("shop", "late"): 0.9}),
    ("wakes up", "breakfast", {("late", "nothing"): 1.3, ("early", "bread"): 0.7}),
    (
        "breakfast",
        "hot drink",
        {("bread", "coffee"): 0.9, ("cereal", "tea"): 1.0, ("nothing", "coffee"): 0.6},
    ),
    (
        "exercise",
        "evenings",
        {("daily", "sports"): 1.4, ("never", "screen"): 1.1, ("never", "sports"): -1.3},
    ),
    ("hot drink", "sleeps well", {("coffee", "no"): 0.9, ("tea", "yes"): 0.6}),
    ("evenings", "sleeps well", {("screen", "no"): 0.8, ("books", "yes"): 0.9}),
)


def survey_model() -> PairwiseModel:
    """Return the true network of the survey: 11 questions and 11 edges, with one cycle."""
    names = [name for name, _ in _QUESTIONS]
    labels = [tuple(answers) for _, answers in _QUESTIONS]
    edge_weights = {}
    for first, second, weights in _EDGES:
        i, j = names.index(first), names.index(second)
        matrix = np.zeros((len(labels[i]), len(labels[j])))
        for (answer, other), weight in weights.items():
            matrix[labels[i].index(answer), labels[j].index(other)] = weight
        edge_weights[i, j] = matrix
    return PairwiseModel.from_tables(
        [np.array(list(answers.values())) for _, answers in _QUESTIONS],
        edge_weights,
        names=tuple(names),
        labels=tuple(labels),
    )
