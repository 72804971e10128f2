"""Registry of the learners of linear dynamical systems by name."""

from __future__ import annotations

from typing import TypeGuard

from graftviz.dynamics.base import DynamicsLearner
from graftviz.dynamics.dense import Dense
from graftviz.dynamics.enforcing import SparsityEnforcing
from graftviz.dynamics.inducing import SparsityInducing
from graftviz.dynamics.scalable import ScalableStructure
from graftviz.utils.errors import InputError

LEARNERS: dict[str, type[DynamicsLearner]] = {
    cls.name: cls for cls in (Dense, SparsityEnforcing, SparsityInducing, ScalableStructure)
}


def dynamics_learner(name: str) -> type[DynamicsLearner]:
    """Return the learner with the given name.

    Raises
    ------
    InputError
        For an unknown name; the message lists the learners.

    Examples
    --------
    >>> dynamics.dynamics_learner("dense")
    <class 'graftviz.dynamics.dense.Dense'>
    """
    if name not in LEARNERS:
        raise InputError(f"There is no learner {name!r}; the learners are {', '.join(LEARNERS)}.")
    return LEARNERS[name]


def has_seeds(learner: DynamicsLearner) -> TypeGuard[ScalableStructure]:
    """Return whether a learner regresses seeds only and infers the other rows from these.

    Examples
    --------
    >>> dynamics.has_seeds(dynamics.ScalableStructure())
    True
    """
    return isinstance(learner, ScalableStructure)


def takes_parents(learner: DynamicsLearner) -> TypeGuard[SparsityEnforcing]:
    """Return whether a learner requires the parents of every series.

    Examples
    --------
    >>> dynamics.takes_parents(dynamics.SparsityEnforcing())
    True
    """
    return isinstance(learner, SparsityEnforcing)
