"""Cached property with a lock per instance.

``functools.cached_property`` of Python 3.11 holds one lock for all instances of a class during the
computation: a small tree would wait for a large one in another thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy_property(Generic[T]):
    """Decorator that replaces a method without arguments by an attribute, computed on first access.

    The instance must have a reentrant lock, ``_lock``, which is held during the computation.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        """Return the value and store it as an ordinary attribute."""
        if instance is None:
            return self
        attributes = instance.__dict__
        with attributes["_lock"]:
            if self._name not in attributes:
                attributes[self._name] = self._compute(instance)
        return attributes[self._name]
