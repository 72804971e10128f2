"""Linear dynamical systems: learners against least squares, the truth, and each other."""

from __future__ import annotations

import dataclasses

import joblib
import numpy as np
import pytest

from graftviz import InputError, dynamics
from graftviz.data.series.series import standardise
from graftviz.dynamics.learners import ScalableStructure
from graftviz.dynamics.search import choose_seeds, seed_count

N = 24


@pytest.fixture(scope="module")
def truth():
    return dynamics.random_system(N, density=0.1, seed=3)


@pytest.fixture(scope="module")
def series(truth):
    grown = dynamics.simulate(truth, 1500, process_noise=1.0, observation_noise=0.1, seed=4)
    # Units of very different size, and means away from zero.
    scale, shift = 10.0 ** np.linspace(-3, 3, N), np.linspace(-2, 5, N)
    return dynamics.TimeSeries.from_array(grown.values * scale + shift * scale)


def by_least_squares(series, node, parents, centre=False):
    before, after = series.values[:-1, parents], series.values[1:, node]
    if centre:
        means = series.values[:-1].mean(axis=0)
        before, after = before - means[parents], after - means[node]
    return np.linalg.lstsq(before, after, rcond=None)[0]


def check_rows(result, series, tolerance, centre=False):
    """Check every row against lstsq, in units of the predicted series."""
    for node in range(N):
        parents = result.system.parents(node)
        wanted = by_least_squares(series, node, parents, centre)
        units = np.std(series.values[:, parents], axis=0) / np.std(series.values[:, node])
        assert np.abs((result.system.matrix[node, parents] - wanted) * units).max() < tolerance


@pytest.mark.parametrize("rows", [1500, 15])
def test_dense_is_least_squares_solution_of_smallest_norm(truth, rows):
    data = dynamics.simulate(truth, rows, seed=5)
    result = dynamics.learn(data, dynamics.Dense())
    wanted = np.linalg.lstsq(data.values[:-1], data.values[1:], rcond=None)[0].T
    assert np.abs(result.system.matrix - wanted).max() < 1e-8
    assert bool(result.notes) == (rows < N)


@pytest.mark.parametrize("centre", [False, True])
def test_enforcing_is_least_squares_of_every_row(truth, series, centre):
    adjacency = [truth.parents(i) for i in range(N)]
    learner = dynamics.SparsityEnforcing(adjacency=adjacency, centre=centre)
    result = dynamics.learn(series, learner)
    check_rows(result, series, 1e-8, centre)
    assert [step.node for step in result.steps] == list(range(N))
    for step in result.steps:
        assert set(step.parents) == set(adjacency[step.node])
        gap = series.values[1:, step.node] - series.values[:-1] @ result.system.matrix[step.node]
        assert step.residual == pytest.approx(np.sqrt(np.mean((gap - step.intercept) ** 2)))
    if centre:
        fitted = result.system.predict(series.values[:-1]).mean(axis=0)
        before = series.values[:-1].mean(axis=0)
        assert np.allclose(fitted, before, rtol=1e-8, atol=1e-10)
    else:
        assert not result.system.intercept.any()


def test_dependent_parents_get_the_smallest_coefficients():
    random = np.random.default_rng(0)
    values = random.standard_normal((60, 3))
    values[:, 1] = 2.0 * values[:, 0]
    data = dynamics.TimeSeries.from_array(values)
    result = dynamics.learn(data, dynamics.SparsityEnforcing(adjacency=[[0, 1], [0, 1, 2], [2]]))
    for node, parents in enumerate([[0, 1], [0, 1, 2], [2]]):
        wanted = by_least_squares(data, node, parents)
        assert np.allclose(result.system.matrix[node, parents], wanted, atol=1e-10)


def test_true_system_is_recovered_without_noise(truth):
    data = dynamics.simulate_transitions(truth, 300, seed=1)
    adjacency = [truth.parents(i) for i in range(N)]
    given = dynamics.learn(data, dynamics.SparsityEnforcing(adjacency=adjacency))
    assert np.abs(given.system.matrix - truth.matrix).max() < 1e-6
    assert dynamics.coefficient_error(given.system, truth) < 1e-10
    most_parents = max(len(row) for row in adjacency)
    found = dynamics.learn(data, dynamics.SparsityInducing(parents=most_parents))
    assert dynamics.structure_recall(found.system, truth) == 1.0
    assert dynamics.coefficient_error(found.system, truth) < 1e-10


@pytest.mark.parametrize("solver", ["sgd", "coordinate"])
def test_inducing_selects_strongest_parents_and_refits(series, truth, solver):
    result = dynamics.learn(
        series, dynamics.SparsityInducing(parents=5, solver=solver, centre=True)
    )
    check_rows(result, series, 1e-8, centre=True)
    assert max(len(step.parents) for step in result.steps) <= 5
    assert dynamics.structure_recall(result.system, truth) > 0.9
    assert all(step.converged and step.passes >= 1 for step in result.steps)


@pytest.mark.parametrize("learner", [dynamics.SparsityInducing, ScalableStructure])
def test_subgradient_steps_require_gradient_descent(learner):
    assert learner(penalty="subgradient").penalty == "subgradient"
    with pytest.raises(InputError, match="use solver=sgd or penalty=proximal"):
        learner(penalty="subgradient", solver="coordinate")


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("rows", [1500, 20])
@pytest.mark.parametrize(
    "learner",
    [
        dynamics.Dense(),
        dynamics.SparsityInducing(parents=4),
        dynamics.SparsityInducing(parents=4, solver="coordinate"),
        ScalableStructure(parents=4, seeds=6),
    ],
    ids=["dense", "sgd", "coordinate", "scalable"],
)
def test_units_of_series_do_not_matter(series, learner, rows, centre):
    learner = dataclasses.replace(learner, centre=centre)
    values = series.values[:rows].copy()
    values[:, 5] = 0.0  # a series that cannot be standardised

    def learned(scale):
        data = dynamics.TimeSeries.from_array(values * scale)
        return dynamics.learn(data, learner)

    one = learned(1.0)
    for exponent in (-13, -6, 6, 13):
        other = learned(10.0**exponent)
        assert [s.parents.tolist() for s in other.steps] == [s.parents.tolist() for s in one.steps]
        assert other.pred_error_train == pytest.approx(one.pred_error_train, abs=1e-9)
    if rows < N and learner.name == "dense":
        return  # the solution of smallest norm depends on the units
    scale = 10.0 ** np.linspace(-13.0, 13.0, N)[::-1]
    rescaled = learned(scale).system.matrix / scale[:, None] * scale
    assert np.allclose(rescaled, one.system.matrix, rtol=1e-7, atol=0.0)


def test_constant_series_are_told_exactly():
    rng = np.random.default_rng(0)
    values = np.column_stack([np.full(300, 0.1), rng.normal(size=300)])
    result = dynamics.learn(
        dynamics.TimeSeries.from_array(values), dynamics.SparsityInducing(centre=True)
    )
    assert 0 not in result.system.parents(1)
    assert not len(result.system.parents(0))
    assert dynamics.season(dynamics.TimeSeries.from_array(values[:, :1])) is None


def test_scalable_equals_inducing_if_all_series_are_seeds(series):
    inducing = dynamics.learn(series, dynamics.SparsityInducing(parents=4), seed=2)
    scalable = dynamics.learn(series, ScalableStructure(parents=4, seeds=N), seed=2)
    assert np.array_equal(scalable.system.matrix, inducing.system.matrix)
    assert len(scalable.uncovered) == 0
    assert scalable.seeds.tolist() == list(range(N))


@pytest.mark.parametrize("uncovered", ["graft", "regress", "common"])
def test_every_series_is_a_seed_or_inferred_or_uncovered(series, truth, uncovered):
    learner = ScalableStructure(parents=3, seeds=3, uncovered=uncovered)
    result = dynamics.learn(series, learner, seed=1)
    kinds = {step.node: step.kind for step in result.steps}
    assert sorted(kinds) == list(range(N))
    seeds = [step for step in result.steps if step.kind == "seed"]
    assert [step.node for step in seeds] == result.seeds.tolist()
    parents_of_seeds = {int(j) for step in seeds for j in step.parents}
    for node, kind in kinds.items():
        wanted = "inferred" if node in parents_of_seeds else "uncovered"
        assert kind == ("seed" if node in result.seeds else wanted)
    assert result.uncovered.tolist() == sorted(k for k in kinds if kinds[k] == "uncovered")
    assert len(result.uncovered) > 0
    check_rows(result, series, 1e-8)
    for step in result.steps:
        if step.kind != "uncovered":
            continue
        if uncovered == "regress":
            alone = dynamics.learn(series, dynamics.SparsityInducing(parents=3), seed=1)
            assert np.array_equal(step.parents, alone.system.parents(step.node))
        if uncovered == "common":
            assert step.node in step.parents


def test_result_depends_on_seed_and_not_on_number_of_jobs(series):
    learner = ScalableStructure(parents=3, seeds=18, uncovered="regress")
    serial = dynamics.learn(series, learner, seed=5)
    with joblib.parallel_config(backend="threading"):
        parallel = dynamics.learn(series, learner, seed=5, jobs=2)
    assert np.array_equal(serial.system.matrix, parallel.system.matrix)
    assert [step.node for step in serial.steps] == [step.node for step in parallel.steps]
    assert serial.work == parallel.work
    assert dynamics.learn(series, learner, seed=6).seeds.tolist() != serial.seeds.tolist()


def test_work_is_linear_in_n_for_fixed_number_of_seeds():
    work = []
    for n in (40, 80, 160):
        data = dynamics.simulate(dynamics.random_system(n, density=0.05, seed=1), 300, seed=1)
        # A fixed number of passes, because the required number depends on the data.
        learner = ScalableStructure(
            parents=5,
            seeds=8,
            uncovered="common",
            max_passes=3,
            tolerance=1e-9,
            two_hop_tolerance=1e-9,
        )
        result = dynamics.learn(data, learner)
        work.append((result.work.structure, result.work.coefficients))
        assert sum(step.passes for step in result.steps) == 8 * 6
    (a, b), (c, d), (e, f) = work
    assert e / c == pytest.approx(2.0, rel=0.01)
    assert c / a == pytest.approx(2.0, rel=0.01)
    assert f == pytest.approx(2 * d, rel=0.05)
    assert d == pytest.approx(2 * b, rel=0.05)


def test_methods_of_choosing_seeds(series):
    known = standardise(series, centre=False)
    assert choose_seeds(known, 4, "activity", 0).tolist() == list(range(N - 4, N))
    # Spread seeds include only one of the first series and its six copies.
    random = np.random.default_rng(0)
    values = random.standard_normal((300, 10))
    values[:, 1:7] = values[:, :1] * np.arange(2.0, 8.0)
    copies = standardise(dynamics.TimeSeries.from_array(values), centre=False)
    assert choose_seeds(copies, 4, "spread", 0).tolist() == [6, 7, 8, 9]
    drawn = choose_seeds(known, 5, "random", 3)
    assert len(set(drawn.tolist())) == 5


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (dynamics.SparsityEnforcing(), "needs the parents of every series"),
        (dynamics.SparsityEnforcing(adjacency=[[0]]), "parents for 1 series; there are 24"),
        (dynamics.SparsityEnforcing(adjacency=[[24]] * N), "numbered 0 to 23"),
        (dynamics.SparsityInducing(parents=25), "only 24 series"),
        (ScalableStructure(seeds=25.0), "up to 24"),
    ],
)
def test_invalid_options_are_refused(series, learner, sentence):
    with pytest.raises(InputError, match=sentence):
        next(learner.steps(series))


def test_seeds_need_later_states(truth):
    pairs = dynamics.simulate_transitions(truth, 50)._replace(later=np.zeros((3, N)))
    with pytest.raises(InputError, match="at least 6 transitions need a second later state, but 3"):
        dynamics.learn(pairs, ScalableStructure(parents=5))


def test_interrupted_run_returns_learned_rows(series):
    def stop(step):
        if step.index == 4:
            seen.append(step)

    class Interrupted(dynamics.SparsityInducing):
        def steps(self, data, *, seed=0, jobs=None):
            for step in super().steps(data, seed=seed, jobs=jobs):
                if seen:
                    raise KeyboardInterrupt
                yield step

    seen: list[object] = []
    result = dynamics.learn(series, Interrupted(parents=3), callback=stop)
    assert not result.complete
    assert len(result.steps) == 5
    assert result.system.matrix[:5].any(axis=1).all()
    assert not result.system.matrix[5:].any()
    assert "5 of 24" in result.notes[0]


def test_step_is_immutable(series):
    step = next(dynamics.SparsityInducing(parents=3).steps(series))
    with pytest.raises(dataclasses.FrozenInstanceError):
        step.node = 3
    for array in (step.parents, step.coefficients):
        with pytest.raises(ValueError):
            array[0] = 0
    keys = {line.key for line in dynamics.SparsityInducing.pseudocode}
    assert set(step.lines) <= keys


def test_seeds_are_given_as_share_or_number():
    assert [seed_count(s, 50) for s in (0.2, 0.001, 1.0, 7.0, 50.0)] == [10, 1, 1, 7, 50]
    for wrong in (2.5, 51.0):
        with pytest.raises(InputError, match="a share below 1 or a whole number up to 50"):
            seed_count(wrong, 50)


def test_notes_about_results_are_true():
    constant = dynamics.TimeSeries.from_array(np.full((50, 2), 0.1))
    assert dynamics.learn(constant, dynamics.Dense()).notes == ()  # radius 1 but for rounding
    grows = dynamics.TimeSeries.from_array(1.1 ** np.arange(50)[:, None])
    assert "above 1" in dynamics.learn(grows, dynamics.Dense()).notes[0]
    two = dynamics.TimeSeries.from_array(np.random.default_rng(0).normal(size=(2, 3)))
    assert dynamics.learn(two, dynamics.Dense()).notes[0].startswith("1 transition cannot")
    zero = dynamics.TimeSeries.from_array(np.zeros((50, 2)))
    notes = dynamics.learn(zero, dynamics.Dense()).notes
    assert (
        "All training values to predict are zero, so their PredError is undefined (nan)." in notes
    )
