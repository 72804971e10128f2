"""Registry of learners."""

from __future__ import annotations

from typing import Any

from graftviz.data.reading.reading import Tabular, as_table
from graftviz.data.table import DiscreteTable
from graftviz.learning.base import Learner
from graftviz.learning.bounded.bounded_inference import BoundedInference
from graftviz.learning.features.grafting import FeatureGrafting, GraftingLight
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.edge_grafting import EdgeGrafting, FirstHit
from graftviz.learning.nodewise.nodewise_l1 import NodewiseL1
from graftviz.learning.pruning.forced_pruning import ForcedPruning
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.utils.errors import InputError

DEFAULT = "best-choice"  # learner of all functions and commands that have one


LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        BestChoice,
        BoundedInference,
        ChowLiu,
        EdgeGrafting,
        FeatureGrafting,
        FirstHit,
        ForcedPruning,
        GraftingLight,
        NodewiseL1,
    )
}


def learner_names() -> tuple[str, ...]:
    """Return the names of all learners, sorted."""
    return tuple(sorted(LEARNERS))


def learner_class(name: str) -> type[Learner]:
    """Return the learner class with this name.

    Raises
    ------
    InputError
        If there is none; the message lists the available learners.
    """
    if name not in LEARNERS:
        names = ", ".join(learner_names())
        raise InputError(f"There is no learner {name!r}; the learners are {names}.")
    return LEARNERS[name]


def as_learner(learner: Any) -> Learner:
    """Return a learner: itself, or the one of that name with its default options.

    Raises
    ------
    InputError
        For an unknown name, and any other object.

    Examples
    --------
    >>> as_learner("first-hit").title
    'First hit'
    """
    if isinstance(learner, Learner):
        return learner
    if isinstance(learner, str):
        return learner_class(learner)()
    is_class = isinstance(learner, type) and issubclass(learner, Learner)
    found = f"the class; write {learner.__name__}()" if is_class else f"{learner!r}"
    raise InputError(
        f"The learner must be one of {', '.join(learner_names())}, or a Learner, not {found}."
    )


def table_and_learner(table: Tabular, learner: Learner | str) -> tuple[DiscreteTable, Learner]:
    """Return the first two arguments of a run, converted by :func:`as_table`, :func:`as_learner`.

    Raises
    ------
    InputError
        If either is something else, or the two are in the wrong order.
    """
    if isinstance(table, Learner):
        raise InputError(
            "The first argument must be the table and the second the learner; the first is the "
            f"learner {table.name!r}."
        )
    return as_table(table), as_learner(learner)
