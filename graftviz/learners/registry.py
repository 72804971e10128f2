"""Registry of learners: every named Learner defined in a module of this package."""

from __future__ import annotations

import functools

from graftviz import learners
from graftviz.discovery import named_classes
from graftviz.errors import InputError
from graftviz.learners.base import Learner


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
