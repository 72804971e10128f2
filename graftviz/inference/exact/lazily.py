"""A value worked out when it is first asked for, without making anybody else wait.

``functools.cached_property`` of Python 3.11 holds one lock for all instances of a class while it
computes: a small tree would wait for a large one in another thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazily(Generic[T]):
    """Decorates a method without arguments; its value takes its place in the instance.

    The instance has a reentrant lock, ``_lock``: of two threads that ask one waits for the other.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazily[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        """Return the value, which from now on is an ordinary attribute."""
        if instance is None:
            return self
        known = instance.__dict__
        with known["_lock"]:
            if self._name not in known:
                known[self._name] = self._compute(instance)
        return known[self._name]
