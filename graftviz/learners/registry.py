"""Finds the learners: a module of this folder that defines a named Learner adds it by itself."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from graftviz import learners
from graftviz.errors import InputError
from graftviz.learners.base import Learner


@functools.cache
def _found() -> dict[str, type[Learner]]:
    classes = {}
    for info in pkgutil.iter_modules(learners.__path__, prefix=f"{learners.__name__}."):
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Learner) and value.name:
                classes[value.name] = value
    return dict(sorted(classes.items()))


def learner_names() -> tuple[str, ...]:
    """Return the names of all learners, sorted."""
    return tuple(_found())


def learner_class(name: str) -> type[Learner]:
    """Return the learner of that name.

    Raises
    ------
    InputError
        When there is none; the message lists those there are.
    """
    found = _found()
    if name not in found:
        raise InputError(f"There is no learner {name!r}; the learners are {', '.join(found)}.")
    return found[name]
