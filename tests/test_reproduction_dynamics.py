"""Chapter 2 of the thesis: judges on made-up results, and what the parts measure."""

from __future__ import annotations

import pytest

from graftviz import dynamics
from graftviz.dynamics import Dense
from graftviz.experiments.reproduction import (
    dynamics_growth as growth,
    dynamics_growth_verdicts as growth_judged,
    dynamics_noise_verdicts as judged,
    dynamics_work as work,
)
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dynamics_city import CitySize
from graftviz.experiments.reproduction.dynamics_methods import (
    COEFFICIENTS,
    DENSE,
    ENFORCING,
    FRACTIONS,
    INDUCING,
    MEASURES,
    PREDICTION,
    STRUCTURE,
    all_measures,
    learn_single_threaded,
    mean_line,
    scalable,
)
from graftviz.experiments.reproduction.dynamics_noise import (
    NoisePart,
    NoiseStudy,
    NoisySystems,
    collect_noise_results,
)
from graftviz.experiments.reproduction.experiment import REHEARSAL, NotMeasured
from graftviz.experiments.reproduction.thesis_dynamics import EXPERIMENTS
from graftviz.figures.reproduction import scale_look
from graftviz.figures.reproduction_dynamics import SpreadLine, SpreadPanel, spread_figure

SETUP = NoisySystems(20, 60, 6, 300, (0.0, 0.5, 1.0), 2)
CITY = CitySize(3, 3, 6, 10_000)
K = SETUP.parents


def ignore(done):
    """Ignore the progress."""


# --- noise --------------------------------------------------------------------------------------


def family(values, common):
    names = [scalable(K, share, common=common).name for share in FRACTIONS]
    return dict(zip(names, values, strict=True))


def at_levels(levels):
    """Return made-up results in which every measure of a method has these values at the levels."""
    return {
        NoisePart(SETUP, number, method, 0): {
            key: [value + 0.001 * number for value in levels[method.name]] for key in MEASURES
        }
        for number in range(SETUP.systems)
        for method in SETUP.methods
    }


def noise_results(*, dense, inducing, some, others=None):
    """`some` and `others` are three rows: few, more and many seeds, grafted and in common."""
    levels = {DENSE: dense, INDUCING: inducing, ENFORCING: (0.0, 0.05, 0.1)}
    return at_levels(levels | family(some, False) | family(others or some, True))


AS_THE_THESIS_SAYS = noise_results(
    dense=(0.0, 0.5, 0.9),
    inducing=(0.0, 0.1, 0.3),
    some=((0.3, 0.32, 0.329), (0.2, 0.25, 0.32), (0.1, 0.2, 0.31)),
)
THE_OTHER_WAY = noise_results(
    dense=(0.3, 0.05, 0.02),
    inducing=(0.9, 0.6, 0.5),
    some=((0.1, 0.2, 0.6), (0.2, 0.3, 0.7), (0.3, 0.4, 0.8)),
)


@pytest.mark.parametrize(
    "judge",
    [
        judged.errors_grow_with_noise,
        judged.inducing_errs_least,
        judged.more_seeds_are_better(COEFFICIENTS),
        judged.more_seeds_are_better(PREDICTION),
        judged.dense_is_as_good_without_noise,
        judged.dense_overfits(),
        judged.two_steps_alike,
        judged.scalable_reaches_inducing,
    ],
)
def test_errors_against_noise_are_judged(judge):
    assert judge(AS_THE_THESIS_SAYS).held is True
    assert judge(THE_OTHER_WAY).held in (False, "partly")
    assert judge(AS_THE_THESIS_SAYS).numbers


def test_recovered_structure_is_judged_and_told_beside_inducing():
    more = ((0.1, 0.1, 0.1), (0.2, 0.2, 0.2), (0.3, 0.3, 0.3))
    good = noise_results(dense=(1.0,) * 3, inducing=(0.9, 0.9, 0.8), some=more)
    bad = noise_results(dense=(1.0,) * 3, inducing=(0.05,) * 3, some=more[::-1])
    half = noise_results(dense=(1.0,) * 3, inducing=(0.9, 0.9, 0.8), some=more, others=more[::-1])
    best, rising = judged.inducing_recovers_best, judged.more_seeds_are_better(STRUCTURE)
    assert (best(good).held, rising(good).held) == (True, True)
    assert (best(bad).held, rising(bad).held) == (False, False)
    assert rising(half).held == "partly"
    assert f"{INDUCING}: 0.867" in rising(good).sentence
    assert f"parents at random would give {K / SETUP.n:.2f}" in best(good).sentence
    study = NoiseStudy({REHEARSAL: SETUP}, (STRUCTURE,))
    for row in study.summary(good):
        assert row["inducing_structure_recall_mean"] == pytest.approx(0.9005 - 0.1 * row["noise"])


def test_dense_that_overfits_less_than_some_holds_in_part():
    some = noise_results(
        dense=(0.0, 0.2, 0.4),
        inducing=(0.0, 0.1, 0.3),
        some=((0.7, 0.7, 0.7), (0.6, 0.6, 0.6), (0.1, 0.15, 0.35)),
    )
    found = judged.dense_overfits()(some)
    assert found.held == "partly"
    assert "sparsity inducing at 2 of 2, scalable, 10% seeds at 0 of 2" in found.sentence


def test_without_noise_known_parents_give_the_truth_and_noise_is_paired():
    parts = {method.name: NoisePart(SETUP, 1, method, 0) for method in SETUP.methods}
    measured = parts[ENFORCING].measure(Data(), ignore)
    assert measured[STRUCTURE] == [1.0] * 3
    assert max(measured[key][0] for key in (COEFFICIENTS, PREDICTION)) < 1e-12
    assert measured[COEFFICIENTS][0] < measured[COEFFICIENTS][1] < measured[COEFFICIENTS][2]
    assert measured == parts[ENFORCING].measure(Data(), ignore)
    whole = parts[DENSE].measure(Data(), ignore)
    assert whole[PREDICTION][0] < 1e-12
    assert whole[PREDICTION][2] > measured[PREDICTION][2]


def test_parts_of_other_systems_are_other_parts_and_more_systems_reuse_them():
    more = SETUP._replace(systems=50)
    method = SETUP.methods[1]
    one, same = (NoisePart(setup, 1, method, 0).settings(Data()) for setup in (SETUP, more))
    assert one == same
    for other in (
        NoisePart(SETUP, 0, method, 0),
        NoisePart(SETUP, 1, SETUP.methods[0], 0),
        NoisePart(SETUP._replace(rows=301), 1, method, 0),
        NoisePart(SETUP, 1, method, 1),
    ):
        assert other.settings(Data()) != one


def test_an_interrupted_figure_is_drawn_of_what_there_is():
    study = NoiseStudy({REHEARSAL: SETUP}, (STRUCTURE, PREDICTION))
    parts = study.parts(REHEARSAL, 0)
    for count in (1, len(SETUP.methods) + 1):
        some = {part: AS_THE_THESIS_SAYS[part] for part in parts[:count]}
        assert len(collect_noise_results(some).of) == min(count, len(SETUP.methods))
        drawn = study.figure("title", some)
        assert len(drawn.data) == 2 * len(collect_noise_results(some).of)
        assert study.summary(some)
    assert study.summary({}) == []
    with pytest.raises(NotMeasured):
        judged.inducing_recovers_best({parts[0]: AS_THE_THESIS_SAYS[parts[0]]})


# --- growth and counted work --------------------------------------------------------------------

SIZES = growth.Sizes((50, 100, 200, 400), 400, 1000, 5, 2)


def costs(powers, factors=None):
    """Return made-up costs: a power of n for each method of SIZES, in order."""
    factors = factors or (1.0,) * 4
    study = growth.GrowthStudy({REHEARSAL: SIZES})
    names = [method.name for method in SIZES.methods]
    exponents = dict(zip(names, zip(powers, factors, strict=True), strict=True))
    found = {}
    for part in study.parts(REHEARSAL, 0):
        exponent, factor = exponents[part.method.name]
        cost = factor * part.n**exponent
        found[part] = {
            **{"seconds": cost, "operations": 10.0 * cost, "structure": 1, "coefficients": 1},
            **{"passes": 0.5 * exponent, "seeds": 1, "unspoken": 0},
        }
    return found


def test_growth_is_judged_by_powers_of_n():
    good = costs((3.0, 2.0, 2.0, 1.0), (0.05, 1.0, 0.2, 1.0))
    for claim in growth_judged.CLAIMS[:5]:
        assert claim.judge(good).held is True, claim.words
    assert growth_judged.linear_with_fixed_seeds(good).numbers["power_of_n"]["operations"] == (
        pytest.approx(1.0)
    )
    ratios = growth_judged.scalable_is_faster(good).numbers["seconds_ratio"]
    assert ratios == {str(n): pytest.approx(5.0) for n in SIZES.n}
    bad = costs((1.0, 1.0, 1.5, 1.6))
    for claim in growth_judged.CLAIMS[:5]:
        assert claim.judge(bad).held is False, claim.words
    assert growth_judged.fewer_steps_than_rows(good).held is False
    assert growth_judged.fewer_steps_than_rows(bad).held is True
    drawn = growth.GrowthStudy({REHEARSAL: SIZES}).figure("title", good)
    assert len(drawn.data) == 8
    with pytest.raises(NotMeasured):
        growth_judged.scalable_is_faster({})


def test_methods_that_look_at_every_series_stop_at_their_largest_n():
    study = growth.GrowthStudy({REHEARSAL: SIZES._replace(most_whole=100)})
    largest = {}
    for part in study.parts(REHEARSAL, 0):
        largest[part.method.name] = max(part.n, largest.get(part.method.name, 0))
    assert sorted(largest.values()) == [100, 100, 400, 400]


def test_work_is_counted_as_the_table_states():
    study = work.WorkStudy(
        {REHEARSAL: (work.Amounts(16, 80, 2, 2, 4), work.Amounts(32, 8, 2, 2, 4))}
    )
    results = {part: part.measure(Data(), ignore) for part in study.parts(REHEARSAL, 0)}
    assert [claim.judge(results).held for claim in work.CLAIMS] == [True] * 4
    for part, result in results.items():  # a wrong exponent is noticed
        if (part.method, part.factor) == (work.SCALABLE, "n"):
            result["structure"] *= part.multiple
    assert work.CLAIMS[3].judge(results).held == "partly"
    measured = {(row["method"], row["phase"], row["factor"]): row for row in study.summary(results)}
    assert measured[work.SCALABLE, "structure", "n"]["exponent"] == pytest.approx(2.0, abs=0.02)
    assert measured[work.SCALABLE, "structure", "n"]["stated"] == 1


# --- what all share -----------------------------------------------------------------------------


def test_an_interrupted_system_is_not_measured(monkeypatch):
    train = dynamics.simulate(dynamics.random_system(6, density=0.4, seed=1), 50, seed=1)
    steps = Dense.steps

    def interrupted(learner, data, **more):
        yield next(steps(learner, data, **more))
        raise KeyboardInterrupt

    monkeypatch.setattr(Dense, "steps", interrupted)
    assert not dynamics.learn(train, Dense()).complete
    with pytest.raises(KeyboardInterrupt):
        learn_single_threaded(train, Dense(), 0)


def test_all_measures_of_the_truth_are_perfect():
    truth = dynamics.random_system(8, density=0.3, seed=1)
    test = dynamics.simulate_transitions(truth, 30, seed=2)
    found = all_measures(truth, truth, test)
    assert set(found) == set(MEASURES)
    assert [found[key] for key in MEASURES] == pytest.approx([1.0, 1.0, 0.0, 0.0, 0.0], abs=1e-12)


def test_lines_have_means_spreads_and_holes():
    line = mean_line("a", {1.0: [1.0, 3.0], 2.0: [1.0, float("inf")]}, scale_look(0))
    assert line.y == [2.0, None]
    assert list(line.spread) == [1.0, 0.0]
    assert not mean_line("a", {1.0: [1.0]}, scale_look(0)).spread
    drawn = spread_figure(
        "t",
        [SpreadPanel("p", "x", "y", [SpreadLine("a", [1], [0.0], (), scale_look(0))], True, True)],
    )
    assert drawn.data[0].y == (None,)  # nothing is nowhere on a logarithmic axis


def test_every_method_has_a_look_of_its_own():
    for methods in (SETUP.methods, SIZES.methods):
        looks = {(method.look.dash, method.look.symbol) for method in methods}
        assert len(looks) == len(methods)


def test_the_chapter_is_whole():
    names = {item.name for item in EXPERIMENTS}
    wanted = {f"thesis-fig2.{k}" for k in range(2, 9)} | {"thesis-table2.1", "thesis-seeds"}
    assert names == wanted
    for item in EXPERIMENTS:
        assert item.study.needs() == ()
