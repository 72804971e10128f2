"""Panels of the menu Analyse of Grow: samples, and presets compared."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
from app_pages import open_page
from fakes import Idle, random_table

import graftviz as gv
from graftviz import (
    BestChoice,
    EdgeGrafting,
    FeatureGrafting,
    ForcedPruning,
    PairwiseMRF,
    Result,
    learn,
    load_dataset,
)
from graftviz.app.material import PAGE_DATA, Material, automatic_values, default_options, prepare
from graftviz.app.recording import RecordedRun
from graftviz.data.synthetic.potentials import joint_probabilities, joint_states, sample_exact
from graftviz.data.table import DiscreteTable
from graftviz.inference.inspection import MOST_STATES, SAMPLES, compare_samples
from graftviz.learning.base import Learner
from graftviz.reports.figures.samples import pairs_figure, samples_figure
from graftviz.reports.words.inspection import false_edges
from graftviz.reports.words.outcomes import pair_name, samples_words
from graftviz.utils.errors import InputError

SURE = 5.0  # standard errors


def chain() -> PairwiseMRF:
    """Return a strong chain of five variables of two and three states."""
    rng = np.random.default_rng(4)
    sizes = [2, 3, 2, 3, 2]
    nodes = [rng.normal(0, 0.5, size=k) for k in sizes]
    pairs = {(i, i + 1): rng.normal(size=(sizes[i], sizes[i + 1])) for i in range(4)}
    return PairwiseMRF.from_tables(nodes, pairs)


def independent(table: DiscreteTable) -> PairwiseMRF:
    """Return the model without edges, with the frequencies of the table."""
    counts = [
        np.bincount(x, minlength=k) for x, k in zip(table.codes, table.cardinalities, strict=True)
    ]
    return PairwiseMRF.from_tables([np.log(count + 1e-3) for count in counts], {})


def exact_frequencies(model: PairwiseMRF, states: np.ndarray) -> np.ndarray:
    every, probabilities = joint_states(model), joint_probabilities(model)
    return np.array(
        [probabilities[(every[i] == a) & (every[j] == b)].sum() for i, j, a, b in states]
    )


def test_frequencies_equal_those_of_model_and_rows() -> None:
    model = chain()
    table = sample_exact(model, 3000, seed=1)
    found = compare_samples(model, table, seed=2)
    assert len(found.states) == sum(
        a * b for i, a in enumerate(model.cardinalities) for b in model.cardinalities[i + 1 :]
    )
    exact = exact_frequencies(model, found.states)
    assert np.abs(found.in_model - exact).max() < SURE * 0.5 / np.sqrt(SAMPLES)
    for k in range(0, len(found.states), 7):
        i, j, a, b = found.states[k]
        assert found.in_data[k] == pytest.approx(table.joint_counts(i, j)[a, b] / table.n_rows)
        assert found.is_edge[k] == (j == i + 1)
    assert np.abs(found.in_model - found.in_data).max() < SURE * found.noise


def test_without_edges_pairs_are_independent_and_single_variables_agree() -> None:
    table = load_dataset("scale-free-40").table
    model = independent(table)
    found = compare_samples(model, table, seed=0)
    for drawn, codes in zip(found.drawn.codes[:10], table.codes[:10], strict=True):
        first, second = (np.bincount(x, minlength=3) / len(x) for x in (drawn, codes))
        assert np.abs(first - second).max() < SURE * found.noise
    joint, margin = found.drawn.joint_counts(0, 1) / SAMPLES, found.drawn.codes
    product = np.outer(*(np.bincount(margin[i], minlength=3) / SAMPLES for i in (0, 1)))
    assert np.abs(joint - product).max() < SURE * 0.5 / np.sqrt(SAMPLES)


def test_gap_decreases_as_edges_are_added_and_seed_is_respected() -> None:
    table = load_dataset("digits-2").table
    learned = [
        gv.learn(table, gv.BestChoice(preset="paper", max_edges=edges)).model for edges in (40, 90)
    ]
    gaps = []
    for model in (independent(table), *learned):
        found, repeated = (compare_samples(model, table, seed=3) for _ in range(2))
        assert (found.drawn.codes == repeated.drawn.codes).all()
        gaps.append(float(np.abs(found.in_model - found.in_data).mean()))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.9 * gaps[0]


def test_sentences_and_figures_name_the_largest_difference() -> None:
    data = load_dataset("digits-2")
    model = gv.learn(data.table, gv.BestChoice(preset="paper", max_edges=20)).model
    found = compare_samples(model, data.table, seed=0)
    k = found.largest
    assert pair_name(found, k) in samples_words(found)
    assert f"{found.in_data[k]:.3f} in the data" in samples_words(found)
    points = [trace for trace in pairs_figure(found).data if trace.mode == "markers"]
    assert pair_name(found, k) in [text for trace in points for text in trace.text]
    images, rows = samples_figure(found, data.positions), samples_figure(found, None)
    first = np.asarray(images.data[0].z, dtype=float)[:8, :8]
    names = list(found.data.names)
    for row in range(8):
        for column in range(8):
            i = names.index(f"r{row}c{column}")
            shade = found.data.labels[i][found.data.codes[i, -1]] == "dark"
            assert first[row, column] == shade
    assert np.asarray(rows.data[1].z).shape[1] == found.drawn.n_variables


def test_large_tables_are_refused_in_a_sentence() -> None:
    table = random_table(0, MOST_STATES, 3)
    model = PairwiseMRF.from_tables([np.zeros(k) for k in table.cardinalities], {})
    with pytest.raises(InputError, match=f"at most {MOST_STATES:,} states in all"):
        compare_samples(model, table)


def test_panel_shows_step_of_page_and_chosen_steps() -> None:
    app = open_page("", data="survey", step="3", max_edges="6")
    app.session_state["grow.samples.open"] = True
    app.run()
    assert not app.exception
    steps = next(slider for slider in app.slider if str(slider.key).startswith("samples_step"))
    assert steps.value == 3
    assert any("samples against" in text.value for text in app.markdown)
    steps.set_value(0).run()
    assert not app.exception
    assert any(text.value.startswith("0 edges") for text in app.markdown)


def test_the_recorded_run_of_the_opening_page_has_models() -> None:
    material = prepare(load_dataset(PAGE_DATA), seed=0)
    learner = gv.BestChoice(**default_options(gv.BestChoice, material.suggested))
    run = RecordedRun(gv.Run(material.train, learner), material, "t", Idle(), is_ready=lambda: True)
    assert len(run.model_at(0).edges) == 0
    end = len(run.run.steps)
    assert len(run.model_at(end).edges) == run.outcome()["edges"]
    assert len(run.model_at(1).edges) == len(run.run.steps[0].activated)


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
