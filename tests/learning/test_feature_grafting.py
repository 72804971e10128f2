"""Feature grafting and grafting-light: picks, certificates, partial edges, budgets, branching."""

from __future__ import annotations

import itertools
from functools import partial

import naive
import numpy as np
import pytest
import scipy.stats
from learner_cases import Recorded, drain, mixed_table, picks, recorded, scale_free_table

from graftviz import DiscreteTable, FeatureGrafting, GraftingLight, infer
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.features.run import FeatureSearch, best_inside
from graftviz.learning.features.solver import FeatureNetwork
from graftviz.learning.trace import Remark
from graftviz.learning.weights.noise import plain_units
from graftviz.learning.weights.penalty import Penalty

LEARNERS = [FeatureGrafting, GraftingLight]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda cls: cls.name)


def copied_table(seed: int, n: int = 6, rows: int = 600, fewest: int = 2) -> DiscreteTable:
    """Return a tree of variables of 2 to 4 states, each a noisy copy of its parent."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((rows, n), dtype=np.int64)
    sizes = rng.integers(fewest, 5, size=n)
    for i in range(n):
        codes[:, i] = rng.integers(0, sizes[i], size=rows)
        if i:
            copies = rng.random(rows) < 0.5
            codes[copies, i] = np.minimum(codes[copies, (i - 1) // 2], sizes[i] - 1)
    return DiscreteTable.from_codes(codes, cardinalities=sizes)


def features_of(run: Recorded) -> list[tuple[int, int, int, int]]:
    return [tuple(feature[:4]) for step in run.steps for feature in step.features]


def final_scores(run: Recorded) -> dict[tuple[int, int, int, int], float]:
    """Return plain scores of all features at the final model, by separate inference."""
    model = run.outcome.model()
    beliefs = infer(model, "bp", tolerance=1e-13, max_sweeps=5000)
    assert beliefs.converged
    edges = {tuple(pair): b for pair, b in zip(model.edges.tolist(), beliefs.edge, strict=True)}
    sizes = run.table.cardinalities.tolist()
    return naive.feature_scores(run.table.codes, sizes, beliefs.node, edges)


# The search.


@pytest.mark.parametrize("seed", range(5))
def test_best_feature_matches_plain_scan(seed):
    table = copied_table(seed)
    counts = PairCounts(table)
    search = FeatureSearch(counts, plain_units(int(table.cardinalities.sum())))
    rng = np.random.default_rng(seed)
    sizes = table.cardinalities.tolist()
    beliefs = [rng.dirichlet(np.ones(size)) for size in sizes]
    drift = np.zeros(len(sizes))
    inside: set[tuple[int, int]] = set()
    for _ in range(12):
        scores = naive.feature_scores(table.codes, sizes, beliefs, {})
        scores = {key: score for key, score in scores.items() if key[:2] not in inside}
        found = search.best_outside(np.concatenate(beliefs), drift)
        a, b = divmod(found.cell, sizes[found.j])
        assert found.score == pytest.approx(max(scores.values()), rel=1e-12)
        assert scores[found.i, found.j, a, b] == pytest.approx(found.score, rel=1e-12)
        search.mark_active(found.i, found.j)
        inside.add((found.i, found.j))
        moved = int(rng.integers(len(sizes)))  # change one belief
        new = rng.dirichlet(np.ones(sizes[moved]))
        drift[moved] += np.linalg.norm(new - beliefs[moved])
        beliefs[moved] = new
    possible = len(naive.feature_scores(table.codes, sizes, beliefs, {}))
    assert search.possible == possible
    assert possible <= search.tests < 12 * possible  # bounds leave out pairs


def test_one_test_is_counted_per_computed_score():
    table = copied_table(1)
    search = FeatureSearch(PairCounts(table), plain_units(int(table.cardinalities.sum())))
    sizes = table.cardinalities.tolist()
    beliefs = np.concatenate([np.full(size, 1.0 / size) for size in sizes])
    drift = np.zeros(len(sizes))
    assert search.tests == 0
    search.best_outside(beliefs, drift)
    assert 0 < search.tests <= search.possible
    search.best_outside(beliefs, drift)
    before = search.tests
    search.best_outside(beliefs, drift)
    assert search.tests == before  # no belief moved
    search.reset_bounds()
    search.best_outside(beliefs, drift)
    assert search.tests == before + search.possible


def test_score_inside_an_edge_uses_pair_belief():
    table = copied_table(0)
    network = FeatureNetwork(PairCounts(table), table.names, table.labels)
    for i, j in ((0, 1), (2, 4)):
        network.activate(i, j, 0)
    network.fit(Penalty(1e-3, 0.01, False, False), tolerance=1e-9)
    state = network.state
    e, cell, score, tests = best_inside(
        state, 2, network.active, network.beliefs, plain_units(int(table.cardinalities.sum()))
    )
    model = network.model()
    beliefs = infer(model, "bp", tolerance=1e-13)
    gaps = [
        np.abs(belief - network.counts.table(i, j) / table.n_rows)
        for (i, j), belief in zip(model.edges.tolist(), beliefs.edge, strict=True)
    ]
    for gap in gaps:
        gap[0, 0] = -1.0  # active
    assert score == pytest.approx(max(gap.max() for gap in gaps), abs=1e-9)
    assert gaps[e].reshape(-1)[cell] == pytest.approx(score, abs=1e-9)
    network.active[:] = True
    arrays = network.active, network.beliefs, plain_units(int(table.cardinalities.sum()))
    assert tests == sum(gap.size - 1 for gap in gaps)
    assert best_inside(state, 2, *arrays)[0] == -1


# Whole runs.


@pytest.mark.parametrize("seed", range(2))
def test_feature_grafting_picks_features_of_plain_twin(seed):
    # Variables of two states are excluded, because their features have equal scores.
    table = copied_table(seed, 4, fewest=3)
    run = drain(table, FeatureGrafting(lam=8e-3, lam2=0.02))
    wanted = naive.feature_grafting(table.codes, table.cardinalities.tolist(), 8e-3, 0.02)
    assert features_of(run) == wanted
    assert len(wanted) > 8
    edges = list(dict.fromkeys((i, j) for i, j, _, _ in wanted))
    assert picks(run) == edges
    assert len(edges) < len(wanted)


@every_learner
def test_rescoring_all_scores_every_inactive_feature_at_each_step(learner):
    table = copied_table(0, 4, fewest=3)
    needed, every = (
        drain(table, learner(lam=8e-3, lam2=0.02, rescoring=rescoring))
        for rescoring in ("needed", "all")
    )
    assert features_of(needed) == features_of(every)
    assert needed.outcome.objective == pytest.approx(every.outcome.objective, rel=1e-9)
    assert needed.outcome.tests < every.outcome.tests
    sizes = table.cardinalities.tolist()
    possible = sum(a * b for a, b in itertools.combinations(sizes, 2))
    assert [step.tests for step in every.steps] == list(
        range(possible, possible - len(every.steps), -1)
    )


@every_learner
@pytest.mark.parametrize("case", ["scale-free", "mixed"])
def test_certificate_matches_scores_of_all_features(learner, case):
    run = recorded(learner.name, case)
    taken = set(features_of(run))
    scores = final_scores(run)
    left = {key: score for key, score in scores.items() if key not in taken}
    certificate = run.outcome.certificate
    assert run.outcome.converged
    assert certificate.scored == certificate.possible == len(left)
    assert certificate.worst_score == pytest.approx(max(left.values()), abs=1e-6)
    worst = (*certificate.worst_edge, *certificate.worst_states)
    assert left[worst] == pytest.approx(certificate.worst_score, abs=1e-6)
    assert max(left.values()) <= run.learner.lam + 1e-6


@every_learner
@pytest.mark.parametrize("case", ["scale-free", "mixed"])
def test_final_fit_is_optimal_for_every_feature(learner, case):
    run = recorded(learner.name, case)
    model, lam = run.outcome.model(), run.learner.lam
    lam2 = run.learner.settings(PairCounts(run.table)).penalty.lam2
    beliefs = infer(model, "bp", tolerance=1e-13, max_sweeps=5000)
    history = run.outcome.history
    worst = 0.0
    for e, active in enumerate(history.active_cells_at(len(history.counts))):
        i, j = model.edges[e].tolist()
        shape = active.shape
        shares = naive.count_pair(*run.table.codes[[i, j]], *shape) / run.table.n_rows
        gap, weights = beliefs.edge[e] - shares, model.edge_weights(e)
        pull = gap + 2 * lam2 * weights + lam * np.sign(weights)
        at_zero = np.maximum(np.abs(gap) - lam, 0.0)
        violation = np.where(weights != 0.0, np.abs(pull), at_zero)
        assert not weights[~active].any()
        worst = max(worst, violation[active].max())
    assert worst <= 1e-6


@every_learner
def test_scores_that_equal_lam_activate_nothing(learner):
    for seed in range(10):
        table = copied_table(seed)
        margins = [np.bincount(x, minlength=s) / 600 for x, s in sides(table)]
        lam = max(naive.feature_scores(table.codes, table.cardinalities, margins, {}).values())
        run = drain(table, learner(lam=lam, lam2=0.0))
        assert not run.steps
        assert run.outcome.certificate.proves_optimality


def test_pairs_of_two_states_need_one_feature():
    """All four features of such a pair have the same score, which is λ once one is fitted."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 2, size=(500, 8))
        for i in range(1, 8):
            copies = rng.random(500) < 0.4
            codes[copies, i] = codes[copies, i - 1]
        run = drain(DiscreteTable.from_codes(codes), FeatureGrafting(lam=0.01, lam2=0.0))
        assert run.outcome.model().n_edges >= 7
        assert (run.outcome.feature_counts()[:, 0] == 1).all()
        assert run.outcome.certificate.proves_optimality


def sides(table):
    return zip(table.codes, table.cardinalities.tolist(), strict=True)


@every_learner
@pytest.mark.parametrize("make_table", [partial(copied_table, 0), mixed_table])
def test_automatic_thresholds_of_single_features_hold_at_the_end(learner, make_table):
    """The fit is optimal for Σ λ_k |w_k| + λ₂ Σ w_k² over the features of all pairs."""
    table = make_table()
    run = drain(table, learner())
    sizes = table.cardinalities.tolist()
    free = sum((a - 1) * (b - 1) for a, b in itertools.combinations(sizes, 2))
    kappa = scipy.stats.norm.isf(0.05 / free)
    lams = naive.feature_thresholds(table.codes, sizes, kappa)
    lam2 = run.outcome.automatic["lam2"]
    model = run.outcome.model()
    weights = {tuple(e): model.edge_weights(k) for k, e in enumerate(model.edges.tolist())}
    beliefs = infer(model, "bp", tolerance=1e-13, max_sweeps=5000)
    joint = dict(zip(weights, beliefs.edge, strict=True))
    taken = set(features_of(run))
    assert 0 < len(taken) < len(lams)
    for (i, j, a, b), lam in lams.items():
        belief = joint[i, j] if (i, j) in joint else np.outer(beliefs.node[i], beliefs.node[j])
        gap = belief[a, b] - np.mean((table.codes[i] == a) & (table.codes[j] == b))
        weight = weights[i, j][a, b] if (i, j) in weights else 0.0
        if weight == 0.0:
            assert abs(gap) <= lam + 1e-6
        else:
            assert (i, j, a, b) in taken
            assert abs(gap + 2 * lam2 * weight + lam * np.sign(weight)) <= 1e-6


def rare_and_common(rng):
    return np.hstack([rng.random((1000, 5)) < 0.03, rng.random((1000, 5)) < 0.5]).astype(int)


def few_and_many_states(rng):
    return np.column_stack([rng.integers(0, 2, size=(1000, 5)), rng.integers(0, 30, size=1000)])


@every_learner
@pytest.mark.parametrize("make_codes", [rare_and_common, few_and_many_states])
def test_independent_columns_rarely_get_an_edge(learner, make_codes):
    runs = [
        drain(DiscreteTable.from_codes(make_codes(np.random.default_rng(seed))), learner())
        for seed in range(40)
    ]
    assert sum(bool(run.steps) for run in runs) <= 6


@every_learner
def test_identifier_does_not_lower_the_threshold_of_others(learner):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        first = rng.integers(0, 2, size=400)
        second = (rng.random(400) < 1.0 / (1.0 + np.exp(1.0 - 2.0 * first))).astype(int)
        codes = np.column_stack([first, second, rng.permutation(400)])
        found = picks(drain(DiscreteTable.from_codes(codes), learner()))
        assert (0, 1) in found
        assert len(set(found)) <= 2


@pytest.mark.parametrize(
    ("make_table", "lam"),
    [
        *((partial(copied_table, seed), lam) for seed in range(3) for lam in (2e-3, 1e-2, 3e-2)),
        (mixed_table, 2e-3),
        (partial(scale_free_table, 15, 3, 1000), 1e-2),
    ],
)
def test_light_and_full_reach_the_same_objective(make_table, lam):
    """Compare also with a fit with all features active."""
    table = make_table()
    full = drain(table, FeatureGrafting(lam=lam, lam2=0.02))
    light = drain(table, GraftingLight(lam=lam, lam2=0.02))
    assert full.outcome.converged
    assert light.outcome.converged
    assert light.outcome.objective == pytest.approx(full.outcome.objective, abs=1e-10)
    network = FeatureNetwork(PairCounts(table), table.names, table.labels)
    for i, j in itertools.combinations(range(table.n_variables), 2):
        for cell in range(int(table.cardinalities[i] * table.cardinalities[j])):
            network.activate(i, j, cell)
    penalty = Penalty(lam, 0.02, False, False)
    network.fit(penalty, tolerance=1e-8)
    best = network.polish(penalty, tolerance=1e-10).objective
    assert full.outcome.objective == pytest.approx(best, abs=1e-9)


def test_light_continues_after_full_fit_with_violating_features():
    noted = 0
    for seed in range(12):
        run = drain(copied_table(seed), GraftingLight(lam=2e-3, lam2=1e-3))
        assert run.outcome.converged
        for step in run.steps:
            if step.notes:
                noted += 1
                assert step.notes == (Remark("notes.polished", {}),)
                # The fit came before the step.
                assert step.previous_objective < run.steps[step.index - 2].objective
    assert noted > 0


@every_learner
def test_all_features_become_active_with_tiny_lam(learner):
    table = copied_table(2, 3)
    run = drain(table, learner(lam=1e-12, lam2=1e-3))
    assert run.outcome.model().n_edges == 3
    counts = run.outcome.feature_counts()
    assert (counts[:, 0] == counts[:, 1]).all()
    assert run.outcome.stop_reason.kind == "reasons.all_features"
    assert run.outcome.certificate.worst_score is None
    assert run.outcome.converged


# Partially active edges.


@every_learner
def test_active_features_of_edges_are_recorded_at_every_step(learner):
    run = recorded(learner.name, "mixed")
    sizes = run.table.cardinalities
    active: dict[tuple[int, int], set[tuple[int, int]]] = {}
    partial = 0
    for step in run.steps:
        for i, j, a, b, score in step.features:
            assert (a, b) not in active.setdefault((i, j), set())
            active[i, j].add((a, b))
            assert score > run.learner.lam
        assert {edge[:2] for edge in step.activated} <= {feature[:2] for feature in step.features}
        counts = step.feature_counts()
        edges = [tuple(edge) for edge in step.active_edges().tolist()]
        assert [len(active[edge]) for edge in edges] == counts[:, 0].tolist()
        assert [sizes[i] * sizes[j] for i, j in edges] == counts[:, 1].tolist()
        partial += int((counts[:, 0] < counts[:, 1]).sum())
        for edge, cells in zip(edges, step.history.active_cells_at(step.index), strict=True):
            assert set(zip(*np.nonzero(cells), strict=True)) == active[edge]
    assert partial > 0
    last = run.steps[-1].feature_counts()
    assert np.array_equal(run.outcome.feature_counts(), last)


def test_all_features_are_active_for_learners_of_whole_edges():
    run = recorded("edge-grafting", "mixed")
    assert all(step.features == () for step in run.steps)
    counts = run.outcome.feature_counts()
    assert len(counts) == run.outcome.model().n_edges
    assert (counts[:, 0] == counts[:, 1]).all()


# Options.


@every_learner
def test_default_lam_excludes_noise_and_finds_dependences(learner):
    rng = np.random.default_rng(4)
    noise = DiscreteTable.from_codes(rng.integers(0, 4, size=(800, 25)))
    assert len(features_of(drain(noise, learner()))) <= 3
    found = picks(drain(copied_table(0, 8, 2000), learner()))
    assert {(i - 1) // 2 for i in range(1, 8)} <= {i for i, _ in found}
    assert {((i - 1) // 2, i) for i in range(1, 8)} <= set(found)


def test_default_options_depend_on_rows_and_states_only():
    small, large = copied_table(0), copied_table(0, rows=2400)
    settings = [FeatureGrafting().settings(PairCounts(table)) for table in (small, large)]
    assert settings[0].lam == pytest.approx(2 * settings[1].lam, rel=0.1)
    assert settings[0].penalty.lam2 == pytest.approx(2 * settings[1].penalty.lam2, rel=0.05)
    constant = DiscreteTable.from_codes(np.zeros((20, 3), dtype=int), cardinalities=[2] * 3)
    assert FeatureGrafting().settings(PairCounts(constant)).lam == 1e-3
