"""Registry of learners: every named Learner defined in a module of this package."""

from __future__ import annotations

import functools
from typing import Any

from graftviz import learners
from graftviz.discovery import named_classes
from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.table import DiscreteTable, Tabular, as_table

DEFAULT = "best-choice"  # learner of all functions and commands that have one


@functools.cache
def _classes() -> dict[str, type[Learner]]:
    return named_classes(learners, Learner)


def learner_names() -> tuple[str, ...]:
    """Return the names of all learners, sorted."""
    return tuple(_classes())


def learner_class(name: str) -> type[Learner]:
    """Return the learner class with this name.

    Raises
    ------
    InputError
        If there is none; the message lists the available learners.
    """
    classes = _classes()
    if name not in classes:
        raise InputError(f"There is no learner {name!r}; the learners are {', '.join(classes)}.")
    return classes[name]


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
