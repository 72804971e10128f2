"""Contract of every learner of the registry."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from learner_cases import (
    BY_FEATURE,
    CASES,
    GRAFTING,
    NAMES,
    PAPER_CASES,
    RUNS,
    assert_optimal,
    branched,
    drain,
    final_beliefs,
    fingerprint,
    inactive_scores,
    make,
    mixed_table,
    parts_of,
    picks,
    recorded,
    scale_free_table,
)

from graftviz import DiscreteTable, InputError, Step
from graftviz.learning.base import Learner
from graftviz.learning.registry import learner_class
from graftviz.learning.trace import ADMITTED, DISPLACED_MINIMUM, PASSED, TOO_WEAK, Outcome, Remark
from graftviz.reports.words.outcomes import remark_words
from graftviz.utils.options import option_specs

every_run = pytest.mark.parametrize(("name", "case"), RUNS)
every_learner = pytest.mark.parametrize("name", NAMES)
every_grafting_run = pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in GRAFTING for case in PAPER_CASES]
)


def test_registry_lists_learners_and_refuses_unknown_name():
    grafting = {"best-choice", "edge-grafting", "first-hit"}
    assert grafting | {"chow-liu", "nodewise-l1"} <= set(NAMES)
    assert {"feature-grafting", "grafting-light"} <= set(NAMES)
    assert grafting <= set(GRAFTING)
    assert list(NAMES) == sorted(NAMES)
    with pytest.raises(InputError, match=f"'guess'; the learners are {', '.join(NAMES)}"):
        learner_class("guess")


@every_learner
def test_learner_has_description(name):
    cls = learner_class(name)
    assert issubclass(cls, Learner)
    assert cls.name == name
    assert cls.title
    assert cls.idea.endswith(".")
    assert cls.source
    keys = [line.key for line in cls.pseudocode]
    assert keys
    assert len(set(keys)) == len(keys)
    assert all(line.text and line.indent >= 0 for line in cls.pseudocode)


@every_learner
def test_options_are_checked_and_frozen(name):
    learner = learner_class(name)()
    for spec in option_specs(learner):
        with pytest.raises(InputError, match=f"Option {spec.name} "):
            dataclasses.replace(learner, **{spec.name: [1]})
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(learner, spec.name, spec.default)
    assert hash(learner) == hash(learner_class(name)())


def arrays_of(value):
    """Iterate over all arrays of a step or outcome, at any depth."""
    if isinstance(value, np.ndarray):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from arrays_of(getattr(value, field.name))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from arrays_of(part)


@every_run
def test_steps_and_outcome_are_immutable(name, case):
    run = recorded(name, case)
    for report in (*run.steps, run.outcome):
        assert all(not array.flags.writeable for array in arrays_of(report))
        with pytest.raises(dataclasses.FrozenInstanceError):
            report.objective = 0.0


@every_run
def test_run_yields_steps_and_returns_outcome(name, case):
    run = recorded(name, case)
    assert all(type(step) is Step for step in run.steps)
    assert type(run.outcome) is Outcome
    assert [step.index for step in run.steps] == list(range(1, len(run.steps) + 1))


@every_run
def test_activated_and_removed_edges_are_consistent_with_active_edges(name, case):
    run = recorded(name, case)
    n = run.table.n_variables
    budget = CASES[case][1].get("max_edges", n * (n - 1) // 2)
    before: list[tuple[int, int]] = []
    for step in run.steps:
        new = [tuple(edge[:2]) for edge in step.activated]
        removed = [tuple(pair) for pair in step.removed.tolist()]
        assert new or removed or step.features or step.exchange
        assert bool(step.features) == (name in BY_FEATURE)
        assert new or name not in GRAFTING
        assert not removed or name not in GRAFTING or case not in PAPER_CASES
        assert all(0 <= i < j < n for i, j in new)
        assert set(removed) <= set(before)
        assert not set(new) & (set(before) - set(removed))
        assert len(set(new)) == len(new)
        assert len(set(removed)) == len(removed)
        scores = [edge.score for edge in step.activated]
        assert scores == sorted(scores, reverse=True)
        before = [pair for pair in before if pair not in removed] + new
        assert step.n_edges == len(before) <= budget
        assert [tuple(edge) for edge in step.active_edges().tolist()] == before
        assert step.degrees().sum() == 2 * step.n_edges
    dropped = {tuple(pair) for pair in run.outcome.dropped_at_the_end.tolist()}
    final = [tuple(edge) for edge in run.outcome.model().edges.tolist()]
    assert final == [pair for pair in before if pair not in dropped]


@every_run
def test_objectives_are_finite_and_kkt_residuals_are_small(name, case):
    run = recorded(name, case)
    by_rows = name in GRAFTING and case not in PAPER_CASES
    # Grafting-light makes one step per feature, and fits at the end.
    bound = 0.25 if name == "grafting-light" else 1e-2 if by_rows else 1e-3
    for step in run.steps:
        assert np.isfinite([step.objective, step.previous_objective]).all()
        assert 0 <= step.kkt_residual < bound
    assert run.outcome.kkt_residual <= (1e-5 if by_rows else 1e-6)


@every_run
def test_objective_does_not_rise(name, case):
    """Check that the objective rises only where edges are removed or κ is lowered.

    With penalised nodes a step stops a little short of the optimum.
    """
    run = recorded(name, case)
    slack = 1e-6 if getattr(run.learner, "penalise_nodes", False) else 1e-12
    for step in run.steps:
        assert step.objective <= step.previous_objective + slack
    for before, after in zip(run.steps, run.steps[1:], strict=False):
        if len(after.removed) == 0 and after.test == before.test:
            assert after.previous_objective <= before.objective + slack
    if len(run.outcome.dropped_at_the_end) == 0:
        assert run.outcome.objective <= run.steps[-1].objective + slack


@every_run
def test_seconds_increase_and_are_sums_of_their_parts(name, case):
    run = recorded(name, case)
    times = [step.seconds for step in run.steps] + [run.outcome.seconds]
    for seconds in times:
        parts = (seconds.statistics, seconds.scoring, seconds.fitting, seconds.other)
        assert min(parts) >= 0
        assert seconds.total == pytest.approx(sum(parts), rel=1e-9)
    totals = [seconds.total for seconds in times]
    assert totals[0] > 0
    assert totals == sorted(totals)


@every_run
def test_counts_of_tests_and_tables_are_consistent(name, case):
    run = recorded(name, case)
    n = run.table.n_variables
    total = 0
    counted = [step.tables_counted for step in run.steps] + [run.outcome.tables_counted]
    for step in run.steps:
        # Tests before κ is lowered, or for the removal of edges, are only in the total.
        counts_all = len(step.removed) == 0 and step.test == run.steps[0].test
        total = total + step.tests if counts_all and step.tests else step.tests_total
        assert step.tests_total == total
        assert step.tables_possible == n * (n - 1) // 2
        if len(step.tested.scores):
            assert len(step.tested.scores) == step.tests
    assert counted == sorted(counted)
    assert counted[-1] <= n * (n - 1) // 2
    assert counted[0] > 0
    assert run.outcome.tests >= total


@every_run
def test_edge_is_tested_once_per_round_with_verdict_of_its_score(name, case):
    """Check steps of one round, or of two with a polished fit between them."""
    run = recorded(name, case)
    for step in run.steps:
        inactive = step.tables_possible - step.n_edges + len(step.activated)
        pairs = Counter(map(tuple, step.tested.edges.tolist()))
        if pairs:
            assert len(pairs) == min(step.tests, inactive)
        threshold = -np.inf if step.test is None else step.test.lam
        violates = step.tested.scores > threshold
        assert np.array_equal(violates, step.tested.verdicts != PASSED)
        displaced = np.count_nonzero(step.tested.verdicts == DISPLACED_MINIMUM)
        assert displaced == len(step.replaced)
        assert set(step.tested.verdicts) <= {ADMITTED, DISPLACED_MINIMUM, TOO_WEAK, PASSED}


@every_run
def test_reservoir_has_activated_edges_and_threshold(name, case):
    run = recorded(name, case)
    for step in run.steps:
        view = step.reservoir
        if view is None:
            continue
        assert 1 <= len(view.scores) == len(view.edges) <= view.capacity
        assert (np.diff(view.scores) <= 0).all()
        assert (view.scores > step.test.lam).all()
        alpha = getattr(run.learner, "alpha", 1.0)
        assert view.maximum == view.scores[0]
        assert view.mean == pytest.approx(view.scores.mean(), rel=1e-12)
        assert view.tau == pytest.approx((1 - alpha) * view.mean + alpha * view.maximum, rel=1e-12)
        place = {tuple(edge): k for k, edge in enumerate(view.edges.tolist())}
        taken = [tuple(edge[:2]) for edge in step.activated]
        assert taken[0] == tuple(view.edges[0])
        for edge in step.activated:
            assert edge.score == view.scores[place[edge[:2]]] >= view.tau
        nodes = [node for pair in taken for node in pair]
        assert len(set(nodes)) == len(nodes)
        for pair in map(tuple, step.skipped_adjacent.tolist()):
            assert view.scores[place[pair]] >= view.tau
            assert set(pair) & set(nodes)


@every_run
def test_every_pair_is_in_one_place(name, case):
    """Check that pairs are active, queued, frozen, unseen or in the reservoir after the refit."""
    run = recorded(name, case)
    for step, following in zip(run.steps, run.steps[1:], strict=False):
        if step.reservoir is None:
            continue
        left = len(step.reservoir.scores) - len(step.activated) - len(following.dropped)
        assert step.n_edges + step.queue + step.frozen + step.unseen + left == step.tables_possible


@every_run
def test_lines_are_in_pseudocode_and_notes_are_sentences(name, case):
    run = recorded(name, case)
    keys = [line.key for line in run.learner.pseudocode]
    for step in run.steps:
        assert step.lines
        assert [key for key in keys if key in step.lines] == list(step.lines)
        assert all(remark_words(note).endswith(".") for note in step.notes)
        assert set(step.hubs.tolist()) <= set(range(run.table.n_variables))


@every_run
def test_models_of_steps_match_changes(name, case):
    run = recorded(name, case)
    sizes = run.table.cardinalities
    flat = dict.fromkeys(range(len(sizes)))
    start = run.steps[0].history.start
    nodes = [start.node_weights(i) for i in flat]
    edges: list[np.ndarray] = []  # of every activation
    pairs: list[tuple[int, int]] = []
    alive: list[int] = []
    for step, seen in zip(run.steps, run.models, strict=True):
        model = step.model()
        assert np.array_equal(model.weights, seen.weights)
        assert np.array_equal(model.edges, seen.edges)
        assert model.names == run.table.names
        assert model.labels == run.table.labels
        # Apply the changes of the step.
        edges += [np.zeros(sizes[i] * sizes[j]) for i, j, _ in step.activated]
        removed = [tuple(pair) for pair in step.removed.tolist()]
        alive = [e for e in alive if pairs[e] not in removed]
        pairs += [tuple(edge[:2]) for edge in step.activated]
        alive += range(len(pairs) - len(step.activated), len(pairs))
        at_nodes = np.cumsum(sizes[step.changes.nodes])[:-1]
        for i, new in zip(
            step.changes.nodes, np.split(step.changes.node_weights, at_nodes), strict=False
        ):
            nodes[i] = new
        cells = [edges[e].size for e in step.changes.edges]
        at_edges = np.cumsum(cells)[:-1]
        for e, new in zip(
            step.changes.edges, np.split(step.changes.edge_weights, at_edges), strict=False
        ):
            edges[e] = new
        weights = [edges[e] for e in alive]
        assert np.array_equal(model.weights, np.concatenate([*nodes, *weights]))


@every_run
def test_stop_reason_is_a_sentence_and_convergence_has_certificate(name, case):
    outcome = recorded(name, case).outcome
    assert remark_words(outcome.stop_reason).endswith(".")
    values = [value for part in parts_of(outcome.stop_reason).values() for value in part.values()]
    assert {type(value) for value in values} <= {str, int, float, Remark}
    if outcome.converged:
        assert outcome.certificate.proves_optimality
    inactive = outcome.tables_possible - outcome.model().n_edges
    if name in BY_FEATURE:
        sizes = recorded(name, case).table.cardinalities
        inactive = (sizes.sum() ** 2 - (sizes**2).sum()) // 2 - outcome.feature_counts()[:, 0].sum()
    assert outcome.certificate.unit == ("feature" if name in BY_FEATURE else "edge")
    assert outcome.certificate.possible == inactive
    assert outcome.certificate.scored <= outcome.certificate.possible
    assert outcome.certificate.score
    assert outcome.certificate.objective


@every_grafting_run
def test_certificate_matches_scores_of_all_pairs(name, case):
    run = recorded(name, case)
    scores = inactive_scores(run, run.learner.group_weight == "sqrt")
    certificate = run.outcome.certificate
    assert certificate.possible == len(scores)
    if certificate.scored == len(scores):
        assert certificate.worst_score == pytest.approx(max(scores.values()), rel=1e-9)
        assert scores[certificate.worst_edge] == pytest.approx(max(scores.values()), rel=1e-9)
    elif certificate.scored:
        assert certificate.worst_score <= max(scores.values()) * (1 + 1e-9)
    else:
        assert certificate.worst_score is certificate.worst_edge is None
    if run.outcome.converged:
        assert max(scores.values()) <= run.learner.lam * (1 + 1e-9)
    else:
        assert run.outcome.stop_reason.kind == "reasons.budget"
    assert run.outcome.converged == (case not in ("budget", "everything passes"))


@every_grafting_run
def test_final_fit_is_optimal_by_separate_inference(name, case):
    run = recorded(name, case)
    assert run.outcome.bp_restart_gap < 1e-5
    assert_optimal(run)


@pytest.mark.parametrize(
    ("name", "case"), [run for run in RUNS if run[1] in PAPER_CASES and run[0] != "forced-pruning"]
)
def test_marginals_of_free_nodes_match_data(name, case):
    """Check all states, except for forced pruning, which ties parameters."""
    run = recorded(name, case)
    if not getattr(run.learner, "penalise_nodes", False):
        for codes, belief in zip(run.table.codes, final_beliefs(run), strict=True):
            shares = np.bincount(codes, minlength=len(belief)) / run.table.n_rows
            assert np.allclose(belief, shares, atol=1e-8)


# Refusals and degenerate tables.


@every_learner
def test_tables_that_are_too_small_are_refused(name):
    rng = np.random.default_rng(0)
    learner = learner_class(name)()
    for shape, word in (((1, 4), "row"), ((9, 1), "variable")):
        table = DiscreteTable.from_codes(
            rng.integers(0, 1, size=shape), cardinalities=[2] * shape[1]
        )
        with pytest.raises(InputError, match=f"only one {word}"):
            learner.check(table)
        with pytest.raises(InputError, match=f"only one {word}"):
            next(learner.steps(table, seed=0))


@every_learner
def test_more_edges_than_pairs_are_refused(name):
    table = mixed_table()
    for refused in (
        make(name, max_edges=46).check,
        lambda t: next(make(name, max_edges=46).steps(t)),
    ):
        with pytest.raises(
            InputError, match="46 edges were requested, but 10 variables have only 45"
        ):
            refused(table)
    make(name, max_edges=45).check(table)


@pytest.mark.parametrize("name", [*GRAFTING, *BY_FEATURE, "nodewise-l1"])
def test_threshold_above_all_scores_is_reported_with_largest_score(name):
    run = drain(mixed_table(), make(name, lam=0.9))
    assert run.steps == []
    assert run.outcome.converged
    certificate = run.outcome.certificate
    assert certificate.scored == certificate.possible
    assert certificate.worst_score < 0.9
    assert run.outcome.stop_reason.kind in ("reasons.no_edges", "path.empty")
    parts = parts_of(run.outcome.stop_reason).values()
    assert any(part.get("score") == certificate.worst_score for part in parts)
    assert run.outcome.tables_counted == run.outcome.tables_possible == 45
    assert run.outcome.tests >= 45
    if name in GRAFTING:
        assert certificate.worst_score == pytest.approx(max(inactive_scores(run, False).values()))
    model = run.outcome.model()
    assert model.n_edges == 0
    shares = [np.bincount(codes) / run.table.n_rows for codes in run.table.codes]
    weights = model.node_weights(1)
    assert np.allclose(np.exp(weights) / np.exp(weights).sum(), shares[1])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "forced-pruning"])
def test_edge_budget_ends_run_and_is_stop_reason(name):
    run = drain(mixed_table(), make(name, lam=1e-3, max_edges=3))
    assert run.outcome.model().n_edges == run.steps[-1].n_edges == 3
    reason = run.outcome.stop_reason
    assert reason.kind == ("path.budget" if name == "nodewise-l1" else "reasons.budget")
    assert reason.values["budget"] == 3
    assert not run.outcome.converged
    if name in BY_FEATURE:
        run = drain(mixed_table(), make(name, lam=1e-3, max_features=7))
        assert sum(len(step.features) for step in run.steps) == 7
        assert run.outcome.stop_reason == Remark("reasons.feature_budget", {"budget": 7})
        assert not run.outcome.converged


# Learner, options before and after step 3; the fits are convex, so the final model is the same.
TAKEOVERS = (
    ("chow-liu", {}, {"pseudo_count": 40.0}),
    *((name, {"lam": 2e-2, "lam2": 0.02}, {"lam": 2e-3, "lam2": 0.05}) for name in BY_FEATURE),
    *(
        ("nodewise-l1", {"lam": 5e-3}, after)
        for after in ({"lam": 2e-3}, {"lam": 2e-2}, {"lam": 5e-3, "lam2": 0.05, "rule": "and"})
    ),
)


@pytest.mark.parametrize(("name", "before", "after"), TAKEOVERS)
def test_options_changed_during_run_lead_to_model_of_new_options(name, before, after):
    table, cls = scale_free_table(8, 3, 1000), learner_class(name)
    run = branched(table, cls(**before), 3, cls(**after))
    alone = drain(table, cls(**after)).outcome
    assert run.outcome.converged
    assert run.outcome.certificate.threshold == alone.certificate.threshold
    assert run.outcome.objective == pytest.approx(alone.objective, abs=1e-9)
    assert set(map(tuple, run.outcome.model().edges)) == set(map(tuple, alone.model().edges))


@every_learner
@pytest.mark.parametrize("states", [1, 3])
@pytest.mark.parametrize("nodes", [False, True])
def test_constant_columns_give_no_steps(name, states, nodes):
    table = DiscreteTable.from_codes(np.zeros((20, 4), dtype=int), cardinalities=[states] * 4)
    run = drain(table, make(name, lam=0.5, penalise_nodes=nodes))
    assert run.steps == []
    assert run.outcome.converged
    assert np.isfinite(run.outcome.model().weights).all()


@every_learner
@pytest.mark.parametrize("nodes", [False, True])
def test_two_identical_columns_become_one_strong_edge(name, nodes):
    column = np.random.default_rng(3).integers(0, 3, size=200)
    table = DiscreteTable.from_codes(np.stack([column, column], axis=1))
    run = drain(table, make(name, penalise_nodes=nodes))
    assert picks(run) == [(0, 1)]
    assert run.outcome.converged
    if name not in BY_FEATURE:  # some features of the pair stay inactive
        assert run.outcome.stop_reason.kind == "reasons.all_pairs"
        assert run.outcome.certificate.worst_score is None
    weights = run.outcome.model().edge_weights(0)
    assert (np.argmax(weights, axis=0) == np.arange(3)).all()
    if name in GRAFTING:
        assert_optimal(run)


@every_learner
def test_two_rows_are_enough(name):
    table = DiscreteTable.from_codes(np.array([[0, 0, 1], [1, 1, 0]]))
    run = drain(table, make(name))
    if name in GRAFTING:
        assert len(picks(run)) == 3
    assert run.outcome.kkt_residual <= 1e-6


# Seeds.


@every_learner
def test_same_seed_gives_same_run(name):
    learner, table = make(name, **CASES["mixed"][1]), mixed_table()
    assert fingerprint(drain(table, learner, 0)) == fingerprint(recorded(name, "mixed"))


@every_learner
def test_sending_same_options_or_another_learner_does_not_change_run(name):
    learner, table = make(name, **CASES["mixed"][1]), mixed_table()
    other = make("best-choice" if name == "first-hit" else "first-hit", lam=1e-4)
    for sent in (dataclasses.replace(learner), other):
        run = branched(table, learner, 1, sent)
        assert fingerprint(run) == fingerprint(recorded(name, "mixed"))


@pytest.mark.parametrize("name", ["best-choice", "first-hit"])
def test_another_seed_gives_another_order_of_edges(name):
    assert picks(recorded(name, "scale-free", 1)) != picks(recorded(name, "scale-free", 0))
    assert set(picks(recorded(name, "scale-free", 1))) == set(
        picks(recorded(name, "scale-free", 0))
    )


def test_same_seed_gives_same_run_in_another_process():
    wanted = [fingerprint(recorded(name, "mixed")) for name in NAMES]
    script = (
        "from learner_cases import NAMES, fingerprint, recorded\n"
        "for name in NAMES:\n"
        "    print(fingerprint(recorded(name, 'mixed')))\n"
    )
    tests = Path(__file__).resolve().parents[1]
    folders = (tests, tests / "reference", tests.parent)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "PYTHONHASHSEED": "77",
    }
    other = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert other.stdout.split() == wanted


@pytest.mark.parametrize("name", ["best-choice", "first-hit"])
def test_invalid_seed_is_refused(name):
    table = DiscreteTable.from_codes(np.array([[0, 1], [1, 0], [1, 1]]))
    with pytest.raises(InputError, match="seed must be at least 0"):
        next(learner_class(name)().steps(table, seed=-1))


GIVEN, NONE_VARY = {"reasons.given"}, {"reasons.constant", "bounded.gradient", "tree.empty"}
EVERY_PAIR = "; ".join(f"x{i} -- x{j}" for i in range(4) for j in range(i + 1, 4))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("options", "columns", "reasons", "edges"),
    [
        ({"forbidden": EVERY_PAIR}, 4, GIVEN, 0),
        ({"required": EVERY_PAIR}, 4, GIVEN, 6),
        ({"required": "x0 -- x1; x2 -- x3", "forbidden": "x0, x1 -- x2, x3"}, 4, GIVEN, 2),
        ({}, 0, NONE_VARY, 0),
        ({}, 1, NONE_VARY, 0),
    ],
    ids=["all forbidden", "all required", "all decided", "none varies", "one varies"],
)
def test_ends_of_runs_without_choice_are_told_truly(name, options, columns, reasons, edges):
    codes = np.random.default_rng(0).integers(0, 2, size=(60, 4))
    codes[:, columns:] = 0
    table = DiscreteTable.from_codes(codes, cardinalities=[2] * 4)
    if name == "chow-liu" and len(options.get("required", "")) == len(EVERY_PAIR):
        with pytest.raises(InputError, match="form a cycle"):
            drain(table, make(name, **options))
        return
    run = drain(table, make(name, **options))
    kinds = set(parts_of(run.outcome.stop_reason)) | {run.outcome.stop_reason.kind}
    assert kinds & reasons or (name == "forced-pruning" and "exchange.all_varying" in kinds)
    assert run.outcome.model().n_edges == edges


@pytest.mark.parametrize("name", NAMES)
def test_one_row_with_weight_is_refused(name):
    codes = np.random.default_rng(0).integers(0, 2, size=(60, 4))
    table = DiscreteTable.from_codes(codes)
    table = dataclasses.replace(table, weights=60 * (np.arange(60) == 7))
    with pytest.raises(InputError, match="only one row with a weight above 0"):
        drain(table, make(name))


@pytest.mark.parametrize("name", ["bounded-inference", "feature-grafting"])
def test_active_pairs_beside_forbidden_ones_are_not_called_all(name):
    rng = np.random.default_rng(1)
    codes = np.cumsum(rng.random((300, 4)) < 0.3, axis=1) % 2
    options = {"lam": 1e-9, "lam2": 1e-3} if name == "feature-grafting" else {"bound": 3}
    run = drain(DiscreteTable.from_codes(codes), make(name, forbidden="x0 -- x1", **options))
    assert run.outcome.model().n_edges == 5
    assert run.outcome.stop_reason.kind.startswith("reasons.allowed")
