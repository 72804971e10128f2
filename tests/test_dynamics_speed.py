"""Growth of the cost of learning a linear dynamical system: takes minutes, so nightly."""

from __future__ import annotations

import pytest

from graftviz import dynamics

pytestmark = pytest.mark.nightly


def warm_up(*learners):
    tiny = dynamics.simulate(dynamics.random_system(6, density=0.5), 60)
    for learner in learners:
        dynamics.learn(tiny, type(learner)(parents=2))


def test_a_tenth_as_seeds_is_five_times_as_fast_as_regressing_all():
    """1,000 series, 12,500 rows, density 0.1, as in the thesis's figure 2.2."""
    data = dynamics.simulate(dynamics.random_system(1000, density=0.1, seed=1), 12_500, seed=1)
    scalable = dynamics.ScalableStructure(parents=15, seeds=0.1)
    inducing = dynamics.SparsityInducing(parents=15)
    warm_up(scalable, inducing)
    few, all_of_them = (dynamics.learn(data, one).seconds for one in (scalable, inducing))
    assert all_of_them / few >= 5.0


def test_with_a_fixed_number_of_seeds_time_is_linear_in_n():
    learner = dynamics.ScalableStructure(
        parents=15, seeds=40, unspoken="common", max_passes=5, tolerance=1e-9,
        two_hop_tolerance=1e-9,
    )  # fmt: skip
    warm_up(learner)
    seconds = []
    for n in (400, 800, 1600):
        system = dynamics.random_system(n, entries=10 * n, seed=1)
        seconds.append(dynamics.learn(dynamics.simulate(system, 5000, seed=1), learner).seconds)
    assert seconds[2] / seconds[0] < 8.0  # linear in n: 4, and what caches lose; quadratic: 16
