"""Registry of learners: every named Learner defined in a module of this package."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from graftviz import learners
from graftviz.errors import InputError
from graftviz.learners.base import Learner


@functools.cache
def _classes() -> dict[str, type[Learner]]:
    classes = {}
    for info in pkgutil.iter_modules(learners.__path__, prefix=f"{learners.__name__}."):
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Learner) and value.name:
                classes[value.name] = value
    return dict(sorted(classes.items()))


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
