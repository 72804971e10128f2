"""Figures 2.6 to 2.8 of the thesis and the choice of seeds: judges, and what the parts measure."""

from __future__ import annotations

import numpy as np
import pytest

from graftviz import dynamics
from graftviz.dynamics import Dense, ScalableStructure, SparsityInducing
from graftviz.errors import InputError
from graftviz.experiments.reproduction import (
    dynamics_seeds as seeds,
    dynamics_sweep as sweep,
    dynamics_week as week,
)
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dynamics_city import WEEK, CityPart, CitySize, city_of
from graftviz.experiments.reproduction.dynamics_methods import DENSE, INDUCING, MEASURES, STRUCTURE
from graftviz.experiments.reproduction.experiment import REHEARSAL, NotMeasured

CITY = CitySize(3, 3, 6, 10_000)


def ignore(done):
    """Ignore the progress."""


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


def test_too_little_activity_is_refused(tmp_path):
    for values in (np.eye(50)[:, :4], np.arange(60.0).reshape(20, 3)):
        path = tmp_path / f"{len(values)}.npz"
        np.savez(path, X=values)
        with pytest.raises(InputError, match="at least 30 rows and 2 series are needed"):
            city_of(Data({"series": path}), CITY, 0)


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
    assert {trace.x for trace in drawn.data[:4]} == {(0.1, 0.2)}
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
