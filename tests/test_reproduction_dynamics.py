"""Chapter 2 of the thesis: judges on made-up results, and what the parts measure."""

from __future__ import annotations

import numpy as np
import pytest

from graftviz import dynamics
from graftviz.dynamics import Dense, ScalableStructure, SparsityInducing
from graftviz.experiments.reproduction import dynamics_growth as growth
from graftviz.experiments.reproduction import dynamics_noise_verdicts as judged
from graftviz.experiments.reproduction import dynamics_seeds as seeds
from graftviz.experiments.reproduction import dynamics_sweep as sweep
from graftviz.experiments.reproduction import dynamics_week as week
from graftviz.experiments.reproduction import dynamics_work as work
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dynamics_city import WEEK, CityPart, CitySize, city_of
from graftviz.experiments.reproduction.dynamics_methods import (
    COEFFICIENTS,
    DENSE,
    ENFORCING,
    FRACTIONS,
    INDUCING,
    MEASURES,
    PREDICTION,
    STRUCTURE,
    mean_line,
    measured,
    scalable,
)
from graftviz.experiments.reproduction.dynamics_noise import (
    NoisePart,
    NoiseStudy,
    NoisySystems,
    noisy,
)
from graftviz.experiments.reproduction.experiment import REHEARSAL, NotMeasured
from graftviz.experiments.reproduction.thesis_dynamics import EXPERIMENTS
from graftviz.figures.reproduction import scale_look
from graftviz.figures.reproduction_dynamics import SpreadLine, SpreadPanel, spread_figure

SETUP = NoisySystems(20, 60, 6, 300, (0.0, 0.5, 1.0), 2)
CITY = CitySize(3, 3, 6, 10_000)
K = SETUP.parents


def ignore(done):
    """Tell nobody how far it is."""


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
    told = parts[ENFORCING].measure(Data(), ignore)
    assert told[STRUCTURE] == [1.0] * 3
    assert max(told[key][0] for key in (COEFFICIENTS, PREDICTION)) < 1e-12
    assert told[COEFFICIENTS][0] < told[COEFFICIENTS][1] < told[COEFFICIENTS][2]
    assert told == parts[ENFORCING].measure(Data(), ignore)
    whole = parts[DENSE].measure(Data(), ignore)
    assert whole[PREDICTION][0] < 1e-12
    assert whole[PREDICTION][2] > told[PREDICTION][2]


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
        assert len(noisy(some).of) == min(count, len(SETUP.methods))
        drawn = study.figure("title", some)
        assert len(drawn.data) == 2 * len(noisy(some).of)
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
    for claim in growth.CLAIMS[:5]:
        assert claim.judge(good).held is True, claim.words
    assert growth.linear_with_fixed_seeds(good).numbers["power_of_n"]["operations"] == (
        pytest.approx(1.0)
    )
    ratios = growth.scalable_is_faster(good).numbers["seconds_ratio"]
    assert ratios == {str(n): pytest.approx(5.0) for n in SIZES.n}
    bad = costs((1.0, 1.0, 1.5, 1.6))
    for claim in growth.CLAIMS[:5]:
        assert claim.judge(bad).held is False, claim.words
    assert growth.fewer_steps_than_rows(good).held is False
    assert growth.fewer_steps_than_rows(bad).held is True
    drawn = growth.GrowthStudy({REHEARSAL: SIZES}).figure("title", good)
    assert len(drawn.data) == 8
    with pytest.raises(NotMeasured):
        growth.scalable_is_faster({})


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
    told = {(row["method"], row["phase"], row["factor"]): row for row in study.summary(results)}
    assert told[work.SCALABLE, "structure", "n"]["exponent"] == pytest.approx(2.0, abs=0.02)
    assert told[work.SCALABLE, "structure", "n"]["stated"] == 1


# --- the city -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts_file(tmp_path_factory):
    """Counts of seven series, one of them hardly active and one that never changes."""
    path = tmp_path_factory.mktemp("given") / "counts.csv"
    values = np.random.default_rng(3).poisson((4.0, 8.0, 16.0, 2.0, 32.0, 0.05, 1.0), (4 * WEEK, 7))
    values[:, 6] = 5
    names = ",".join("abcdefg")
    np.savetxt(path, values, fmt="%d", delimiter=",", header=names, comments="")
    return path


def test_given_series_take_the_place_of_the_made_up_city(counts_file):
    data = Data({"series": counts_file})
    part = CityPart(CITY, DENSE, Dense(), 0, 0)
    assert part.settings(data) != part.settings(Data())
    city = city_of(data, CITY._replace(most_series=3), 0)
    assert city.train.names == ("b", "c", "e")
    whole = np.vstack([city.train.values, city.test.values])
    assert whole.max(axis=0).tolist() == [1.0] * 3
    assert city.test.n_rows == WEEK
    assert city_of(data, CITY, 0).train.names == tuple("abcde")
    assert "counts.csv: 5 series" in part.measure(data, ignore)["data"]
    short = city_of(data, CITY._replace(most_rows=200), 0)
    assert (short.train.n_rows, short.test.n_rows) == (160, 40)


def test_forecasts_of_the_busiest_are_those_of_the_system():
    size = CitySize(3, 3, 9, 10_000)
    found = CityPart(size, DENSE, Dense(), 0, 5, busiest=2).measure(Data(), ignore)
    city = city_of(Data(), size, 5)
    system = dynamics.learn(city.train, Dense()).system
    raw = dynamics.simulate_city(3, 3 * WEEK, seed=5).values.sum(axis=0)
    for one, i in zip(found["forecasts"], np.argsort(-raw)[:2], strict=True):
        assert one["name"] == city.train.names[i]
        assert np.allclose(one["predicted"], dynamics.one_step(system, city.test.values)[:, i])
        assert np.allclose(one["actual"], city.test.values[1:, i])
        residuals = dynamics.one_step(system, city.train.values) - city.train.values[1:]
        assert one["deviation"] == pytest.approx(np.sqrt(np.mean(residuals[:, i] ** 2)))
    error = dynamics.prediction_error(system, city.test, steps=6)
    assert found["test"]["6"] == pytest.approx(error)


def test_no_more_parents_are_asked_for_than_there_are():
    part = CityPart(CITY, INDUCING, SparsityInducing(parents=50), 0, 0)
    assert part.measure(Data(), ignore)["parents"] == 6


def city_results(errors):
    """Return made-up results by (name, learner): training error and held-out errors by draw."""
    found = {}
    for (name, learner), (train, tests) in errors.items():
        for draw, test in enumerate(tests):
            found[CityPart(CITY, name, learner, draw, 0)] = {
                **{"data": "a city", "n": 300, "seeds": 3, "unspoken": 0, "train": train},
                **{"persistence": 1.0, "spectral_radius": 0.9},
                "parents": getattr(learner, "parents", 300),
                "test": {"1": test, "6": test, "24": None},
            }
    return found


def of_seeds(tenth, fifth, *, dense=(0.1, 0.9), inducing=0.5):
    def at(share, common=False):
        return ScalableStructure(parents=50, seeds=share, unspoken="common" if common else "graft")

    return city_results(
        {
            (DENSE, Dense()): (dense[0], [dense[1]]),
            (INDUCING, SparsityInducing(parents=50)): (0.4, [inducing]),
            (sweep.SCALABLE, at(0.1)): (0.4, [tenth, tenth + 0.002]),
            (sweep.COMMON, at(0.1, True)): (0.4, [tenth, tenth]),
            (sweep.SCALABLE, at(0.2)): (0.4, [fifth]),
            (sweep.COMMON, at(0.2, True)): (0.4, [fifth]),
        }
    )


def test_seeds_on_the_city_are_judged():
    dense, tenth, fifth = (claim.judge for claim in sweep.SEED_CLAIMS)
    good = of_seeds(0.52, 0.505)
    assert (dense(good).held, tenth(good).held, fifth(good).held) == (True, True, True)
    assert tenth(good).numbers["inducing"] == 0.5
    bad = of_seeds(0.6, 0.52, dense=(0.45, 0.4))
    assert (dense(bad).held, tenth(bad).held, fifth(bad).held) == (False, False, False)
    assert dense(of_seeds(0.6, 0.52, dense=(0.1, 0.55))).held == "partly"
    with pytest.raises(NotMeasured):
        tenth({})
    study = sweep.SweepStudy({}, "seeds")
    drawn = study.figure("title", good)
    levels = {trace.name: trace.y for trace in drawn.data[:4]}
    assert set(levels[DENSE]) == {0.9}
    assert all(value is None for trace in drawn.data[8:] for value in trace.y)  # no forecast there


def of_parents(errors):
    found = {(DENSE, Dense()): (0.1, [0.6])}
    for k, error in errors.items():
        found[INDUCING, SparsityInducing(parents=k)] = (0.4, [error])
        found[sweep.SCALABLE, ScalableStructure(parents=k, seeds=0.15)] = (0.4, [error, error])
    return city_results(found)


def test_the_number_of_parents_is_judged():
    some, fifty = (claim.judge for claim in sweep.PARENT_CLAIMS)
    good = of_parents({5: 0.5, 20: 0.45, 50: 0.44, 100: 0.5})
    assert (some(good).held, fifty(good).held) == (True, True)
    bad = of_parents({5: 0.61, 20: 0.62, 50: 0.7, 100: 0.8})
    assert (some(bad).held, fifty(bad).held) == (False, False)
    falling = of_parents({5: 0.5, 20: 0.45, 50: 0.44, 100: 0.43})
    assert some(falling).held == "partly"
    with pytest.raises(NotMeasured, match="about 50"):
        fifty(of_parents({5: 0.5, 10: 0.4}))


def a_week(predicted, baseline):
    hours = np.arange(WEEK)
    seen = 1.0 + np.sin(hours * np.pi / 12.0)

    def forecasts(noise, seed):
        random = np.random.default_rng(seed)
        return [
            {
                **{"name": name, "deviation": 0.1, "actual": seen.tolist()},
                "predicted": (seen + noise * random.standard_normal(WEEK)).tolist(),
            }
            for name in "abcd"
        ]

    study = week.WeekStudy({REHEARSAL: CITY})
    noises = zip(study.parts(REHEARSAL, 0), (predicted, baseline), strict=True)
    return {
        part: {"data": "a city", "forecasts": forecasts(noise, k)}
        for k, (part, noise) in enumerate(noises)
    }


def test_a_week_is_judged():
    follows, wrong = (claim.judge for claim in week.CLAIMS)
    good = a_week(0.05, 0.2)
    assert (follows(good).held, wrong(good).held) == (True, True)
    bad = a_week(0.9, 0.9)
    assert (follows(bad).held, wrong(bad).held) == (False, False)
    study = week.WeekStudy({REHEARSAL: CITY})
    assert len(study.figure("title", good).data) == 4 * 5
    first = dict(list(good.items())[:1])
    assert len(study.figure("title", first).data) == 4 * 5
    assert list(study.rows(first)) == [next(iter(study.rows(good)))]
    for judge in (follows, wrong):
        with pytest.raises(NotMeasured):
            judge(first)


# --- seeds --------------------------------------------------------------------------------------

SEEDS = seeds.SeedSizes(20, 60, 5, 200, (0.1, 0.3), 3, CITY)


def chosen(gain):
    """Return made-up results in which active seeds are better by `gain`, and spread ones worse."""
    study = seeds.SeedsStudy({REHEARSAL: SEEDS})
    shift = {seeds.ACTIVITY: gain, seeds.SPREAD: -gain}
    found = {}
    for part in study.parts(REHEARSAL, 0):
        if isinstance(part, CityPart):
            error = 0.5 + 0.01 * ((part.draw + 1) % 3 - 1) - shift.get(part.name, 0.0)
            found[part] = {"data": "a city", "test": {"1": error}}
        else:
            better = shift.get(part.choice, 0.0) + 0.01 * part.number
            count = 1 if part.choice == INDUCING else len(SEEDS.shares)
            found[part] = {key: [0.5 - better] * count for key in MEASURES}
            found[part][STRUCTURE] = [0.5 + better] * count
    return found


def test_choices_of_seeds_are_compared_with_random_ones():
    active, spread, city = (claim.judge for claim in seeds.CLAIMS)
    found = chosen(0.1)
    assert (active(found).held, spread(found).held, city(found).held) == (True, False, "partly")
    none = chosen(0.0)
    assert (active(none).held, spread(none).held, city(none).held) == (False, False, False)
    assert "(inducing 0.510)" in active(none).sentence
    study = seeds.SeedsStudy({REHEARSAL: SEEDS})
    assert len(study.figure("title", found).data) == 3 * 4
    first = dict(list(found.items())[:1])
    assert len(study.figure("title", first).data) == 2
    assert study.summary({}) == []
    for row in study.summary(found):
        assert (row["inducing_structure_recall"] is None) == (row["data"] == "a city")
    with pytest.raises(NotMeasured):
        active(first)


def test_with_all_as_seeds_the_choice_does_not_matter():
    sizes = SEEDS._replace(shares=(20.0,))
    whole = seeds.SeedsPart(sizes, 0, INDUCING, 0).measure(Data(), ignore)
    for choice in (seeds.RANDOM, seeds.SPREAD):
        found = seeds.SeedsPart(sizes, 0, choice, 0).measure(Data(), ignore)
        assert all(found[key] == pytest.approx(whole[key], rel=1e-9) for key in MEASURES)


# --- what all share -----------------------------------------------------------------------------


def test_all_measures_of_the_truth_are_perfect():
    truth = dynamics.random_system(8, density=0.3, seed=1)
    test = dynamics.simulate_transitions(truth, 30, seed=2)
    found = measured(truth, truth, test)
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
