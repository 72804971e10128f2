"""Linear dynamical systems: learning the transition matrix of many time series, row by row.

>>> from graftviz import dynamics
>>> truth = dynamics.random_system(12, density=0.2, seed=1)
>>> series = dynamics.simulate(truth, 2000, seed=1)
>>> result = dynamics.learn(series, dynamics.SparsityInducing(parents=4))
>>> dynamics.coefficient_error(result.system, truth) < 0.2
True
"""

from __future__ import annotations

from graftviz.dynamics.adjacency import read_parents
from graftviz.dynamics.base import DynamicsLearner, DynamicsOutcome, NodeStep, Work
from graftviz.dynamics.dense import Dense
from graftviz.dynamics.enforcing import SparsityEnforcing
from graftviz.dynamics.forecast import one_step, residual_deviation, several_steps
from graftviz.dynamics.grid_city import simulate_city
from graftviz.dynamics.inducing import SparsityInducing
from graftviz.dynamics.learning import DynamicsResult
from graftviz.dynamics.learning import learn_dynamics as learn
from graftviz.dynamics.metrics import (
    coefficient_error,
    prediction_error,
    structure_precision,
    structure_recall,
)
from graftviz.dynamics.reading import read_series
from graftviz.dynamics.registry import LEARNERS, dynamics_learner
from graftviz.dynamics.scalable import ScalableStructure
from graftviz.dynamics.series import TimeSeries, Transitions, series_of
from graftviz.dynamics.simulate import random_system, simulate, simulate_transitions
from graftviz.dynamics.system import LinearSystem, system_of

__all__ = [
    "LEARNERS",
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
    "coefficient_error",
    "dynamics_learner",
    "learn",
    "one_step",
    "prediction_error",
    "random_system",
    "read_parents",
    "read_series",
    "residual_deviation",
    "series_of",
    "several_steps",
    "simulate",
    "simulate_city",
    "simulate_transitions",
    "structure_precision",
    "structure_recall",
    "system_of",
]
