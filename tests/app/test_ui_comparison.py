"""Comparisons of two runs on the same data agree with a plain count."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest

from graftviz import (
    BestChoice,
    EdgeGrafting,
    FeatureGrafting,
    ForcedPruning,
    Result,
    learn,
    load_dataset,
)
from graftviz.app.material import Material, automatic_values, prepare
from graftviz.learning.base import Learner
from graftviz.reports.words.inspection import false_edges


@functools.cache
def material() -> Material:
    return prepare(load_dataset("karate"), 0)


def run(preset: str) -> Result:
    learner = BestChoice(preset=preset, lam=0.0035 if preset == "paper" else None)
    return learn(material().train, learner, seed=0, test=material().test, truth=material().truth)


def test_indirect_edges_are_false_ones_with_a_common_true_neighbour() -> None:
    result = run("paper")
    true = {frozenset(pair) for pair in material().truth.tolist()}
    false = [pair for pair in map(frozenset, result.model.edges.tolist()) if pair not in true]
    indirect = sum(
        any(
            frozenset((i, k)) in true and frozenset((k, j)) in true
            for k in range(result.n_variables)
        )
        for i, j in map(tuple, false)
    )
    assert false_edges(result, material().truth) == (len(false), indirect)
    assert indirect > 0


def test_automatic_values_equal_those_of_the_learner() -> None:
    for preset in ("paper", "best"):
        learner = BestChoice(preset=preset)
        known = automatic_values(learner, material())
        settings = learner.settings(material().counts)
        assert known["score"] == settings.score
        assert known["lam"] == settings.lam
        assert known["lam2"] == settings.penalty.lam2
        assert known["t_max"] == learner.plan(34).limit
        budget = learner.edge_budget(34)
        expected = "3n = 102" if preset == "paper" else budget
        assert known.get("max_edges", 34 * 33 // 2) == expected


@pytest.mark.parametrize(
    ("learner", "name", "value"),
    [
        (BestChoice(preset="paper"), "lam", 0.05),
        (BestChoice(preset="paper"), "lam2", 0.5),
        (BestChoice(preset="paper"), "max_edges", 7),
        (BestChoice(), "reservoir", 5),
        (BestChoice(), "score", "belief"),
        (EdgeGrafting(), "lam", 1e-6),
        (FeatureGrafting(), "lam", 0.05),
        (ForcedPruning(), "exchange", 2),
    ],
)
def test_automatic_value_does_not_depend_on_chosen_value(
    learner: Learner, name: str, value: Any
) -> None:
    automatic = automatic_values(learner, material())
    chosen = dataclasses.replace(learner, **{name: value})
    assert automatic_values(chosen, material())[name] == automatic[name] != value
