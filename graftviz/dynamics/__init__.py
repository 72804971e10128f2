"""Linear dynamical systems: learning the transition matrix of many time series, row by row.

>>> from graftviz import dynamics
>>> truth = dynamics.random_system(12, density=0.2, seed=1)
>>> series = dynamics.simulate(truth, 2000, seed=1)
>>> result = dynamics.learn(series, dynamics.SparsityInducing(parents=4))
>>> dynamics.coefficient_error(result.system, truth) < 0.2
True
"""

from graftviz.data.series.reading import read_parents, read_series
from graftviz.data.series.series import TimeSeries, Transitions
from graftviz.dynamics.base import DynamicsLearner, DynamicsOutcome, NodeStep, Work
from graftviz.dynamics.learners import (
    LEARNERS,
    Dense,
    ScalableStructure,
    SparsityEnforcing,
    SparsityInducing,
    dynamics_learner,
    has_seeds,
    takes_parents,
)
from graftviz.dynamics.learning import DynamicsResult, learn
from graftviz.dynamics.simulation import (
    random_system,
    simulate,
    simulate_city,
    simulate_transitions,
)
from graftviz.dynamics.system import (
    Baseline,
    LinearSystem,
    baseline,
    coefficient_deviations,
    coefficient_error,
    predict,
    prediction_deviation,
    prediction_error,
    residual_deviation,
    season,
    structure_precision,
    structure_recall,
)

__all__ = [
    "LEARNERS",
    "Baseline",
    "Dense",
    "DynamicsLearner",
    "DynamicsOutcome",
    "DynamicsResult",
    "LinearSystem",
    "NodeStep",
    "ScalableStructure",
    "SparsityEnforcing",
    "SparsityInducing",
    "TimeSeries",
    "Transitions",
    "Work",
    "baseline",
    "coefficient_deviations",
    "coefficient_error",
    "dynamics_learner",
    "has_seeds",
    "learn",
    "predict",
    "prediction_deviation",
    "prediction_error",
    "random_system",
    "read_parents",
    "read_series",
    "residual_deviation",
    "season",
    "simulate",
    "simulate_city",
    "simulate_transitions",
    "structure_precision",
    "structure_recall",
    "takes_parents",
]
